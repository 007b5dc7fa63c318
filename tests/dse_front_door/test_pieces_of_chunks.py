"""Chunks whose points take longer than was declared: what is done of them is kept, and told."""

import zlib
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

import dse
import results.stores.store
from dse.sweeping.points import chunk_work, piecewise
from results.dataset import STATUS_CODES
from results.solution import Status
from results.stores.files import pieces

POINTS, BEFORE = 60, 7
CAPS = """
power = { max = "1 kW" }

[sweep]
bodies    = { path = "given.bodies", values = [1e4, 1e6] }
deadline  = { path = "limits.time.max", start = "10 ms", stop = "10 s", num = 4, spacing = "log" }
power_cap = { path = "limits.power.max", start = "10 W", stop = "10 kW", num = 3, spacing = "log" }
"""


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a clock says, points seem to take so long that each is a piece."""
    monkeypatch.setattr(piecewise, "PIECE_SECONDS", 1e-9)
    monkeypatch.setattr(piecewise, "KEPT_SECONDS", 0.0)


def swept(file: Path, store: Path, **options: Any) -> xr.Dataset:
    return dse.sweep(file, store, workers=1, audit=0, progress=False, **options).load()


def interrupted(file: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweep until Ctrl-C comes while the eighth point is answered."""
    real, count = chunk_work.answered, iter(range(POINTS))

    def answered(*asked: Any, **how: Any) -> Any:
        if next(count) == BEFORE:
            raise KeyboardInterrupt
        return real(*asked, **how)

    with monkeypatch.context() as patch:
        patch.setattr(chunk_work, "answered", answered)
        with pytest.raises(KeyboardInterrupt):
            swept(file, store)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    real, points = chunk_work.answered, list[int]()

    def answered(*asked: Any, **how: Any) -> Any:
        points.append(1)
        return real(*asked, **how)

    monkeypatch.setattr(chunk_work, "answered", answered)
    return points


def same(one: xr.Dataset, other: xr.Dataset) -> None:
    xr.testing.assert_identical(one.drop_vars("seconds"), other.drop_vars("seconds"))


def test_an_interrupted_chunk_keeps_its_points_and_the_same_command_computes_the_others(
    grid_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: None
):
    file, store = grid_file(POINTS // 3), tmp_path / "s.zarr"
    interrupted(file, store, monkeypatch)
    assert not results.stores.store.done(store)
    points = counted(monkeypatch)
    again = swept(file, store)
    assert 0 < POINTS - len(points) <= BEFORE
    with monkeypatch.context() as patch:
        patch.setattr(piecewise, "PIECE_SECONDS", 1e9)
        same(swept(file, tmp_path / "undisturbed.zarr"), again)
    assert results.stores.store.verify(store) == {}
    assert not (store / pieces.FOLDER_OF_PIECES).exists()


def test_a_piece_that_is_not_what_was_written_is_computed_again(
    grid_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: None
):
    file, store = grid_file(POINTS // 3), tmp_path / "s.zarr"
    interrupted(file, store, monkeypatch)
    every = sorted((store / pieces.FOLDER_OF_PIECES).iterdir())
    assert len(every) >= 4
    every[0].write_bytes(b"")
    every[1].write_bytes(every[1].read_bytes()[:-3] + b"abc")
    every[2].write_bytes(every[0].read_bytes())
    # one with the right checksum, of somebody else
    rest = every[3].read_bytes().partition(b"\n")[2].replace(b'"alone": ', b'"alonf": ')
    every[3].write_bytes(b"%08x\n%b" % (zlib.crc32(rest), rest))
    points = counted(monkeypatch)
    again = swept(file, store)
    assert POINTS - len(points) == len(every) - 4
    same(swept(file, tmp_path / "undisturbed.zarr"), again)


def test_points_have_the_same_numbers_in_whatever_piece_of_a_chunk(
    deadline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "caps.toml"
    file.write_text(deadline.read_text() + CAPS)
    whole = swept(file, tmp_path / "whole.zarr")
    codes = {STATUS_CODES[s] for s in (Status.OPTIMAL, Status.INFEASIBLE)}
    assert codes <= set(whole.status.values.flat)
    for room in (1, 7):
        monkeypatch.setattr(piecewise.Pace, "of_piece", lambda *asked, room=room: room)
        same(whole, swept(file, tmp_path / f"pieces{room}.zarr"))


@pytest.mark.parametrize("workers", [None, 1], ids=["threads", "this process"])
def test_how_far_a_sweep_is_moves_within_a_chunk_whose_points_are_answered_together(
    deadline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: None, workers: int | None
):
    monkeypatch.setattr("dse.sweeping.dispatch.LOOK", 1e-3)
    file, told = tmp_path / "caps.toml", list[int]()
    file.write_text(deadline.read_text() + CAPS)
    dse.sweep(file, workers=workers, audit=0, progress=lambda done, total: told.append(done))
    assert len(set(told)) > 10
    assert told == sorted(told)


def test_a_chunk_of_many_designs_that_may_all_break_a_limit_begins_with_few_of_its_points(
    monkeypatch: pytest.MonkeyPatch,
):
    """How long it takes to tell why none will do is not known before; of few designs it does not take long."""
    monkeypatch.setattr("dse.sweeping.dispatch.LOOK", 1e-3)
    monkeypatch.setattr(piecewise, "PIECE_SECONDS", 1e-9)

    def told(most: int) -> set[int]:
        source = {
            "model": "roofline",
            "machine": "gtx-titan-choi2014",
            "given": {"flops": 1e9, "intensity": 4, "share": 1},
            "decide": {name: {"integer": True, "min": 1, "max": most} for name in ("x", "y")},
            "define": {"goal": "maximum(x - y, y - x) + exp(share * x / 50)"},
            "objective": {"minimize": "goal"},
            "limits": {"goal": {"max": 0.5}},
            "sweep": {"shares": {"path": "given.share", "start": 0.1, "stop": 1, "num": 16}},
        }
        found = list[int]()
        swept = dse.sweep(source, workers=1, audit=0, progress=lambda done, total: found.append(done))
        assert (swept["status"] == STATUS_CODES[Status.INFEASIBLE]).all()
        return set(found)

    assert len(told(33)) > 10
    assert told(5) <= {0, 16}
