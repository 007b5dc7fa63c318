"""A store keeps what was written, whatever happens to the process, and never takes another sweep's data."""

import json
import os
import random
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from store_filling import IDENTITY, WRITER, Fill, fill, start

from results import dataset
from results.dataset import Layout
from results.stores import remarks, roots, store
from results.stores.chunks import chunk_slices
from results.stores.files import seals, storage
from results.stores.memory import Memory
from results.stores.store import StoreDamaged, StoreError

pytestmark = pytest.mark.usefixtures("warnings_are_errors")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deeper" / "study.zarr"


def test_a_new_store_opens_with_nothing_computed(path: Path, plan: Layout):
    store.create(path, plan, IDENTITY)
    ds = store.open(path)
    assert (ds.status == 0).all()
    assert np.isnan(ds.energy).all()
    assert ds.sizes["deadline"] == 60
    assert ds.machine.values.tolist() == ["small", "large"]
    assert store.done(path) == set()


def test_xarray_opens_a_store_by_its_path_without_a_warning(path: Path, plan: Layout, arrays_of: Fill):
    fill(path, plan, arrays_of)
    xr.testing.assert_identical(
        xr.open_zarr(path).drop_encoding(), xr.open_zarr(path, consolidated=False).drop_encoding()
    )
    assert xr.open_zarr(path, consolidated=True).sizes["deadline"] == 60


def test_what_is_read_is_what_was_written(path: Path, plan: Layout, arrays_of: Fill):
    fill(path, plan, arrays_of)
    expected = dataset.to_dataset(plan, arrays_of(tuple(slice(0, n) for n in plan.shape)))
    found = store.open(path).load()
    xr.testing.assert_equal(found, expected)
    assert found.drop_attrs(deep=False).identical(expected.drop_attrs(deep=False))
    assert list(found.data_vars) == list(expected.data_vars)
    assert {n: found.attrs[n] for n in expected.attrs} == expected.attrs
    assert store.verify(path) == {}


def test_memory_holds_the_same_as_a_store(path: Path, plan: Layout, arrays_of: Fill):
    chunks = fill(path, plan, arrays_of)
    memory = Memory(plan)
    assert memory.chunks == chunks
    assert (memory.dataset().status == 0).all()
    for index, region in chunk_slices(plan.shape, chunks):
        memory.write_chunk(index, arrays_of(region))
    assert memory.done() == store.done(path)
    xr.testing.assert_equal(memory.dataset(), store.open(path).load())


def test_a_partial_store_opens_and_continues(path: Path, plan: Layout, arrays_of: Fill, tmp_path: Path):
    fill(path, plan, arrays_of, most=2)
    assert len(store.done(path)) == 2
    ds = store.open(path)
    assert int((ds.status == 0).sum()) == ds.status.size - 2 * 20
    fill(path, plan, arrays_of)
    fill(tmp_path / "at_once.zarr", plan, arrays_of)
    xr.testing.assert_identical(store.open(path).load(), store.open(tmp_path / "at_once.zarr").load())


def test_writing_a_chunk_again_changes_nothing(path: Path, plan: Layout, arrays_of: Fill):
    chunks = fill(path, plan, arrays_of)
    before = {f: f.read_bytes() for f in path.rglob("*") if f.is_file()}
    for index, region in chunk_slices(plan.shape, chunks):
        store.write_chunk(path, index, arrays_of(region))
    assert {f: f.read_bytes() for f in path.rglob("*") if f.is_file()} == before


def test_a_chunk_of_another_shape_is_refused(path: Path, plan: Layout, arrays_of: Fill):
    store.create(path, plan, IDENTITY)
    with pytest.raises(ValueError, match="for a chunk of shape"):
        store.write_chunk(path, (0, 0), arrays_of((slice(0, 3), slice(0, 2))))
    assert store.done(path) == set()


def test_another_identity_is_refused_and_the_difference_named(path: Path, plan: Layout, arrays_of: Fill):
    fill(path, plan, arrays_of, most=1)
    with pytest.raises(StoreError) as refusal:
        store.create(path, plan, {**IDENTITY, "scenario": "def456"})
    assert 'scenario: asked "def456", stored "abc123"' in str(refusal.value)
    assert "dse:" not in str(refusal.value)
    assert len(store.done(path)) == 1


@pytest.mark.parametrize("lost", [(), ("zarr.json",), ("zarr.json", "chunks_done/root.copy")])
def test_a_store_is_continued_with_its_own_chunks(
    path: Path, plan: Layout, arrays_of: Fill, tmp_path: Path, lost: tuple[str, ...]
):
    """A run that thinks points dearer, or cheaper, cuts a new store otherwise, not one that is there."""
    (index, region), *_ = chunk_slices(plan.shape, chunks := store.create(path, plan, IDENTITY, work=0.2))
    assert chunks != store.create(tmp_path / "new.zarr", plan, IDENTITY)
    store.write_chunk(path, index, arrays_of(region))
    for name in lost:
        (path / name).unlink()
    fill(path, plan, arrays_of)
    assert store.chunks_of(path) == chunks
    assert store.verify(path) == {}
    fill(tmp_path / "at_once.zarr", plan, arrays_of)
    xr.testing.assert_equal(store.open(path).load(), store.open(tmp_path / "at_once.zarr").load())


def test_another_grid_is_refused(path: Path, plan: Layout, grid: object, make_axis: type, make_grid: type):
    store.create(path, plan, IDENTITY)
    longer = make_axis("deadline", "limits.time.max", "s", "longest time", (1.0, 2.0, 3.0))
    other = dataset.layout(make_grid((longer, grid.axes[1]), grid.base))
    with pytest.raises(StoreError, match=r"grid.deadline: asked \[1.0, 2.0, 3.0\], stored .*\"values\": 60"):
        store.create(path, other, IDENTITY)


def test_foreign_paths_are_never_touched(tmp_path: Path, plan: Layout):
    file = tmp_path / "notes.txt"
    file.write_text("precious")
    directory = tmp_path / "photos"
    directory.mkdir()
    (directory / "cat.png").write_bytes(b"cat")
    for taken in (file, directory):
        with pytest.raises(StoreError, match="not a store of a dse sweep"):
            store.create(taken, plan, IDENTITY)
    with pytest.raises(StoreError, match="is a file, not a directory"):
        store.create(file / "study.zarr", plan, IDENTITY)
    assert file.read_text() == "precious"
    assert [f.name for f in directory.iterdir()] == ["cat.png"]


def test_an_ordinary_zarr_group_is_not_taken_over(tmp_path: Path, plan: Layout):
    xr.Dataset({"a": ("x", [1.0])}).to_zarr(tmp_path / "a.zarr", consolidated=False)
    with pytest.raises(StoreError, match="not a store of a dse sweep"):
        store.create(tmp_path / "a.zarr", plan, IDENTITY)


def test_a_missing_store_is_said_to_be_missing(tmp_path: Path):
    for read in (store.open, store.done, store.verify, store.identity):
        with pytest.raises(StoreError, match="does not exist"):
            read(tmp_path / "nothing.zarr")


def test_an_empty_directory_may_become_a_store(tmp_path: Path, plan: Layout):
    (tmp_path / "new.zarr").mkdir()
    store.create(tmp_path / "new.zarr", plan, IDENTITY)
    assert store.done(tmp_path / "new.zarr") == set()


def test_damage_is_found_and_mended(path: Path, plan: Layout, arrays_of: Fill):
    fill(path, plan, arrays_of)
    (path / "energy" / "c" / "1" / "0").write_bytes(b"rotten")
    (path / "status" / "c" / "2" / "0").unlink()
    (path / store.DONE / "3-0.json").write_text("{")
    damage = store.verify(path)
    assert set(damage) == {(1, 0), (2, 0), (3, 0)}
    assert "energy" in damage[1, 0]
    assert "status" in damage[2, 0]
    for index in damage:
        store.forget(path, index)
    fill(path, plan, arrays_of)
    assert store.verify(path) == {}


def grown_old(path: Path) -> None:
    """Let a store be as older versions made it: nothing is recorded of its files."""
    (path / roots.COPY).unlink()
    for file in (path / "zarr.json", *(path / store.DONE).glob("*-*.json")):
        told = json.loads(file.read_text())
        for name in (seals.FILES, seals.SEAL):
            told.get("attributes", told).pop(name)
        file.write_text(json.dumps(told))


def test_a_store_of_an_older_version_is_read_and_continued(path: Path, plan: Layout, arrays_of: Fill):
    fill(path, plan, arrays_of, most=2)
    grown_old(path)
    fill(path, plan, arrays_of, most=3)
    expected = dataset.to_dataset(plan, arrays_of(tuple(slice(0, n) for n in plan.shape)))
    fill(path, plan, arrays_of)
    xr.testing.assert_equal(store.open(path).load(), expected)
    assert store.verify(path) == {}
    remarks.annotate(path, {"remark": "old"})
    assert store.open(path).attrs["remark"] == "old"


def test_of_an_older_version_what_cannot_be_decoded_is_one_error(path: Path, plan: Layout, arrays_of: Fill):
    fill(path, plan, arrays_of)
    grown_old(path)
    (path / "energy" / "c" / "1" / "0").write_bytes(b"rotten")
    with pytest.raises(StoreDamaged, match="energy/c/1/0 cannot be read"):
        store.open(path).load()
    (path / "energy" / "zarr.json").write_text("{")
    with pytest.raises(StoreDamaged, match=r"is damaged.*dse verify --repair"):
        store.open(path)


LOST = [
    ("energy/c/1/0", None, "energy/c/1/0 is missing"),
    ("energy/c/1/0", b"short", "energy/c/1/0 has 5 bytes instead of"),
    ("chunks_done/2-0.json", b"{", r"chunks_done/2-0\.json cannot be read"),
    ("energy/zarr.json", b"", r"energy/zarr\.json has 0 bytes"),
    ("deadline/c/0", None, "deadline/c/0 is missing"),
    ("zarr.json", b"{}", r"zarr\.json is"),
    ("zarr.json", None, r"zarr\.json is missing"),
]


@pytest.mark.parametrize(("name", "text", "told"), LOST)
def test_opening_notices_what_is_lost_or_cut_without_reading_numbers(
    path: Path, plan: Layout, arrays_of: Fill, name: str, text: bytes | None, told: str
):
    fill(path, plan, arrays_of)
    if text is None:
        (path / name).unlink()
    else:
        (path / name).write_bytes(text)
    with pytest.raises(StoreDamaged, match=told) as refusal:
        store.open(path)
    assert f"dse verify --repair {path}" in str(refusal.value)
    # the same question writes metadata anew, and computes again what else is damaged
    store.create(path, plan, IDENTITY)
    for index in store.damaged_chunks(path):
        store.discard(path, index)
    fill(path, plan, arrays_of)
    store.check(path)
    assert store.verify(path) == {}


def test_files_in_each_others_place_are_noticed_when_they_are_read(path: Path, plan: Layout, arrays_of: Fill):
    fill(path, plan, arrays_of)
    here, there = path / "energy" / "c" / "1" / "0", path / "energy" / "c" / "2" / "0"
    texts = here.read_bytes(), there.read_bytes()
    assert texts[0] != texts[1]
    here.write_bytes(texts[1].ljust(len(texts[0]), b"\0")[: len(texts[0])])
    found = store.open(path)
    assert not np.isnan(found.energy.isel(deadline=slice(0, 10)).values).all()
    with pytest.raises(StoreDamaged, match="energy/c/1/0 differs from what was written"):
        _ = found.energy.values


def test_a_lost_root_is_not_made_for_another_question(path: Path, plan: Layout, arrays_of: Fill):
    fill(path, plan, arrays_of, most=1)
    (path / "zarr.json").write_text("{}")
    with pytest.raises(StoreError, match="nothing else in it says that it belongs to this question"):
        store.create(path, plan, {**IDENTITY, "scenario": "def456"})
    assert (path / "zarr.json").read_text() == "{}"
    # without the copy a marker still says it
    (path / roots.COPY).unlink()
    store.create(path, plan, IDENTITY)
    assert len(store.done(path)) == 1
    assert store.verify(path) == {}


def test_a_chunk_that_is_written_anew_while_it_is_read_is_no_damage(
    path: Path, plan: Layout, arrays_of: Fill
):
    chunks = fill(path, plan, arrays_of)
    found = store.open(path)
    first = {"deadline": slice(0, 10)}
    assert not np.isnan(found.energy.isel(first).values).all()
    index, region = next(chunk_slices(plan.shape, chunks))
    arrays = arrays_of(region)
    arrays["energy"] *= 2
    store.write_chunk(path, index, arrays)
    np.testing.assert_array_equal(found.energy.isel(first).values, arrays["energy"])


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("s3://", "names no bucket"),
        ("s3:///", "names no bucket"),
        ("memory://s.zarr", "would be lost"),
        ("file://s.zarr", "names no path"),
        ("nonsense://a/b", "is not a place for a store"),
        ("S3://bucket/s.zarr", "is not an address of a store"),
    ],
)
def test_addresses_at_which_nothing_could_be_kept_are_refused(
    tmp_path: Path, plan: Layout, address: str, told: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match=told):
        store.create(address, plan, IDENTITY)
    assert not list(tmp_path.iterdir())


def test_the_address_of_a_file_is_its_path(path: Path, plan: Layout, arrays_of: Fill):
    fill(path, plan, arrays_of)
    xr.testing.assert_identical(store.open(f"file://{path}").load(), store.open(path).load())
    assert storage.absolute(f"file://{path}") == str(path)


def test_attributes_can_be_added(path: Path, plan: Layout):
    store.create(path, plan, IDENTITY)
    remarks.annotate(path, {"remark": "20 points, largest difference 1e-9"})
    assert store.open(path).attrs["remark"].startswith("20 points")
    store.create(path, plan, IDENTITY)


def test_creating_at_once_from_several_processes_gives_one_store(path: Path, plan: Layout, tmp_path: Path):
    code = f"from results.stores import store; store.create({str(path)!r}, plan, {IDENTITY!r})"
    running = [start(code, plan, tmp_path) for _ in range(3)]
    for process in running:
        process.communicate()
    assert [p.returncode for p in running] == [0, 0, 0]
    assert store.identity(path)["scenario"] == "abc123"
    assert [p.name for p in path.parent.iterdir()] == ["study.zarr"]


def test_kill_in_the_middle_of_writing_leaves_what_was_stored(
    tmp_path: Path, question: object, make_axis: type, make_grid: type
):
    axis = make_axis("deadline", "limits.time.max", "s", "t", tuple(map(float, range(4000))))
    other = make_axis("bodies", "bodies", "", "n", tuple(map(float, range(100))))
    plan = dataset.layout(make_grid((axis, other), question))
    path, code = tmp_path / "killed.zarr", WRITER.replace("PATH", repr(str(tmp_path / "killed.zarr")))
    dice = random.Random(7)
    for round_ in range(2):
        process = start(code, plan, tmp_path)
        for _ in range(3 + 5 * round_):
            assert process.stdout is not None
            process.stdout.readline()
        time.sleep(dice.random() * 0.05)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert store.verify(path) == {}
        assert len(store.done(path)) >= 3
        ds = store.open(path)
        for index in store.done(path):
            region = dict(zip(("deadline", "bodies"), dataset_block(plan, path, index), strict=True))
            assert (ds.status.isel(region) == 1).all()
            assert not np.isnan(ds.energy.isel(region)).any()
            assert not np.isnan(ds.seconds.isel(region)).any()
        answered = ds.status.values == 1
        assert not np.isnan(ds.energy.values[answered]).any()
    store.tidy(path)
    assert not list(tmp_path.rglob("*.partial"))
    shutil.rmtree(path)


def dataset_block(plan: Layout, path: Path, index: tuple[int, ...]) -> tuple[slice, ...]:
    from results.stores.chunks import block

    return block(plan.shape, store.identity(path)["chunks"], index)
