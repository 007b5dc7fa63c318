"""A store in an object store: made, filled, cut off, continued and verified, against a server of this machine."""

import functools
import importlib.util
import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from results import dataset
from results.dataset import Arrays, Layout
from results.stores import grown, remarks, store
from results.stores.chunks import chunk_slices
from results.stores.files import locks
from results.stores.files.object_storage import MAKING, ObjectFolder
from results.stores.store import StoreBusy, StoreError

pytest.importorskip("s3fs", reason="the extra s3 is not installed")
if importlib.util.find_spec("moto") is None:
    pytest.skip("the extra test is not installed", allow_module_level=True)

IDENTITY = {"scenario": "abc123", "dse": "0.1.0"}
KEPT = ("objective", "bound", "status", "message", "energy")
Fill = Callable[[tuple[slice, ...]], Arrays]


@pytest.fixture
def grid(grid: Any) -> Any:
    """Four chunks: what happens to a store there happens to the first ones."""
    deadlines, machines = grid.axes
    return replace(grid, axes=(replace(deadlines, values=deadlines.values[:40]), machines))


@pytest.fixture
def plan(grid: Any) -> Layout:
    """A few variables: each is a file for each chunk, and the server answers some hundred files a second."""
    return dataset.only(dataset.layout(grid, {"method": "made up"}), KEPT)


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    """An S3 server with one bucket; what it is and who we are is said as everywhere, by the environment."""
    import fsspec
    from moto import server

    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # it tells of each request
    with pytest.MonkeyPatch.context() as patch:
        host, port = running.get_host_and_port()
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "tester")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "no secret")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        fsspec.filesystem("s3", use_listings_cache=False).mkdir("bucket")
        yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def place(service: str, request: pytest.FixtureRequest) -> str:
    return f"s3://bucket/{request.node.name}/study.zarr"


def fill(place: str | Path, plan: Layout, arrays_of: Fill, most: int = 10**9) -> None:
    chunks = store.create(place, plan, IDENTITY)
    done = store.done(place)
    todo = [c for c in chunk_slices(plan.shape, chunks) if c[0] not in done]
    for index, region in todo[:most]:
        store.write_chunk(place, index, arrays_of(region))


def test_it_holds_what_a_folder_holds(place: str, plan: Layout, arrays_of: Fill, tmp_path: Path):
    fill(place, plan, arrays_of, most=2)
    assert len(store.done(place)) == 2
    assert int((store.open(place).status == 0).sum()) == store.open(place).status.size - 2 * 20
    fill(place, plan, arrays_of)
    fill(tmp_path / "s.zarr", plan, arrays_of)
    xr.testing.assert_identical(store.open(place).load(), store.open(tmp_path / "s.zarr").load())
    assert store.identity(place) == store.identity(tmp_path / "s.zarr")
    assert store.verify(place) == {}
    store.tidy(place)
    remarks.annotate(place, {"remark": "20 points"})
    assert store.open(place).attrs["remark"] == "20 points"


def test_damage_is_found_and_mended(place: str, plan: Layout, arrays_of: Fill):
    fill(place, plan, arrays_of)
    files = ObjectFolder(place)
    files.put("energy/c/1/0", b"rotten")
    files.remove("status/c/2/0")
    files.put(f"{store.DONE}/3-0.json", b"{")
    damage = store.verify(place)
    assert set(damage) == {(1, 0), (2, 0), (3, 0)}
    for index in damage:
        store.forget(place, index)
    fill(place, plan, arrays_of)
    assert store.verify(place) == {}


def test_another_question_is_refused(place: str, plan: Layout):
    store.create(place, plan, IDENTITY)
    with pytest.raises(StoreError, match='scenario: asked "def456", stored "abc123"'):
        store.create(place, plan, {**IDENTITY, "scenario": "def456"})


def test_what_is_not_ours_is_not_touched(place: str, plan: Layout):
    ObjectFolder(place).put("notes.txt", b"precious")
    with pytest.raises(StoreError, match="not a store of a dse sweep"):
        store.create(place, plan, IDENTITY)
    assert ObjectFolder(place).read("notes.txt") == b"precious"


def test_a_store_whose_making_was_cut_off_is_made_again(place: str, plan: Layout, arrays_of: Fill):
    files = ObjectFolder(place)
    files.put(MAKING, b"")
    files.put("energy/zarr.json", b"half of")
    fill(place, plan, arrays_of)
    assert store.verify(place) == {}
    assert (store.open(place).status != 0).all()


def test_a_missing_store_and_a_missing_bucket_are_said_to_be_missing(place: str, plan: Layout):
    with pytest.raises(StoreError, match="does not exist"):
        store.open(place)
    with pytest.raises(StoreError, match=r"cannot create s3://nowhere/s.zarr.*bucket"):
        store.create("s3://nowhere/s.zarr", plan, IDENTITY)


def test_a_service_that_does_not_answer_is_said_so(
    service: str, plan: Layout, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    import fsspec

    fsspec.get_filesystem_class("s3").clear_instance_cache()
    try:
        with pytest.raises(StoreError, match="Could not connect"):
            store.create("s3://bucket/far.zarr", plan, IDENTITY)
    finally:
        fsspec.get_filesystem_class("s3").clear_instance_cache()


def test_one_sweep_at_a_time(place: str, plan: Layout):
    store.create(place, plan, IDENTITY)
    with locks.held(place):
        told = locks.holder(place)
        assert told is not None
        assert told["process"] == os.getpid()
        with pytest.raises(StoreBusy, match=f"is being filled by process {os.getpid()}"), locks.held(place):
            pass
    assert locks.holder(place) is None
    with locks.held(place):
        pass


def lease(place: str, **other: object) -> None:
    """Leave the lease of somebody else."""
    mine = {
        "host": "elsewhere",
        "process": 1,
        "began": "1",
        "since": 0.0,
        "renewed": time.time(),
        "mark": "x",
    }
    ObjectFolder(place).put(locks.NAME, json.dumps(mine | other).encode())


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases that are renewed within the patience of a test."""
    monkeypatch.setattr(locks, "RENEWED", 0.3)


def test_a_lease_ends_with_its_holder(place: str, plan: Layout, quick: None):
    import socket

    store.create(place, plan, IDENTITY)
    lease(place)
    with pytest.raises(StoreBusy, match="process 1 on elsewhere"), locks.held(place):
        pass
    # not renewed for too long
    lease(place, renewed=time.time() - locks.EXPIRED - 1)
    with locks.held(place):
        pass
    # of this machine, by a process that had another start: its number is somebody else's now
    lease(place, host=socket.gethostname(), process=os.getpid(), began="1")
    with locks.held(place):
        assert locks.holder(place)["mark"] != "x"


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_clock_that_is_set_back_or_forth_takes_no_lease_from_the_living(
    place: str, plan: Layout, quick: None, hours: float, monkeypatch: pytest.MonkeyPatch
):
    store.create(place, plan, IDENTITY)
    now = time.time
    with locks.held(place):
        monkeypatch.setattr(time, "time", lambda: now() + 3600 * hours)
        # a process of this machine lives, whatever the clock says
        with pytest.raises(StoreBusy, match=f"process {os.getpid()} on"), locks.held(place):
            pass
        assert locks.holder(place) is not None
        # one of another machine renews its lease, whatever its clock says
        monkeypatch.setattr(locks.socket, "gethostname", lambda: "another")
        lease_of = ObjectFolder(place).read(locks.NAME)
        monkeypatch.setattr(time, "time", lambda: now() - 3600 * hours)
        with pytest.raises(StoreBusy, match=f"process {os.getpid()} on"), locks.held(place):
            pass
        assert ObjectFolder(place).read(locks.NAME) != lease_of
    monkeypatch.setattr(time, "time", now)
    # of the future, and not renewed: its holder is gone
    lease(place, renewed=now() + 3600)
    with locks.held(place):
        pass


def test_who_was_taken_to_be_dead_does_not_go_on(place: str, plan: Layout, quick: None):
    store.create(place, plan, IDENTITY)
    with locks.held(place) as mine:
        mine.check()
        lease(place)
        time.sleep(3 * locks.RENEWED)
        with pytest.raises(StoreBusy, match="process 1 on elsewhere"):
            mine.check()
    assert locks.holder(place)["host"] == "elsewhere"


def test_a_whole_sweep_goes_there_and_is_verified(place: str, tmp_path: Path):
    import dse

    asked = dse.load("roofline_precision_and_level_sweep")
    here = dse.sweep(asked, tmp_path / "s.zarr", progress=False, metrics=["time"]).load()
    there = dse.sweep(asked, place, progress=False, metrics=["time"]).load()
    xr.testing.assert_identical(here.drop_vars("seconds"), there.drop_vars("seconds"))
    assert dse.status(place)["pending"] == 0
    verdict = dse.verify(place, progress=False)
    assert verdict.passed, verdict.troubles
    assert np.isfinite(dse.open(place).attrs["points_solved_singly"])


ROOFLINE = {"model": "roofline", "machine": "gtx-titan-choi2014", "given": {"flops": "1 Gflop"}}


def intensities(count: int) -> dict[str, Any]:
    axis = {"path": "given.intensity", "start": 0.25, "stop": 64, "num": count, "spacing": "log"}
    return {**ROOFLINE, "sweep": {"I": axis}}


def extended(place: str, count: int) -> xr.Dataset:
    import dse

    found = dse.evaluate(intensities(count), place, metrics=["time"], workers=1, progress=False, extend=True)
    return found.load()


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many points were computed."""
    from dse.sweeping.points import chunk_work

    counts: list[int] = []
    real = chunk_work._computed

    def counted(at: Any, region: tuple[slice, ...], told: Any) -> Any:
        counts.append(int(np.prod([s.stop - s.start for s in region])))
        return real(at, region, told)

    monkeypatch.setattr(chunk_work, "_computed", counted)
    return counts


def test_it_is_extended_there(place: str, computed: list[int]):
    import dse

    before = extended(place, 5)
    after = extended(place, 9)
    assert computed == [5, 4]
    np.testing.assert_array_equal(after["time"].values[::2], before["time"].values)
    np.testing.assert_array_equal(after["time"], dse.evaluate(intensities(9), metrics=["time"])["time"])
    assert dse.verify(place, progress=False).passed
    beside = ObjectFolder(grown.beside(place))
    assert beside.sizes() == {}
    assert set(ObjectFolder(place).names("")) >= {"zarr.json", "time"}
    assert locks.holder(place) is None
    with pytest.raises(StoreError, match="cannot be extended"):
        dse.evaluate(
            {**intensities(17), "machine": "gtx680-choi2014"},
            place,
            metrics=["time"],
            progress=False,
            extend=True,
        )
    # the same question again has nothing to do
    extended(place, 9)
    assert computed == [5, 4]


def test_an_extension_cut_off_at_any_step_is_begun_again(place: str, monkeypatch: pytest.MonkeyPatch):
    """Every object that is put, copied or removed while one store takes the place of the other is a step."""
    mine, larger = ObjectFolder(place), ObjectFolder(grown.beside(place))
    real = {verb: getattr(ObjectFolder, verb) for verb in ("put", "remove", "copy")}
    for cut in range(20):
        for name in ("zarr.json", "old/c/0"):
            mine.put(name, b"old")
        for name in ("zarr.json", "new/c/0"):
            larger.put(name, b"new")
        steps = iter([None] * cut)

        def step(verb: str, left: Iterator[None], *asked: Any) -> Any:
            next(left)
            return real[verb](*asked)

        with monkeypatch.context() as patch:
            for verb in real:
                patch.setattr(
                    ObjectFolder,
                    verb,
                    functools.partialmethod(lambda self, *a, v, s: step(v, s, self, *a), v=verb, s=steps),
                )
            try:
                grown.swap(place)
            except StopIteration:
                # what is at the address is the one, the other, or nothing
                there = mine.exists()
                assert not there or mine.read("zarr.json") in {b"old", b"new"}
            else:
                break
        begun = cut > 0
        grown.recover(place)
        if begun:
            assert mine.sizes() == {"zarr.json": 3, "new/c/0": 3}
            assert mine.read("zarr.json") == b"new"
        else:
            assert mine.sizes() == {"zarr.json": 3, "old/c/0": 3}
        grown.discard(place)
    assert cut > 8
    assert mine.sizes() == {"zarr.json": 3, "new/c/0": 3}
    assert larger.sizes() == {}


def test_what_was_begun_is_finished_by_a_sweep_that_extends_nothing(
    place: str, computed: list[int], monkeypatch: pytest.MonkeyPatch
):
    import dse

    extended(place, 5)
    with monkeypatch.context() as patch:
        patch.setattr(ObjectFolder, "copy", lambda *asked: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            extended(place, 9)
    with pytest.raises(StoreError):
        dse.open(place)
    found = dse.evaluate(intensities(9), place, metrics=["time"], workers=1, progress=False)
    assert computed == [5, 4]
    assert found.sizes["I"] == 9
