"""Stores that somebody changed, with checksums that fit: nothing outside is touched, and one message says what."""

import json
import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from store_filling import IDENTITY, Fill, fill

import dse
from dse.cli import main
from results.dataset import Layout
from results.export import reading
from results.stores import store
from results.stores.files import locks, seals
from results.stores.files.storage import LocalFolder
from results.stores.store import StoreDamaged, StoreError

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def path(plan: Layout, arrays_of: Fill, tmp_path: Path) -> Path:
    fill(tmp_path / "study.zarr", plan, arrays_of)
    return tmp_path / "study.zarr"


def sealed(file: Path, change: Change) -> None:
    """Change what a file says, and seal it anew."""
    told = seals.loaded(file.read_bytes())
    change(told)
    file.write_bytes(seals.dumped(told))


def of_root(path: Path, change: Change) -> None:
    """Change attributes of a store, and of its copy."""
    for name in ("zarr.json", "chunks_done/root.copy"):
        sealed(path / name, lambda told: change(told["attributes"]))


def first_chunk(path: Path) -> Path:
    return next(f for f in sorted((path / "energy" / "c").rglob("*")) if f.is_file())


@pytest.mark.parametrize(
    "name", ["../secret", "energy/../../secret", "{folder}/secret", "./energy/zarr.json", ""]
)
@pytest.mark.parametrize("where", ["root", "marker"])
def test_no_name_in_metadata_leads_out_of_a_store(path: Path, where: str, name: str):
    (path.parent / "secret").write_text("do not tell")
    name = name.format(folder=path.parent)
    if where == "root":
        of_root(path, lambda about: about["files"].update({name: [5, "00000000"]}))
    else:
        marker = next((path / "chunks_done").glob("[0-9]*.json"))
        sealed(marker, lambda told: told["files"].update({name: [5, "00000000"]}))
    with pytest.raises(StoreError) as problem:
        store.check(path)
    assert "bytes" not in str(problem.value)
    assert "zarr.json: attributes.files" in str(problem.value) or "cannot be read" in str(problem.value)


@pytest.mark.parametrize("folder", [False, True])
def test_a_link_that_leads_out_of_a_store_is_not_followed(path: Path, folder: bool):
    file = first_chunk(path).parent if folder else first_chunk(path)
    outside = path.parent / "elsewhere"
    file.rename(outside)
    file.symlink_to(outside)
    with pytest.raises(StoreDamaged, match=r"energy/c/.* cannot be read: a link leads out of the store"):
        store.open(path).energy.load()


def test_a_link_inside_a_store_is_followed(path: Path):
    file = first_chunk(path)
    file.rename(path / "energy" / "moved")
    file.symlink_to(path / "energy" / "moved")
    assert store.verify(path) == {}


@pytest.mark.parametrize("name", ["energy/c", "energy/zarr.json", "zarr.json", "chunks_done/sweep.lock"])
def test_a_pipe_in_a_store_is_not_waited_for(path: Path, name: str):
    file = first_chunk(path) if name == "energy/c" else path / name
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    with pytest.raises(StoreError, match=r"no regular file|is damaged"):
        locks.holder(path) or store.open(path)


@pytest.mark.parametrize("name", ["energy/c", "energy/zarr.json", "zarr.json", "chunks_done/root.copy"])
def test_an_empty_folder_in_place_of_a_file_is_replaced_and_one_that_holds_something_is_named(
    path: Path, plan: Layout, arrays_of: Fill, name: str
):
    file = first_chunk(path) if name == "energy/c" else path / name
    name = file.relative_to(path).as_posix()
    content = file.read_bytes()

    def again() -> None:
        store.create(path, plan, IDENTITY)
        for index in store.damaged_chunks(path):
            store.discard(path, index)
        fill(path, plan, arrays_of)

    file.unlink()
    file.mkdir()
    again()
    assert file.read_bytes() == content
    assert store.verify(path) == {}
    file.unlink()
    file.mkdir()
    (file / "mine").write_text("kept")
    with pytest.raises(StoreError, match=f"{name}: a folder that is not empty stands in place of this file"):
        again()
    assert (file / "mine").read_text() == "kept"


def test_nothing_is_written_or_removed_through_a_link(path: Path):
    outside = path.parent / "elsewhere"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    (path / "away").symlink_to(outside)
    where = LocalFolder(path)
    with pytest.raises(OSError, match="a link leads out of the store"):
        where.put("away/made", b"made")
    with pytest.raises(OSError, match="a link leads out of the store"):
        where.remove("away/kept")
    lock = path / "chunks_done" / "sweep.lock"
    lock.unlink(missing_ok=True)
    lock.symlink_to(outside / "lock")
    with pytest.raises(StoreError, match=r"sweep\.lock: a link leads out of the store"), locks.held(path):
        pass
    assert [f.name for f in outside.iterdir()] == ["kept"]


def test_an_exported_folder_is_read_from_its_own_files_only(path: Path):
    made = dse.export(path, path.parent / "made.zarr")
    assert dse.open(made).energy.notnull().any()
    file = first_chunk(made)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(StoreError, match=r"cannot read .*made\.zarr: energy/c/.*: no regular file"):
        dse.open(made).energy.load()


def identity(change: Change) -> Change:
    """Change what is kept as the identity of a store."""

    def changed(about: dict[str, Any]) -> None:
        told = json.loads(about["identity"])
        change(told)
        about["identity"] = json.dumps(told)

    return changed


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda about: about.update(identity="5"), "identity is 5"),
        (lambda about: about.update(identity="{"), "identity holds no JSON"),
        (lambda about: about.pop("identity"), "identity is missing"),
        (identity(lambda told: told.pop("grid")), "identity.grid is missing"),
        (identity(lambda told: told["grid"].update(variables=["../x"])), r"identity.grid.variables\[0\] is"),
        (identity(lambda told: told.update(chunks=[0, 2])), r"identity.chunks\[0\] is 0"),
        (lambda about: about.update(files="abc"), 'files is "abc"'),
        (lambda about: about.pop("scenario"), "scenario is missing"),
        (lambda about: about.update(audit="nope"), "audit holds no JSON"),
        (lambda about: about.update(audit='{"points": "many"}'), "audit.* is missing"),
        (lambda about: about.update(left_over="[]"), r"left_over is \[\]"),
        (lambda about: about.update(objectives='{"energy": 1}'), "objectives.energy is 1"),
        (lambda about: about.update(title=None), "title is null"),
        (lambda about: about.update(points_solved_singly="x"), "points_solved_singly is"),
    ],
)
def test_an_odd_root_is_refused_with_its_file_and_key(path: Path, change: Change, key: str):
    of_root(path, change)
    for asked in (store.check, store.open, store.done, store.origin):
        with pytest.raises(StoreError, match=f"study.zarr/zarr.json: attributes.{key}"):
            asked(path)


@pytest.mark.parametrize(
    "command", ["verify", "verify --repair", "sweep --status", "sweep --summary -o", "export -o x.csv"]
)
def test_every_command_refuses_an_odd_root_in_one_line(
    path: Path, command: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(path.parent)
    of_root(path, lambda about: about.update(identity="5"))
    ended = CliRunner().invoke(main, [*command.split(), path.name])
    assert ended.exit_code == 2, ended.output
    assert "study.zarr/zarr.json: attributes.identity is 5; " in ended.output
    assert len(ended.output.splitlines()) == 1


@pytest.mark.parametrize(
    ("variable", "text", "key"),
    [
        ("energy", lambda told: told.pop("zarr_format"), "it describes no variable"),
        ("energy", lambda told: told["attributes"].update(units=5), "units is 5"),
        ("status", lambda told: told["attributes"].update(flag_meanings="one"), "flag_values have 1 meaning"),
    ],
)
def test_an_odd_variable_is_refused_with_its_file(path: Path, variable: str, text: Change, key: str):
    file = path / variable / "zarr.json"
    told = json.loads(file.read_bytes())
    text(told)
    file.write_bytes(json.dumps(told).encode())
    of_root(
        path, lambda about: about["files"].update({f"{variable}/zarr.json": seals.record(file.read_bytes())})
    )
    with pytest.raises(StoreError, match=rf"{variable}/zarr.json: .*{key}"):
        store.open(path)


def test_an_odd_marker_counts_as_unreadable(path: Path):
    marker = next((path / "chunks_done").glob("[0-9]*.json"))
    sealed(marker, lambda told: told.update(statuses={"1": "many"}))
    with pytest.raises(StoreDamaged, match=f"chunks_done/{marker.name} cannot be read"):
        store.open(path)


@pytest.mark.parametrize("place", ["/", "//", "/.", "file:///"])
def test_the_root_of_all_folders_is_no_store(place: str):
    with pytest.raises(StoreError, match="root of all folders"):
        store.exists(place)


def test_files_that_lie_beside_are_left_without_a_word(path: Path):
    made = dse.export(path, path.parent / "made.zarr")
    for folder in (path, made):
        (folder / "notes.txt").write_text("mine")
        shutil.copytree(folder / "energy" / "c", folder / "plots" / "energy")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert "energy" in dse.open(folder)
            assert (folder / "notes.txt").exists()


def test_what_is_no_dataset_of_ours_is_not_opened(tmp_path: Path):
    with pytest.raises(StoreError, match="does not exist"):
        reading.open(tmp_path / "nothing.nc")
    (tmp_path / "folder.zarr").mkdir()
    with pytest.raises(StoreError):
        reading.open(tmp_path / "folder.zarr")
    (tmp_path / "text.nc").write_text("hello", encoding="utf-8")
    with pytest.raises(StoreError):
        reading.open(tmp_path / "text.nc")
