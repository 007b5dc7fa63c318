"""Stairs, chords and tangents around fronts whose every point is known."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.fronts import bands
from dse.fronts.bands import Band, Corner, Line
from solvers.fronts.asking import Measure

PLAIN = (Measure(), Measure())
LOGS = (Measure(log=True), Measure(log=True))
# sums and differences of numbers up to 100
ROUND = 1e-12
steps = st.floats(0.01, 10)


def inside(band: Band, at: float, best: float) -> bool:
    """Whether a value lies in the band somewhere at this place (both sides of a step count)."""
    edges = [(band.lower[i], band.upper[i]) for i in range(len(band.at)) if band.at[i] == at]
    after = int(np.searchsorted(band.at, at))
    if not edges and 0 < after < len(band.at):
        around = slice(after - 1, after + 1)
        low, high = (float(np.interp(at, band.at[around], e[around])) for e in (band.lower, band.upper))
        edges = [(low, high)]
    return any(low - ROUND * abs(low) <= best <= high + ROUND * abs(high) for low, high in edges)


@given(st.lists(st.tuples(steps, steps), min_size=2, max_size=12), st.data())
def test_stairs_hold_every_design_and_close_where_all_is_asked(
    moves: list[tuple[float, float]], data: st.DataObject
):
    """A falling set of designs, of which some were found and some limits were asked about."""
    u = np.cumsum([1.0, *(a for a, _ in moves)])
    v = np.cumsum([1.0, *(b for _, b in reversed(moves))])[::-1]
    every = list(zip(u.tolist(), v.tolist(), strict=True))
    seen = data.draw(st.sets(st.integers(1, len(every) - 2)) if len(every) > 2 else st.just(set()))
    spots = [p for i, p in enumerate(every) if i in {0, len(every) - 1, *seen}]
    # the least u with v below that of the next design is that of the next design
    corners = [Corner(b[0], a[1]) for a, b in itertools.pairwise(every)]
    ends = [Corner(u[0], math.inf), Corner(math.inf, v[-1])]
    asked_about = data.draw(st.lists(st.sampled_from(corners)))
    for some in (asked_about, corners):
        band = bands.stairs(spots, [*some, *ends], PLAIN)
        assert all(inside(band, *design) for design in every)
        assert len(band.widths) == len(spots) - 1
    if len(spots) == len(every):
        assert band.width == 0


@given(
    st.lists(st.tuples(steps, st.floats(0.02, 5)), min_size=2, max_size=10), st.floats(0, 1), st.booleans()
)
def test_chords_and_tangents_hold_a_convex_curve(
    pieces: list[tuple[float, float]], part: float, maximize: bool
):
    """A falling polygon in logarithms: its corners are points, its sides the tangents there."""
    slopes = sorted((-s for _, s in pieces))
    u = np.cumsum([0.0, *(min(w, 2.0) for w, _ in pieces)])
    v = np.cumsum([0.0, *(min(w, 2.0) * s for (w, _), s in zip(pieces, slopes, strict=True))])
    lines = [Line(-s, 1.0, float(y - s * x)) for s, x, y in zip(slopes, u, v, strict=False)]
    spots = [(float(u[0]), float(v[0])), (float(u[-1]), float(v[-1]))]
    measures = (Measure(maximize, log=True), Measure(log=True))
    band = bands.convex(spots, bands.chords(spots, lines, measures), measures)
    for x in np.interp([0.0, part, 1.0], [0, 1], [u[0], u[-1]]):
        at = float(measures[0].values(x))
        low, high = (
            np.exp(np.interp(np.log(at), np.log(band.at), np.log(e))) for e in (band.lower, band.upper)
        )
        best = np.exp(np.interp(x, u, v))
        assert low * (1 - 1e-9) <= best <= high * (1 + 1e-9)
        # with every side known the lower edge is the curve
        assert low == pytest.approx(best, rel=1e-9)


def test_widths_are_the_less_of_upwards_and_sideways():
    spots, ends = [(1.0, 4.0), (2.0, 1.0)], [Corner(math.inf, 1.0)]
    assert bands.stairs(spots, ends, PLAIN).width == pytest.approx(1.0), (
        "from 1 to 2 sideways, 1 to 4 upwards"
    )
    nearly = bands.stairs(spots, [*ends, Corner(1.9, 4.0)], PLAIN)
    assert nearly.width == pytest.approx(0.1 / 1.9)
    assert bands.stairs(spots, [*ends, Corner(2.0, 4.0)], PLAIN).width == 0, "a jump proved empty"
    assert LOGS[0].apart(0.0, math.log(1.5)) == pytest.approx(0.5)
