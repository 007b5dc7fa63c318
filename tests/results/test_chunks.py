"""Chunks cover a grid once, are bounded, and depend on nothing but the grid."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.stores.chunks import chunk_shape, chunk_slices

shapes = st.lists(st.integers(1, 40), min_size=1, max_size=4).map(tuple)


@given(shapes, st.sampled_from(["point", "search", "batch", "array"]), st.integers(1, 12))
def test_every_point_is_in_exactly_one_chunk(shape: tuple[int, ...], kind: str, width: int):
    seen = np.zeros(shape, int)
    for index, region in chunk_slices(shape, chunk_shape(shape, kind, width)):
        assert len(index) == len(shape)
        seen[region] += 1
    assert (seen == 1).all()


@given(st.lists(st.integers(1, 10**4), min_size=1, max_size=3).map(tuple), st.integers(1, 50))
def test_chunks_stay_within_points_and_bytes(shape: tuple[int, ...], width: int):
    points = math.prod(chunk_shape(shape, "array", width))
    assert points <= 1e6
    assert points * width * 8 <= 64e6
    assert math.prod(chunk_shape(shape, "point", width)) <= 500


@given(shapes, st.sampled_from(["point", "search", "batch", "array"]), st.floats(1e-6, 1.0))
def test_a_chunk_is_at_most_two_seconds_of_declared_work(shape: tuple[int, ...], kind: str, work: float):
    points = math.prod(chunk_shape(shape, kind, 1, work))
    assert points * work <= 2.0 + work
    assert points <= math.prod(chunk_shape(shape, kind))


def test_a_point_that_takes_longer_is_a_chunk():
    assert chunk_shape((3, 4), "point", 1, 7.0) == (1, 1)


@pytest.mark.parametrize(
    ("shape", "kind", "expected"),
    [
        ((41, 3), "point", (6, 3)),
        ((1000, 1000), "point", (22, 22)),
        ((100_000_000,), "array", (1_000_000,)),
        ((1000, 1000), "batch", (250, 334)),
        ((1000, 1000), "search", (67, 72)),
        ((10,), "point", (10,)),
        ((1, 1), "array", (1, 1)),
    ],
)
def test_chunk_shapes_never_change(shape: tuple[int, ...], kind: str, expected: tuple[int, ...]):
    # a store written by an earlier version must still be continued
    assert chunk_shape(shape, kind) == expected


def test_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="point, search, batch, array"):
        chunk_shape((3,), "sideways")
