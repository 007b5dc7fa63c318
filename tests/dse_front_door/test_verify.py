"""A stored sweep is verified by itself: whatever is damaged is found, and named by chunk, point and variable."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from click.testing import CliRunner

import dse
import results.stores.files.seals
import results.stores.store
from dse.cli import main
from dse.sweeping.verifying import Verdict
from results.stores.files.trouble import StoreDamaged
from solvers.many_points import Choice

GRID = """
title   = "Least energy within a deadline"
model   = "nbody"
machine = "balanced"

[given]
bodies         = 1e5
flops_per_pair = 10

[decide]
processors = { max = 65536, integer = true }
memory     = {}

[objective]
minimize = "energy"

[limits]
time = { max = "1 s" }

[sweep.deadline]
path    = "limits.time.max"
start   = "10 ms"
stop    = "10 s"
num     = 30
spacing = "log"

[sweep.bodies]
path   = "given.bodies"
values = [1e5, 1e6]
"""


@pytest.fixture(scope="module")
def whole(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """A finished sweep of several chunks (made point by point, whatever fast ways there are)."""

    def make(folder: Path) -> None:
        (folder / "grid.toml").write_text(GRID)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dse.sweeping.points.chunk_work.paths.chosen", lambda grid: Choice())
            dse.sweep(folder / "grid.toml", folder / "s.zarr", workers=1, progress=False)

    return made_once("sweep to verify", make) / "s.zarr"


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "s.zarr"))


def verified(store: Path) -> Verdict:
    return dse.verify(store, audit=0, progress=False)


def change(store: Path, name: str, place: tuple[int, ...], value: Callable[[Any], Any]) -> None:
    """Store another number, with checksums that fit it: as somebody would who wants it believed."""
    array = zarr.open_group(str(store), mode="r+")[name]
    index = tuple(i // c for i, c in zip(place, results.stores.store.chunks_of(store), strict=False))
    results.stores.store.forget(store, index)
    array[place] = value(array[place])
    arrays = results.stores.store.read_chunk(store, index)
    results.stores.store.write_chunk(store, index, arrays)


def optimal(store: Path) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(dse.open(store).status.values == 1)[0])


def infeasible(store: Path) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(dse.open(store).status.values == 3)[0])


def test_a_sound_store_passes(whole: Path):
    verdict = dse.verify(whole, audit=2, progress=False)
    assert verdict.passed, verdict.troubles
    assert verdict.points == 60
    assert verdict.chunks == len(results.stores.store.done(whole)) > 1
    assert 0 < verdict.found.gap <= 1e-6
    assert verdict.again is not None
    # two of all, two of those that are infeasible
    assert verdict.again.agree == verdict.again.points >= 2


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("objective", lambda v: v * (1 + 1e-7), "differs from what the model computes"),
        ("energy", lambda v: v * (1 + 1e-7), "differs from what the model computes"),
        ("memory", lambda v: v * 1.01, "differs from what the model computes"),
        ("processors", lambda v: v + 0.5, "not a whole number"),
        ("bound", lambda v: v * 0.9, "called optimal with a gap above 1e-06"),
        ("gap", lambda v: v + 1e-9, "not |objective - bound|"),
        ("status", lambda v: 3, "infeasible, and no limit in conflict"),
        ("status", lambda v: 0, "points of a finished chunk are not computed"),
        ("status", lambda v: 77, "not a status that an answer can have"),
    ],
)
def test_a_changed_number_is_found_whatever_its_checksum(
    store: Path, name: str, value: Callable[[Any], Any], word: str
):
    place = optimal(store)
    change(store, name, place, value)
    verdict = verified(store)
    assert not verdict.passed
    told = [t for t in verdict.troubles if word in t.what]
    assert told, verdict.troubles
    assert told[0].point in {place, None}
    assert told[0].chunk == tuple(
        i // c for i, c in zip(place, results.stores.store.chunks_of(store), strict=True)
    )


def test_a_design_that_breaks_a_limit_is_found(store: Path):
    place = optimal(store)
    # fewer processors, and everything else as the model says of them, except that it comes too late
    asked = json.loads(json.dumps(float(dse.open(store).processors.values[place])))
    change(store, "processors", place, lambda _: max(1.0, asked // 10))
    verdict = verified(store)
    assert any(t.variable == "time" and t.what == "a limit is broken" for t in verdict.troubles), (
        verdict.troubles
    )


def test_an_answer_where_there_is_none_is_found(store: Path):
    place = infeasible(store)
    change(store, "objective", place, lambda _: 1.0)
    assert "a number where there is no answer" in {t.what for t in verified(store).troubles}


def test_an_infeasible_point_that_is_none_is_found_by_answering_again(store: Path, monkeypatch: Any):
    place = optimal(store)
    arrays = zarr.open_group(str(store), mode="r+")
    clash = infeasible(store)
    for name in ("status", "objective", "bound", "gap", "binding", "processors", "memory"):
        change(store, name, place, lambda _, name=name: arrays[name][clash])
    verdict = verified(store)
    assert verdict.passed, "every number of it is that of an infeasible point"
    monkeypatch.setattr("dse.sweeping.audits.drawn", lambda at, count: [place])
    verdict = dse.verify(store, audit=1, progress=False)
    assert [t.point for t in verdict.troubles] == [place]
    assert "finds a design" in verdict.troubles[0].what


def test_flipped_bytes_are_found(store: Path):
    index = sorted(results.stores.store.done(store))[1]
    for name in ("energy", "seconds"):
        file = store / name / "c" / "/".join(map(str, index))
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(bytes(data))
        verdict = verified(store)
        assert [(t.chunk, t.variable) for t in verdict.troubles] == [(index, name)], verdict.troubles
        file.write_bytes(
            bytes([*data[: len(data) // 2], data[len(data) // 2] ^ 1, *data[len(data) // 2 + 1 :]])
        )
    assert verified(store).passed


def test_a_lost_file_is_found(store: Path):
    index = sorted(results.stores.store.done(store))[0]
    (store / "memory" / "c" / "/".join(map(str, index))).unlink()
    assert [(t.chunk, t.variable) for t in verified(store).troubles] == [(index, "memory")]


def test_a_lost_marker_and_a_torn_one_are_found(store: Path):
    first, second = sorted(results.stores.store.done(store))[:2]
    (store / results.stores.store.DONE / f"{'-'.join(map(str, first))}.json").unlink()
    (store / results.stores.store.DONE / f"{'-'.join(map(str, second))}.json").write_text("{")
    verdict = verified(store)
    assert verdict.pending == 1
    assert [t.chunk for t in verdict.troubles] == [second]
    assert "json cannot be read" in verdict.troubles[0].what


def test_a_store_without_any_finished_chunk_is_told_to_be_unfinished(store: Path):
    for index in results.stores.store.done(store):
        (store / results.stores.store.DONE / f"{'-'.join(map(str, index))}.json").unlink()
    verdict = verified(store)
    assert verdict.points == 0
    assert verdict.pending > 1
    assert not verdict.troubles
    assert not verdict.passed


def test_another_question_and_other_coordinates_are_found(store: Path):
    (store / "deadline" / "c" / "0").unlink()
    verdict = verified(store)
    assert [(t.chunk, t.variable) for t in verdict.troubles] == [(None, "deadline")]
    told = json.loads((store / "zarr.json").read_text())
    told["attributes"]["scenario"] = told["attributes"]["scenario"].replace(
        "flops_per_pair = 10", "flops_per_pair = 11"
    )
    # as somebody would who wants it believed
    (store / "zarr.json").write_bytes(results.stores.files.seals.dumped(told))
    assert "scenario" in {t.variable for t in verified(store).troubles}
    (store / "zarr.json").write_text(json.dumps(told))
    with pytest.raises(StoreDamaged, match=r"zarr\.json differs from what was written"):
        verified(store)


@pytest.mark.parametrize("name", ["nbody_logged_runs_sweep", "nbody_deadline_sweep"])
def test_a_damaged_root_is_repaired_from_the_question_in_its_copy(name: str, tmp_path: Path):
    # the rows of a table stand in arrays of the store: they are read without its root too
    asked = dse.load(name)
    made = tmp_path / "s.zarr"
    dse.sweep(asked, made, workers=1, progress=False)
    sound = (made / "zarr.json").read_bytes()
    for broken in (sound.replace(b"_per_", b"^per_", 1), sound.replace(b"attributes", b"attributed", 1), b""):
        (made / "zarr.json").write_bytes(broken)
        with pytest.raises(StoreDamaged, match=r"zarr\.json"):
            dse.verify(made, audit=0, progress=False)
        assert not dse.verify(made, audit=0, progress=False, repair=True).wrong
        assert (made / "zarr.json").read_bytes() == sound


def permuted(store: Path) -> None:
    """Let a code of a status mean another status."""
    file = store / "status" / "zarr.json"
    file.write_text(file.read_text().replace("optimal feasible infeasible", "infeasible feasible optimal"))


def test_metadata_that_are_changed_and_sealed_anew_are_held_against_the_question(store: Path):
    permuted(store)
    told = json.loads((store / "zarr.json").read_text())
    told["attributes"]["files"]["status/zarr.json"] = results.stores.files.seals.record(
        (store / "status" / "zarr.json").read_bytes()
    )
    for name in ("zarr.json", "chunks_done/root.copy"):
        (store / name).write_bytes(results.stores.files.seals.dumped(told))
    assert [(t.variable, t.what) for t in verified(store).troubles] == [
        ("status", "its attributes are not those of the question")
    ]


@pytest.mark.parametrize(
    "command",
    [
        ("export", "s.zarr", "-o", "s.csv"),
        ("report", "s.zarr", "-o", "s.html"),
        ("diff", "s.zarr", "s.zarr"),
        ("sweep", "--status", "s.zarr"),
        ("sweep", "-o", "s.zarr", "--summary"),
        ("verify", "s.zarr", "--audit", "0"),
    ],
)
def test_permuted_meanings_of_the_status_are_read_by_no_command(
    store: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
):
    permuted(store)
    monkeypatch.chdir(store.parent)
    found = CliRunner().invoke(main, list(command))
    assert found.exit_code == 1, found.output
    assert "status/zarr.json differs from what was written" in found.output
    assert "dse verify --repair s.zarr" in found.output
    assert not list(store.parent.glob("s.[ch]*"))


def test_the_command_names_what_is_wrong_and_ends_with_1(store: Path):
    run = CliRunner()
    sound = run.invoke(main, ["verify", str(store), "--audit", "0"])
    assert sound.exit_code == 0, sound.output
    assert "no errors" in sound.output
    place = optimal(store)
    change(store, "objective", place, lambda v: v * 1.001)
    found = run.invoke(main, ["verify", str(store), "--audit", "0"])
    assert found.exit_code == 1
    assert f"point {place}, objective: differs from what the model computes for the design" in found.output
    told = json.loads(run.invoke(main, ["verify", str(store), "--audit", "0", "--json"]).stdout)
    assert told["passed"] is False
    assert told["troubles"][0]["point"] == list(place)
    assert run.invoke(main, ["verify", str(store / "nothing")]).exit_code == 2


def test_an_unfinished_store_is_not_called_wrong(store: Path):
    first, *more = sorted(results.stores.store.done(store))
    (store / results.stores.store.DONE / f"{'-'.join(map(str, first))}.json").unlink()
    found = CliRunner().invoke(main, ["verify", str(store), "--audit", "0"])
    assert found.exit_code == 1
    assert f"{store}: not finished, no errors; " in found.output
    assert f"not finished: 1 of {len(more) + 1} chunks to do" in found.output


def test_repair_computes_again_what_is_lost_and_nothing_else(store: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dse.sweeping.points.chunk_work.paths.chosen", lambda grid: Choice())
    lost, kept = sorted(results.stores.store.done(store))[:2]
    marker = store / results.stores.store.DONE / f"{'-'.join(map(str, kept))}.json"
    before, expected = marker.read_bytes(), dse.open(store).load()
    (store / "memory" / "c" / "/".join(map(str, lost))).unlink()
    (store / "energy" / "zarr.json").write_text("")
    run = CliRunner()
    found = run.invoke(main, ["verify", str(store), "--audit", "0"])
    assert found.exit_code == 1
    assert "energy/zarr.json has 0 bytes" in found.output
    assert f"`dse verify --repair {store}` computes again" in found.output
    found = run.invoke(main, ["verify", "--repair", str(store), "--audit", "0"])
    assert found.exit_code == 0, found.output
    assert marker.read_bytes() == before
    again = dse.open(store).load()
    assert again.drop_vars("seconds").identical(expected.drop_vars("seconds"))
    same = np.array_equal(again.seconds.values, expected.seconds.values)
    assert not same, "the lost chunk was computed again"


def test_outputs_and_stores_at_addresses_are_refused_before_anything_is_solved(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "grid.toml").write_text(GRID)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dse.sweeping.points.chunk_work.ready", lambda *asked: pytest.fail("it began"))
    before = sorted(tmp_path.iterdir())
    for command in (
        ("sweep", "grid.toml", "-o", "s3://"),
        ("sweep", "grid.toml", "-o", "memory://x"),
        ("evaluate", "grid.toml", "-o", "memory://x"),
        ("sweep", "grid.toml", "-o", "t.zarr", "--plot", "s3://bucket/a.png"),
        ("sweep", "--status", "s3://"),
        ("verify", "memory://x"),
        ("export", "s.zarr", "-o", "s3://bucket/a.csv"),
        ("report", "s.zarr", "-o", "s3://bucket/a.html"),
        ("front", "grid.toml", "-o", "s3://bucket/a.nc"),
        ("new", "nbody", "-o", "file:///tmp/a.toml"),
    ):
        found = CliRunner().invoke(main, list(command))
        assert found.exit_code == 2, (command, found.output)
        assert len(found.output.strip().splitlines()) == 1, (command, found.output)
        assert "://" in found.output
    assert sorted(tmp_path.iterdir()) == before


def test_a_process_that_reads_damage_ends_with_one_line(store: Path):
    """Zarr leaves the reads of the other chunks behind, which the end of the process would complain of."""
    for file in sorted((store / "energy" / "c").rglob("*"))[:2]:
        if file.is_file():
            file.write_bytes(file.read_bytes()[::-1])
    command = [sys.executable, "-m", "dse", "export", str(store), "-o", str(store.with_suffix(".csv"))]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1, ended.stderr
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
    assert "is damaged: energy/c/" in ended.stderr


def test_a_store_that_lost_its_question_names_the_command_that_repairs_it(
    store: Path, monkeypatch: pytest.MonkeyPatch
):
    """`dse verify --repair` starts from the question in the store, and is no repair where there is none."""
    monkeypatch.setattr("dse.sweeping.points.chunk_work.paths.chosen", lambda grid: Choice())
    run, scenario = CliRunner(), store.with_name("again.toml")
    scenario.write_text(results.stores.store.attributes(store)["scenario"])
    expected = dse.open(store).load()
    for name in ("zarr.json", "chunks_done/root.copy"):
        (store / name).write_text("{}")
    monkeypatch.chdir(store.parent)
    for command in (
        ["verify", "--repair", store.name],
        ["verify", "--repair", store.name, "--scenario", scenario.name],
        ["export", store.name, "-o", "s.csv"],
    ):
        found = run.invoke(main, command)
        assert found.exit_code == 1, found.output
        assert "only the command that filled it repairs it, with its FILE and options" in found.output
        assert "verify --repair" not in found.output
    found = run.invoke(main, ["sweep", scenario.name, "-o", store.name])
    assert found.exit_code == 0, found.output
    assert dse.open(store).load().equals(expected)
