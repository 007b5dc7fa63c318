"""A finished sweep that is asked for more values: what is there stays bit for bit, only what is missing is computed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse
import results.stores.chunks
import results.stores.store
from dse.sweeping import extending
from dse.sweeping.points import chunk_work
from results.stores import grown
from results.stores.store import StoreError

BASE: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"flops_per_pair": 10, "bodies": 1e5},
    "decide": {"processors": {"max": 4096}, "memory": {}},
    "objective": {"minimize": "energy"},
}
SMALL = {
    "T": {"path": "limits.time.max", "start": "20 ms", "stop": "1 s", "num": 3, "spacing": "log"},
    "e": {"path": "machine.energy_per_flop", "factors": [1, 0.25]},
}
LARGE = {
    # a value between each two, and further ones at both ends
    "T": {"path": "limits.time.max", "start": "20 ms", "stop": "1 s", "num": 5, "spacing": "log"},
    "e": {"path": "machine.energy_per_flop", "factors": [2, 1, 0.5, 0.25]},
}


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many points were handed to something that solves."""
    counts: list[int] = []
    real = chunk_work._computed

    def counted(at: Any, region: tuple[slice, ...], told: Any) -> Any:
        counts.append(int(np.prod([s.stop - s.start for s in region])))
        return real(at, region, told)

    monkeypatch.setattr(chunk_work, "_computed", counted)
    return counts


def swept(axes: dict[str, Any], store: Path, *, extend: bool = False, **changes: Any) -> xr.Dataset:
    question = BASE | changes | {"sweep": axes}
    return dse.sweep(question, store, workers=1, progress=False, audit=0, extend=extend).load()


def same(one: xr.Dataset, other: xr.Dataset) -> None:
    """All numbers are the same to the bit, the time that they took included."""
    for name in one.data_vars:
        np.testing.assert_array_equal(one[name].values, other[name].values, err_msg=str(name))


@pytest.mark.parametrize("extend", [False, True])
def test_a_store_that_an_earlier_run_cut_otherwise_is_continued_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, solved: list[int], *, extend: bool
):
    """How much work a point is thought to be is not part of what a sweep is."""
    store = tmp_path / "s.zarr"
    with monkeypatch.context() as patch:
        patch.setattr(results.stores.chunks, "CHUNK_SECONDS", 1e-9)
        before = swept(SMALL, store)
    chunks = results.stores.store.chunks_of(store)
    assert chunks != tuple(before.sizes.values())
    results.stores.store.forget(store, (0, 0))
    solved.clear()
    again = swept(SMALL, store, extend=extend)
    assert solved == [math.prod(chunks)]
    assert results.stores.store.chunks_of(store) == chunks
    same(before.drop_vars("seconds"), again.drop_vars("seconds"))


def test_values_between_and_beyond_those_that_are_there(tmp_path: Path, solved: list[int]):
    store = tmp_path / "s.zarr"
    before = swept(SMALL, store)
    solved.clear()
    after = swept(LARGE, store, extend=True)
    assert sum(solved) == 20 - 6
    same(before, after.isel(T=[0, 2, 4], e=[1, 3]))
    fresh = swept(LARGE, tmp_path / "fresh.zarr")
    np.testing.assert_allclose(after.energy, fresh.energy, rtol=2e-6)
    assert (after.status == fresh.status).all()
    assert dse.verify(store, audit=0, progress=False).passed
    # the same again, with or without the option, has nothing to do
    solved.clear()
    same(after, swept(LARGE, store, extend=True))
    same(after, swept(LARGE, store))
    assert not solved
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_more_rows_of_a_table_and_a_machine_more(tmp_path: Path, solved: list[int]):
    question = {k: v for k, v in BASE.items() if k not in {"machine", "given"}} | {
        "given": {"flops_per_pair": 10}
    }
    columns = {"machine": "m", "bodies": "n", "limits.time.max": "T"}
    table, store = tmp_path / "points.csv", tmp_path / "s.zarr"
    axis = {"sample": {"table": str(table), "columns": columns}}
    table.write_text("m,n,T [ms]\nbalanced,1e4,50\njaketown,1e5,500\nbalanced,1e4,50\n")
    before = dse.sweep(question | {"sweep": axis}, store, workers=1, progress=False).load()
    table.write_text(
        "m,n,T [ms]\njaketown,2e5,900\nbalanced,1e4,50\nbalanced,1e4,50\njaketown,1e5,500\njaketown-printed,1e5,500\n"
    )
    solved.clear()
    asked = question | {"sweep": axis}
    after = dse.sweep(asked, store, workers=1, progress=False, extend=True).load()
    assert sum(solved) == 2
    same(before, after.isel(sample=[1, 3, 2]))
    # the file may be gone
    table.unlink()
    assert dse.verify(store, audit=0, progress=False).passed
    assert list(dse.open(store)["machine"].values[:2]) == ["jaketown", "balanced"]


def test_a_way_for_many_points_at_once_extends_too(tmp_path: Path, solved: list[int]):
    sizes = {"path": "bodies", "start": 1e4, "stop": 1e6, "num": 20, "spacing": "log"}
    store = tmp_path / "s.zarr"
    before = swept({"T": SMALL["T"] | {"num": 30}, "n": sizes}, store)
    solved.clear()
    after = swept({"T": SMALL["T"] | {"num": 59}, "n": sizes}, store, extend=True)
    assert sum(solved) == 29 * 20
    same(before, after.isel(T=slice(0, None, 2)))
    assert (after.status == 1).sum() + (after.status == 3).sum() == after.status.size
    assert dse.verify(store, audit=0, progress=False).passed


@pytest.mark.parametrize(
    ("changes", "axes", "words"),
    [
        (
            {"decide": {"processors": {"max": 2048}, "memory": {}}},
            LARGE,
            r"decide.processors.max: stored 4096, asked 2048",
        ),
        ({"machine": {"base": "balanced", "leakage_power": "1 W"}}, LARGE, "leakage_power"),
        ({"waive": ["replication"]}, LARGE, "waive"),
        ({}, {"T": LARGE["T"]}, "axes: stored"),
        ({}, LARGE | {"e": {"path": "machine.energy_per_word", "factors": [1]}}, "sweep.e.path"),
        (
            {},
            LARGE | {"e": {"path": "machine.energy_per_flop", "factors": [2, 1]}},
            "not asked for any more: 5e-11",
        ),
    ],
)
def test_anything_else_is_refused_with_what_differs(
    tmp_path: Path, changes: dict[str, Any], axes: dict[str, Any], words: str
):
    store = tmp_path / "s.zarr"
    before = swept(SMALL, store)
    with pytest.raises(results.stores.store.StoreError, match=words):
        swept(axes, store, extend=True, **changes)
    same(before, dse.open(store).load())
    with pytest.raises(results.stores.store.StoreError, match="--extend keeps its points"):
        swept(LARGE, store)


def worlds(**sampling: Any) -> dict[str, Any]:
    return {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e9, "intensity": 4},
        "uncertain": {
            "machine.usable_power": {"uniform": ["150 W", "170 W"]},
            "intensity": {"uniform": [2, 5]},
            "sampling": {"samples": 8, "seed": 7, **sampling},
        },
    }


@pytest.mark.parametrize(
    ("first", "then", "why"),
    [
        ({}, {"seed": 8, "samples": 16}, "stored: sobol, seed 7; asked: sobol, seed 8"),
        ({}, {"seed": 8, "samples": 4}, "stored: sobol, seed 7; asked: sobol, seed 8"),
        ({}, {"method": "random"}, "stored: sobol, seed 7; asked: random, seed 7"),
        ({"method": "latin"}, {"method": "latin", "samples": 9}, "a Latin hypercube of another number"),
        ({}, {"correlation": [["machine.usable_power", "intensity", 0.5]]}, "the asked ones alone are corr"),
    ],
)
def test_worlds_drawn_otherwise_are_refused_with_the_cause(first: Any, then: Any, why: str, tmp_path: Path):
    dse.uncertainty(worlds(**first), tmp_path / "w.zarr")
    with pytest.raises(StoreError) as refused:
        dse.uncertainty(worlds(**then), tmp_path / "w.zarr")
    assert why in str(refused.value)
    assert "not asked for any more" not in str(refused.value)


def test_worlds_of_a_changed_machine_file_are_refused_by_its_name(tmp_path: Path):
    file, asked = tmp_path / "m.toml", tmp_path / "q.toml"
    made = """
[parameters]
time_per_flop = "1 ps/flop"
time_per_byte = "4 ps/byte"
energy_per_flop = "30 pJ/flop"
energy_per_byte = "200 pJ/byte"
constant_power = "100 W"
usable_power = { value = "160 W", source = "ours", interval = ["150 W", "LAST W"] }
"""
    asked.write_text(
        'model = "roofline"\nmachine = "./m.toml"\n[given]\nflops = 1e9\nintensity = 4\n'
        '[uncertain]\n"machine.usable_power" = { from = "machine" }\nsampling = { samples = 8 }\n'
    )
    file.write_text(made.replace("LAST", "170"))
    dse.uncertainty(asked, tmp_path / "w.zarr")
    file.write_text(made.replace("LAST", "180"))
    with pytest.raises(StoreError) as refused:
        dse.uncertainty(asked, tmp_path / "w.zarr")
    assert "drawn from other distributions: machine.usable_power" in str(refused.value)
    assert "./m.toml has changed since" in str(refused.value)


def test_an_unfinished_sweep_is_extended_by_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, solved: list[int]
):
    # several chunks of so few points, whichever way they go
    for kind in results.stores.chunks.ROOM:
        monkeypatch.setitem(results.stores.chunks.ROOM, kind, 8)
    store = tmp_path / "s.zarr"
    axes = {"T": SMALL["T"] | {"num": 20}, "e": SMALL["e"]}
    before = swept(axes, store)
    done = sorted(results.stores.store.done(store))
    assert len(done) > 1
    results.stores.store.forget(store, done[1])
    lost = int(np.prod(results.stores.store.chunks_of(store)))
    solved.clear()
    after = swept(axes | {"e": {**LARGE["e"], "factors": [1, 0.5, 0.25]}}, store, extend=True)
    assert sum(solved) == 20 + lost
    kept = after.isel(e=[0, 2])
    np.testing.assert_array_equal(before.status, kept.status)
    np.testing.assert_allclose(before.energy, kept.energy, rtol=2e-6)


@pytest.mark.parametrize("atomic", [True, False])
def test_an_extension_cut_off_between_its_steps_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, solved: list[int], *, atomic: bool
):
    """Ends where the stores change places, in one step or (where the system has none) in two."""
    store = tmp_path / "s.zarr"
    before = swept(SMALL, store)
    real = Path.rename
    if not atomic:
        monkeypatch.setattr(grown, "_exchanged", lambda one, other: False)

    def cut_off(self: Path, target: Path) -> Path:
        found = real(self, target)
        if str(target).endswith(".replaced"):
            raise KeyboardInterrupt
        return found

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", cut_off)
        with pytest.raises(KeyboardInterrupt):
            swept(LARGE, store, extend=True)
    solved.clear()
    after = swept(LARGE, store, extend=True)
    assert not solved
    same(before, after.isel(T=[0, 2, 4], e=[1, 3]))
    assert [p.name for p in tmp_path.iterdir()] == ["s.zarr"]


def test_what_is_left_of_an_extension_is_in_nobodys_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Cut off after the two stores changed places, the one that was extended is left; it is not an unfinished work."""
    store = tmp_path / "s.zarr"
    swept(SMALL, store)
    larger = {"T": SMALL["T"], "e": {**SMALL["e"], "factors": [1, 0.5, 0.25]}}

    def cut_off(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        # the last step of a swap
        real = grown._exchanged
        patched.setattr(grown, "_exchanged", lambda one, other: real(one, other) and cut_off())
        with pytest.raises(KeyboardInterrupt):
            swept(larger, store, extend=True)
    assert dse.open(store).sizes["e"] == 3
    assert swept({**larger, "e": LARGE["e"]}, store, extend=True).sizes["e"] == 4
    assert [p.name for p in tmp_path.iterdir()] == ["s.zarr"]
    # cut off before: what was computed is kept, and the user is told
    with monkeypatch.context() as patched:
        patched.setattr(grown, "swap", cut_off)
        with pytest.raises(KeyboardInterrupt):
            swept(LARGE, store, extend=True)
    other = {"T": SMALL["T"], "e": {**SMALL["e"], "factors": [4, 2, 1, 0.5, 0.25]}}
    with pytest.raises(
        results.stores.store.StoreError, match="to other values was cut off, and what it computed"
    ):
        swept(other, store, extend=True)
    assert swept(LARGE, store, extend=True).sizes["T"] == 5


def test_a_store_that_another_process_extends_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Places are those of the store that stands there when the lock is held, not of the one looked at before."""
    store = tmp_path / "s.zarr"
    swept(SMALL, store)
    real, once = extending.before, [True]

    def before(*asked: Any) -> Any:
        found = real(*asked)
        if once and once.pop():
            swept({"T": SMALL["T"], "e": {**SMALL["e"], "factors": [2, 1, 0.25]}}, store, extend=True)
        return found

    monkeypatch.setattr(extending, "before", before)
    after = swept(LARGE, store, extend=True)
    np.testing.assert_allclose(after.energy, swept(LARGE, tmp_path / "fresh.zarr").energy, rtol=2e-6)


def test_a_damaged_chunk_is_computed_again_by_workers_too(tmp_path: Path):
    store = tmp_path / "s.zarr"
    axes = {"T": SMALL["T"] | {"num": 20}, "e": SMALL["e"]}
    swept(axes, store)
    piece = next(p for p in sorted((store / "energy").rglob("*")) if p.is_file() and p.name != "zarr.json")
    piece.write_bytes(piece.read_bytes()[:-1])
    assert results.stores.store.damaged_chunks(store)
    question = BASE | {"sweep": axes | {"e": {**SMALL["e"], "factors": [1, 0.5, 0.25]}}}
    after = dse.sweep(question, store, workers=2, progress=False, audit=0, extend=True).load()
    assert np.isfinite(after.energy.values[(after.status == 1).values]).all()
    assert dse.verify(store, audit=0, progress=False).passed


def test_where_nothing_is_decided_and_where_only_metrics_are_asked_for(tmp_path: Path, solved: list[int]):
    question = {"model": "roofline", "machine": "gtx-titan-choi2014", "given": {"flops": "1 Gflop"}}
    intensity = {"path": "given.intensity", "start": 0.25, "stop": 64, "num": 5, "spacing": "log"}
    small = question | {"sweep": {"I": intensity}}
    more = {"k": {"path": "given.throttle", "values": [1]}, "I": {**intensity, "num": 9}}
    large = question | {"sweep": {"I": more["I"]}}
    for command, store in ((dse.sweep, tmp_path / "s.zarr"), (dse.evaluate, tmp_path / "e.zarr")):
        before = command(small, store, metrics=["time"], workers=1, progress=False).load()
        solved.clear()
        after = command(large, store, metrics=["time"], workers=1, progress=False, extend=True).load()
        assert sum(solved) == 4
        same(before, after.isel(I=slice(0, None, 2)))
        np.testing.assert_array_equal(after["time"], dse.evaluate(large, metrics=["time"])["time"])
        with pytest.raises(results.stores.store.StoreError, match="cannot be extended"):
            command(
                question | {"sweep": more}, store, workers=1, progress=False, metrics=["time"], extend=True
            )
        # one kind of store is not extended by the other
        other = dse.evaluate if command is dse.sweep else dse.sweep
        wider = question | {"sweep": {"I": {**intensity, "num": 17}}}
        with pytest.raises(results.stores.store.StoreError, match="variables"):
            other(wider, store, workers=1, progress=False, metrics=["time"], extend=True)


@pytest.mark.slow
def test_a_killed_extension_continues(grid_file: Any, start: Any, waiting: Any, tmp_path: Path):
    """``kill -9`` of the command and its workers, while the larger store is filled."""
    file, store, command = (
        grid_file(12),
        tmp_path / "s.zarr",
        ("sweep", "grid.toml", "-o", "s.zarr", "--extend"),
    )
    before = dse.sweep(file, store, workers=1, progress=False).load()
    file.write_text(file.read_text().replace("num     = 12", "num     = 23"))
    process = start(*command, "--workers", "2", hold=2)
    beside = Path(grown.beside(str(store)))
    waiting(lambda: beside.exists() and len(results.stores.store.done(beside)) >= 2)
    process.kill()
    process.communicate()
    same(before, dse.open(store).load())
    done = {
        i: results.stores.store.notes(beside, [i])[i]["written"] for i in results.stores.store.done(beside)
    }
    after = dse.sweep(file, store, workers=1, progress=False, extend=True).load()
    same(before, after.isel(deadline=slice(0, None, 2)))
    notes = results.stores.store.notes(store)
    assert all(notes[i]["written"] == when for i, when in done.items())
    assert results.stores.store.verify(store) == {}
    assert not beside.exists()


def test_the_store_behind_a_link_is_extended_and_the_link_stays(tmp_path: Path, solved: list[int]):
    """The link was replaced by a store of its own, the one that it led to stayed as it was, and links were left."""
    (tmp_path / "disk").mkdir()
    real, link = tmp_path / "disk" / "real.zarr", tmp_path / "link.zarr"
    swept(SMALL, real)
    link.symlink_to(real)
    for axes in (LARGE, LARGE | {"e": {"path": SMALL["e"]["path"], "factors": [2, 1, 0.5, 0.25, 0.125]}}):
        done = swept(axes, link, extend=True)
        assert link.is_symlink()
        same(done, results.stores.store.open(real).load())
        assert [p.name for p in (tmp_path / "disk").iterdir()] == ["real.zarr"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["disk", "link.zarr"]
    assert sum(solved) == 25
