"""The search along a front, on curves whose every point is known."""

import itertools
import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.fronts.enclosure import COINCIDENT, LEAST_A, Box, Enclosure, Place, Probes, efficient, spread

Probe = Callable[[int, float], Place | None]


def of_curve(power: float):
    """The front a^power + b^power = 1: bent inwards below 1, outwards above."""

    def probe(which: int, level: float) -> Place:
        other = (1 - level**power) ** (1 / power)
        return Place(other, level, None) if which == LEAST_A else Place(level, other, None)

    return probe


def of_designs(designs: list[tuple[float, float]]):
    """Finitely many designs: the best one within a level."""

    def probe(which: int, level: float) -> Place | None:
        within = [d for d in designs if d[1 - which] <= level]
        if not within:
            return None
        return Place(*min(within, key=lambda d: (d[which], d[1 - which])), None)

    return probe


def many(probe: Probe) -> Probes:
    """The same probe for several questions at once."""
    return lambda asked: [probe(*x) for x in asked]


def tiny(box: Box) -> bool:
    return box.size <= 1e-4


def never(_: Box) -> bool:
    return False


ENDS = Place(0.0, 1.0, None), Place(1.0, 0.0, None)
numbers = st.floats(0.001, 0.999)


@given(st.floats(0.3, 3), st.integers(3, 30))
def test_a_curve_is_enclosed_from_end_to_end(power: float, points: int):
    shape = Enclosure(*ENDS, many(of_curve(power)))
    shape.refine(points, 1000, tiny)
    assert len(shape.places) == points
    assert shape.places[0] == ENDS[0]
    assert shape.places[-1] == ENDS[1]
    assert all(x.a <= y.a and x.b >= y.b for x, y in itertools.pairwise(shape.places))
    sizes = [box.size for box in shape.boxes]
    # halving the largest box leaves no box much larger than its fair share of the longest possible curve (2)
    assert max(sizes) <= 4 * 2 / (points - 1)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=12), st.integers(0, 10**6))
def test_every_design_lies_in_a_box_or_was_found(designs: list[tuple[float, float]], seed: int):
    every = [*designs, (0.0, 1.0), (1.0, 0.0)]
    shape = Enclosure(*ENDS, many(of_designs(every)))
    shape.refine(100, seed % 60, tiny)
    for design in _front(every):
        found = any(Place(*design, None).same(p) for p in shape.places)
        held = any(
            x.a[0] - COINCIDENT <= design[0] <= x.a[1] + COINCIDENT
            and x.b[0] - COINCIDENT <= design[1] <= x.b[1] + COINCIDENT
            for x in shape.boxes
        )
        assert found or held


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=12))
def test_finitely_many_designs_are_found_one_by_one(designs: list[tuple[float, float]]):
    every = [*designs, (0.0, 1.0), (1.0, 0.0)]
    shape = Enclosure(*ENDS, many(of_designs(every)), discrete=True)
    shape.refine(100, 10**6, never)
    assert shape.complete
    for design in _front(every):
        # two designs closer than COINCIDENT count as one
        assert any(math.dist(design, p[:2]) <= 10 * COINCIDENT for p in shape.places)


def test_of_many_designs_those_asked_for_are_evenly_spaced():
    """Of 513 designs on a straight line 9 are found by halving, an eighth of the line apart."""
    every = [(i / 512, 1 - i / 512) for i in range(513)]
    shape = Enclosure(*ENDS, many(of_designs(every)), discrete=True)
    shape.refine(9, 10**6, never)
    assert not shape.complete
    assert [p.a for p in shape.places] == [i / 8 for i in range(9)]


def test_a_probe_without_an_answer_leaves_a_set_unproved():
    shape = Enclosure(*ENDS, lambda asked: [None] * len(asked), discrete=True)
    shape.refine(100, 10**6, never)
    assert not shape.complete


def _front(designs: list[tuple[float, float]]) -> list[tuple[float, float]]:
    return [d for d in designs if not any(o != d and o[0] <= d[0] and o[1] <= d[1] for o in designs)]


@pytest.mark.parametrize("power", [0.35, 0.5, 1.0, 2.0])
def test_spread_points_are_evenly_spaced(power: float):
    shape = Enclosure(*ENDS, many(of_curve(power)))
    shape.refine(12, 1000, tiny)
    inner = [of_curve(power)(which, level) for which, level in spread(shape.places, 25)]
    places = [ENDS[0], *inner, ENDS[1]]
    steps = [math.dist(x[:2], y[:2]) for x, y in itertools.pairwise(places)]
    # the curve is interpolated through 12 points: a few percent, more where it bends sharply
    assert max(steps) < 1.35 * min(steps)


def test_a_jump_is_recognised_and_not_searched_for_ever():
    probe = of_designs([(0.0, 1.0), (0.1, 0.9), (0.9, 0.1), (1.0, 0.0)])
    shape = Enclosure(*ENDS, many(probe))
    shape.refine(50, 10**6, tiny)
    assert [p[:2] for p in shape.places] == [(0.0, 1.0), (0.1, 0.9), (0.9, 0.1), (1.0, 0.0)]
    assert all(box.empty for box in shape.boxes)


def test_dominated_and_repeated_designs_are_dropped():
    places = [Place(*p, None) for p in [(0, 1), (0.5, 0.5), (0.5, 0.5 + 1e-9), (0.6, 0.6), (1, 0), (1, 0)]]
    assert [p[:2] for p in efficient(places)] == [(0, 1), (0.5, 0.5), (1, 0)]
