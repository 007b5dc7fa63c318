"""Exported files that are damaged, or that say more than they hold: one message that names the file that was read."""

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner, Result
from store_filling import Fill, fill

import dse
from dse.cli import main
from results.dataset import Layout
from results.stores.store import StoreError


@pytest.fixture
def folder(
    plan: Layout, arrays_of: Fill, tmp_path: Path, made_once: Callable[[str, Callable[[Path], object]], Path]
) -> Path:
    """A folder with the same dataset as ``made.nc`` and ``made.zarr``."""

    def make(place: Path) -> None:
        fill(place / "study.zarr", plan, arrays_of)
        for ending in ("nc", "zarr"):
            dse.export(place / "study.zarr", place / f"made.{ending}")

    shutil.copytree(made_once("an exported study", make), tmp_path, dirs_exist_ok=True)
    return tmp_path


def typed(*words: object) -> Result:
    return CliRunner().invoke(main, [str(w) for w in words])


def refused(folder: Path, bad: Path) -> str:
    """Run every command that reads a dataset on a damaged one; returns the one message that all give."""
    told = set()
    for words in (
        ("export", bad, "-o", folder / "out.csv"),
        ("export", bad, "-o", folder / "again.nc"),
        ("report", bad, "-o", folder / "out.html"),
        ("diff", bad, folder / "made.nc"),
    ):
        done = typed(*words)
        assert done.exit_code == 2, done.output
        told.add(done.stderr.strip().removeprefix("dse: "))
    assert len(told) == 1, told
    assert not {f.name for f in folder.iterdir()} & {"out.csv", "again.nc", "out.html"}
    return told.pop()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # the tree of blocks of numbers, which are read last; headers and names, which are read first
        (b"TREE", b"TREF"),
        (b"OHDR", b"OHDS"),
        (b"FRHP", b"FRHQ"),
        (b"within a deadline", b"within \xf3 deadline"),
        (b"\x89HDF", b"\x89HDG"),
    ],
)
def test_a_damaged_netcdf_file_is_named_whatever_of_it_is_damaged(folder: Path, old: bytes, new: bytes):
    bad = folder / "bad.nc"
    content = (folder / "made.nc").read_bytes()
    assert old in content
    bad.write_bytes(content.replace(old, new))
    told = refused(folder, bad)
    assert told.startswith(f"cannot read {bad}: it is damaged, or no NetCDF file: ")


def test_no_bit_that_flips_in_a_netcdf_file_is_an_unexpected_failure(folder: Path):
    content = (folder / "made.nc").read_bytes()
    bad, draw = folder / "bad.nc", np.random.default_rng(1)
    told = []
    for place in draw.integers(len(content), size=25).tolist():
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(draw.integers(8))
        bad.write_bytes(flipped)
        try:
            dse.open(bad).load()
        except StoreError as problem:
            told.append(str(problem))
    assert told
    assert all(str(bad) in t for t in told)


@pytest.mark.parametrize(
    ("made", "wrong"), [(os.mkfifo, "it is no regular file"), (os.mkdir, "Is a directory")]
)
def test_what_is_no_file_has_no_netcdf_in_it(folder: Path, made: Any, wrong: str):
    made(folder / "bad.nc")
    assert refused(folder, folder / "bad.nc") == f"cannot read {folder / 'bad.nc'}: {wrong}"


def test_a_damaged_chunk_of_an_exported_folder_is_told_as_such(folder: Path):
    for file in (f for f in (folder / "made.zarr" / "energy" / "c").rglob("*") if f.is_file()):
        file.write_bytes(b"\0" * 9)
    told = refused(folder, folder / "made.zarr")
    assert told.startswith(f"cannot read {folder / 'made.zarr'}: it is damaged, or no Zarr folder: ")
    # dse verify repairs stores of sweeps
    assert "verify" not in told


def test_what_is_read_of_a_file_can_still_be_pickled(folder: Path):
    for name in ("made.nc", "made.zarr"):
        found = dse.open(folder / name)
        assert pickle.loads(pickle.dumps(found)).identical(found.load())


def changed(file: Path, change: Any) -> None:
    told = json.loads(file.read_text())
    change(told)
    file.write_text(json.dumps(told))


def grown(array: dict[str, Any], axis: str, many: int, chunk: int) -> None:
    """Have an array say that it is so long along an axis."""
    for i, name in enumerate(array["dimension_names"]):
        if name == axis:
            array["shape"][i] = many
            array["chunk_grid"]["configuration"]["chunk_shape"][i] = chunk


@pytest.mark.parametrize("chunk", [10**9, 10**5])
def test_a_small_folder_that_tells_of_a_billion_values_is_refused_at_once(folder: Path, chunk: int):
    made = folder / "made.zarr"
    axis = next(str(d) for d in dse.open(made).status.dims if dse.open(made)[d].dtype.kind == "f")
    for array in made.glob("*/zarr.json"):
        changed(array, lambda told: grown(told, axis, 10**9, chunk))
    shutil.rmtree(made / axis / "c")
    told = refused(folder, made)
    assert told.startswith(f"{made} is too large: ")
    assert "damaged" not in told
    assert "verify" not in told


def test_a_small_netcdf_file_that_tells_of_a_billion_values_is_refused_at_once(folder: Path):
    h5netcdf = pytest.importorskip("h5netcdf")
    with h5netcdf.File(folder / "bad.nc", "w") as file:
        file.attrs["dse_order"] = "[]"
        file.dimensions["deadline"] = 10**9
        file.create_variable("deadline", ("deadline",), float, chunks=(10**5,), compression="gzip")
    told = refused(folder, folder / "bad.nc")
    assert told.startswith(f"{folder / 'bad.nc'} is too large: deadline ")


def test_memory_that_is_short_is_not_called_damage(folder: Path, monkeypatch: pytest.MonkeyPatch):
    def short(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 7.45 GiB")

    monkeypatch.setattr(xr, "open_zarr", short)
    for place in ("made.zarr", "study.zarr"):
        with pytest.raises(StoreError, match=r"too large for the memory that is free.*7\.45 GiB") as problem:
            dse.open(folder / place)
        assert "damaged" not in str(problem.value)


def test_attributes_that_netcdf_has_no_kind_for_come_back_as_they_were(folder: Path):
    found = dse.open(folder / "made.zarr").load()
    found.attrs |= {"mine": {"a": [1, None]}, "flag": True, "none": None, "huge": 10**30, "plain": [1, 2]}
    found["energy"].attrs |= {"of_mine": {"b": {}}}
    back = dse.open(dse.export(found, folder / "mine.nc"))
    assert {n: back.attrs[n] for n in ("mine", "flag", "none", "huge")} == {
        n: found.attrs[n] for n in ("mine", "flag", "none", "huge")
    }
    assert back["energy"].attrs == found["energy"].attrs
    found.attrs["mine"] = object()
    with pytest.raises(StoreError, match="attributes of dataset that no file holds: mine"):
        dse.export(found, folder / "mine.nc")


def test_a_dataset_without_the_values_of_an_axis_is_compared_by_the_numbers_of_its_points(folder: Path):
    found = dse.open(folder / "made.nc").load()
    axis = str(found.status.dims[0])
    bare = found.drop_vars(axis)
    assert str(dse.diff(found, bare)) == f"grid: values of {axis}: there → —"
    assert not dse.diff(bare, bare)
    changed_one = bare.copy(deep=True)
    changed_one["seconds"][:] = 0
    changed_one["status"][-1, 0] += 1
    assert "statuses: status: " in str(dse.diff(found, changed_one))
    assert "status" not in str(dse.diff(found, bare.isel({axis: slice(1)})))


def test_an_axis_that_lost_its_dimension_is_told_as_a_difference(folder: Path):
    made = folder / "made.zarr"
    axis = str(dse.open(made).status.dims[0])
    changed(made / axis / "zarr.json", lambda told: told.update(dimension_names=["other"]))
    done = typed("diff", made, folder / "made.nc")
    assert done.exit_code == 1
    assert f"values of {axis}" in done.output
