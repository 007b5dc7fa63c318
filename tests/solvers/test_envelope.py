"""The lower envelope of convex curves against a dense evaluation of all of them."""

import itertools

import numpy as np
import pytest

from solvers.fronts.envelope import Curve, Piece, Vertex, at_level, between, corners, envelope


def convex(rng: np.random.Generator, corners_: int) -> Curve:
    a = np.sort(rng.random(corners_))
    slopes = np.sort(-3 * rng.random(corners_ - 1))
    b = 1 + 3 * rng.random() + np.concatenate([[0.0], np.cumsum(slopes * np.diff(a))])
    return tuple(Vertex(x, y, np.array([x, y])) for x, y in zip(a, b, strict=True))


def least(pieces: list[Piece], b: float) -> float:
    """Least first coordinate with the second at most ``b``."""
    found = [p.left.a if p.left.b <= b else at_level(p.left, p.right, b).a for p in pieces if p.right.b <= b]
    return min(found, default=np.inf)


def parts(curves: list[Curve]) -> list[Piece]:
    return [p for c in curves for p in ([Piece(*e) for e in itertools.pairwise(c)] or [Piece(c[0], c[0])])]


@pytest.mark.parametrize("seed", range(40))
def test_an_envelope_is_what_is_least_and_nothing_else(seed: int):
    rng = np.random.default_rng(seed)
    curves = [convex(rng, int(rng.integers(1, 5))) for _ in range(rng.integers(1, 6))]
    every, found = parts(curves), envelope(curves)
    for b in np.linspace(0.0, 5.0, 300):
        assert least(found, b) == pytest.approx(least(every, b), rel=1e-9)
    for piece in found:
        for share in (0.001, 0.5, 0.999):
            v = between(piece.left, piece.right, share)
            assert least(every, v.b) >= v.a * (1 - 1e-9), "a point of the envelope is bettered"
            np.testing.assert_allclose(v.at, [v.a, v.b], rtol=1e-12)
    for p, q in itertools.pairwise(found):
        assert p.right.a <= q.left.a + 1e-9
        assert q.left.b <= p.right.b + 1e-9


def test_corners_leave_out_what_does_not_bend():
    line = [Vertex(x, 4.0 - x, np.array([x])) for x in (0.0, 1.0, 2.5, 3.0)]
    assert [v.a for v in corners(line)] == [0.0, 3.0]
    bent = [*line[:3], Vertex(4.0, 1.4, np.array([4.0]))]
    assert [v.a for v in corners(bent)] == [0.0, 2.5, 4.0]


def test_a_point_on_another_curve_s_segment_is_no_point_of_its_own():
    line = (Vertex(0.0, 2.0, np.zeros(1)), Vertex(2.0, 0.0, np.zeros(1)))
    on_it = (Vertex(0.7, 1.3, np.zeros(1)), Vertex(2.0, 0.0, np.zeros(1)))
    (piece,) = envelope([line, on_it])
    assert (piece.left.a, piece.right.a) == (0.0, 2.0)


def test_an_end_that_another_curve_betters_does_not_belong_to_its_piece():
    upper = (Vertex(0.0, 4.0, np.zeros(1)), Vertex(4.0, 0.0, np.zeros(1)))
    below = (Vertex(1.0, 2.0, np.zeros(1)),)
    first, single, second = envelope([upper, below])
    assert single.single
    assert (first.right.a, first.right.b, first.closes) == (1.0, 3.0, False)
    assert (second.left.a, second.left.b, second.opens) == (2.0, 2.0, False)
