"""A sweep is the question asked at every point: in memory, in a store, in this process or in others."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

import dse
import results.stores.store
import scenarios
from dse.cli import main
from dse.models import registry
from dse.sweeping.points import chunk_work
from results.dataset import Arrays, Layout, to_arrays
from results.solution import Solution, Status
from results.stores.store import StoreError
from results.summaries import headlines
from scenarios import ScenarioError


def without_clock(found: xr.Dataset) -> xr.Dataset:
    """All that must not differ between runs, nor between memory and a store."""
    told = found.load().drop_vars("seconds")
    return told.drop_attrs(deep=False).assign_attrs(
        {k: v for k, v in told.attrs.items() if k not in {"identity", "format"}}
    )


def test_each_point_is_what_solve_says(grid_file: Callable[[int], Path]):
    file = grid_file(5)
    found = dse.sweep(file)
    assert dict(found.sizes)["deadline"] == 5
    assert set(found.status.values.ravel()) == {1, 3}
    text = file.read_text().partition("[sweep.deadline]")[0]
    for i, j in ((0, 0), (2, 1), (4, 2)):
        at = found.isel(deadline=i, bodies=j)
        file.write_text(
            text.replace('"1 s"', repr(float(at.deadline))).replace("1e5", repr(float(at.bodies)))
        )
        solution = dse.solve(file)
        assert at.status.attrs["flag_meanings"].split()[int(at.status)] == solution.status.value
        if solution.objective is not None:
            assert float(at.objective) == solution.objective
            assert float(at.memory) == solution.variables["memory"]


def test_memory_and_store_and_helpers_agree(grid_file: Callable[[int], Path], tmp_path: Path):
    asked = dse.load(grid_file(10))
    plain = dse.sweep(asked)
    stored = dse.sweep(asked, tmp_path / "one.zarr", workers=1)
    helped = dse.sweep(asked, tmp_path / "two.zarr", workers=2)
    handed_back = dse.sweep(asked, workers=2)
    assert len(results.stores.store.done(tmp_path / "two.zarr")) > 1
    for other in (stored, helped, handed_back):
        xr.testing.assert_identical(without_clock(plain), without_clock(other))
    assert results.stores.store.verify(tmp_path / "two.zarr") == {}


def test_only_what_is_missing_is_computed_again(grid_file: Callable[[int], Path], tmp_path: Path):
    asked, store = dse.load(grid_file(15)), tmp_path / "s.zarr"
    first = dse.sweep(asked, store, workers=1).load()
    done = sorted(results.stores.store.done(store))
    results.stores.store.forget(store, done[1])
    told: list[tuple[int, int]] = []
    again = dse.sweep(asked, store, workers=1, progress=lambda *at: told.append(at)).load()
    size = told[0][1] - told[0][0]
    assert 0 < size < told[0][1]
    assert told[-1] == (45, 45)
    xr.testing.assert_identical(without_clock(first), without_clock(again))
    assert np.count_nonzero(first.seconds.values != again.seconds.values) == size


def test_points_left_over_by_a_fast_way_tell_how_far_they_are(grid_file: Callable[[int], Path]):
    class Half:
        """Answers nothing of a block and leaves its second half to be solved one by one."""

        method, kind = "half", "point"

        def solve(self, plan: Layout, region: tuple[slice, ...], asked: Any = None) -> tuple[Arrays, Any]:
            shape = tuple(s.stop - s.start for s in region)
            left = np.zeros(shape, bool)
            left[shape[0] // 2 :] = True
            return to_arrays(plan, [Solution(Status.ERROR)] * left.size, shape), left

    asked = dse.load(grid_file(4))
    at = replace(chunk_work.ready(scenarios.grid(asked)), path=Half())
    told: list[int] = []
    found = chunk_work.solved(at, chunk_work.Study(asked.text, asked.file, (4, 3)), (0, 0), told.append)
    assert told == [7, 8, 9, 10, 11, 12]
    assert found.arrays is not None
    assert (found.arrays["status"] == 5).sum() == 6


def test_a_store_of_another_question_is_refused_and_stays_as_it_is(
    grid_file: Callable[[int], Path], tmp_path: Path
):
    file, store = grid_file(3), tmp_path / "s.zarr"
    first = dse.sweep(file, store).load()
    file.write_text(file.read_text().replace("65536", "65535"))
    with pytest.raises(StoreError, match="belongs to another sweep"):
        dse.sweep(file, store)
    found = CliRunner().invoke(main, ["sweep", str(file), "-o", str(store)])
    assert found.exit_code == 2
    assert "belongs to another sweep" in found.stderr
    changed = [line.strip() for line in found.stderr.splitlines() if "6553" in line]
    assert [line[0] for line in changed] == ["-", "+"], "the lines that differ, not their checksums"
    assert "65536" in changed[0]
    assert "65535" in changed[1]
    xr.testing.assert_identical(first, dse.open(store).load())


def test_a_sweep_without_a_store_is_told_the_command(grid_file: Callable[[int], Path]):
    file = grid_file(3)
    found = CliRunner().invoke(main, ["sweep", str(file)])
    assert found.exit_code == 2
    assert f"dse sweep {file} -o {file.stem}.zarr" in found.output


def test_a_target_that_is_no_store_is_refused(grid_file: Callable[[int], Path], tmp_path: Path):
    file = grid_file(3)
    occupied = tmp_path / "occupied"
    occupied.write_text("precious")
    for target in (occupied, occupied / "below", Path("/proc/dse.zarr")):
        found = CliRunner().invoke(main, ["sweep", str(file), "-o", str(target)])
        assert found.exit_code == 2, found.stderr
        assert str(target) in found.stderr
    assert occupied.read_text() == "precious"


def test_the_command_reports_and_its_json_counts(grid_file: Callable[[int], Path], tmp_path: Path):
    store = str(tmp_path / "s.zarr")
    found = CliRunner().invoke(main, ["sweep", str(grid_file(5)), "-o", store, "--json"])
    assert found.exit_code == 0, found.stderr
    told = json.loads(found.stdout)
    assert told["axes"] == {"deadline": 5, "bodies": 3}
    assert sum(told["statuses"].values()) == told["points"] == 15
    assert "15 of 15 points" in found.stderr
    picture = Path(store).with_name("sweep.png")
    command = ["sweep", str(grid_file(5)), "-o", store, "--summary", "--plot", str(picture)]
    shown = CliRunner().invoke(main, command)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "15 points" in shown.stdout
    assert "energy of the run" in shown.stdout
    found = dse.open(store)
    # of equal ones the first: within the range of perfect scaling the energy is the same at several deadlines
    # (1e-9, the tie tolerance: their last digits are those of the processor)
    least = found["objective"].min()
    as_good = found["objective"].where(~(found["objective"] <= least * (1 + 1e-9)), -1.0)
    best = found["objective"].isel(as_good.fillna(np.inf).argmin(["deadline", "bodies"]))
    # the store alone is enough, and a pipe gets no plot
    drawn = picture.with_name("again.svg")
    again = CliRunner().invoke(main, ["sweep", "-o", store, "--summary", "--plot", str(drawn)])
    assert again.exit_code == 0, again.stderr
    assert "<svg" in drawn.read_text()
    ignored = CliRunner().invoke(main, ["sweep", "-o", store, "--summary", "--workers", "2"])
    assert ignored.exit_code == 2
    assert "leave --workers out" in ignored.stderr
    line = next(line for line in again.stdout.splitlines() if line.startswith("Best: least energy"))
    assert f"bodies {best['bodies'].item():g}" in line
    assert "┌" not in again.stdout
    told = json.loads(CliRunner().invoke(main, ["sweep", "-o", store, "--summary", "--json"]).stdout)
    assert told["best"]["value"] == best
    assert told["best"]["at"] == {d: best[d].item() for d in ("deadline", "bodies")}


def test_a_grid_of_one_point_is_told_in_the_singular(deadline: Path, tmp_path: Path):
    file, store = tmp_path / "one.toml", tmp_path / "one.zarr"
    sweep = '[sweep.deadline]\npath = "limits.time.max"\nvalues = ["50 ms"]\n'
    file.write_text(deadline.read_text() + sweep)
    asked = (
        ["check", file],
        ["explain", file],
        ["sweep", file, "-o", store],
        ["verify", store],
        ["sweep", store],
    )
    told = [CliRunner().invoke(main, [str(a) for a in words]).output for words in asked]
    told.append(headlines.of_dataset(dse.open(store)))
    assert "1 point (1 deadline): 1 optimal" in told[2]
    assert told[-1].startswith("Least energy: ")
    assert not re.search(r"(?<![\d.])1 points", "".join(told))


def test_what_is_decided_is_kept_beside_the_metrics_asked_for(tmp_path: Path):
    """Shares of regions are one variable with two dimensions, as some metrics are; the audit works with them."""
    regions = [{"flops": 2e9, "bytes": 8e9}, {"flops": 4e10, "bytes": 1e9}]
    asked = {
        "model": "partition",
        "machine": {"cpu": "i7-2600k-tang2017", "gpu": "gtx-750-tang2017"},
        "given": {"regions": regions},
        "objective": {"minimize": "energy"},
        "sweep": {"deadline": {"path": "limits.time.max", "values": [0.2, 2.0]}},
    }
    found = dse.sweep(asked, tmp_path / "s.zarr", metrics=["energy"], workers=1, progress=False)
    assert {"share", "energy"} <= set(found.data_vars)
    assert "flops_by_processor" not in found
    assert dse.verify(tmp_path / "s.zarr", progress=False).passed


def test_nothing_swept_is_no_sweep(deadline: Path):
    with pytest.raises(ScenarioError, match="no axis is swept"):
        dse.sweep(deadline)


FAILING = """
import sys, dse
from dse.models.model import Model
from dse.quantities import Quantity

def equations(g):
    if g.size == 3 and HERE:
        DOES
    return {"time": g.size * 2.0}

dse.register(Model("doomed", "fails at 3", "", (), (Quantity("size", "n", "", "size"),),
                   (Quantity("time", "T", "s", "time"),), (), equations))
found = dse.sweep({"model": "doomed", "given": {"size": 1},
                   "sweep": {"size": {"path": "given.size", "start": 1, "stop": 40, "num": 40}}},
                  workers=int(sys.argv[1]))
print(found.status.values.tolist().count(6), found.status.values[2], found.message.values[2])
"""


def test_a_point_that_raises_is_an_error_with_its_message(run: Callable[..., Any]):
    script = FAILING.replace("HERE", "True").replace("DOES", "raise RuntimeError('three is too much')")
    found = run("-c", script, "2")
    assert found.stdout.startswith("39 5 RuntimeError: three is too much"), found.stdout + found.stderr


@pytest.mark.slow
def test_a_point_that_kills_its_worker_is_an_error_too(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
):
    # Dask's own default lets it kill four workers before it gives up, each of which takes a second to start
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")
    here = "__import__('os').environ.get('DSE_PARENT_PROCESS')"
    script = FAILING.replace("HERE", here).replace("DOES", "__import__('os')._exit(9)")
    found = run("-c", script, "2")
    assert found.stdout.startswith("39 5 the worker process died"), found.stdout + found.stderr


def test_errors_make_the_command_fail_but_keep_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    script = FAILING.partition("found =")[0].replace("HERE", "True")
    exec(script.replace("DOES", "raise RuntimeError('no')"), {})
    file = tmp_path / "e.toml"
    file.write_text(
        'model = "doomed"\n[given]\nsize = 1\n[sweep.size]\npath = "given.size"\nvalues = [1, 2, 3, 4]\n'
    )
    found = CliRunner().invoke(main, ["sweep", str(file), "-o", str(tmp_path / "e.zarr")])
    assert found.exit_code == 1
    assert "3 evaluated" in found.output
    assert "1 error" in found.output
    assert "RuntimeError: no" in found.output
