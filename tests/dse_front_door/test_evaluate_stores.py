"""Grids of any size, nothing decided: into a store, chunk by chunk, the metrics asked for."""

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

import dse
import results.stores.chunks
import results.stores.store
from dse.cli import main
from dse.names import UnknownName
from results.stores.store import StoreError
from scenarios import ScenarioError

PEAK = """
import sys, dse
from pathlib import Path
axis = lambda n: {"path": f"given.{n}", "start": 1e2, "stop": 1e4, "num": int(sys.argv[1]), "spacing": "log"}
asked = {"model": "nbody", "machine": "balanced", "given": {"bodies": 1e5, "flops_per_pair": 10},
         "sweep": {n: axis(n) for n in ("processors", "memory")}}
dse.evaluate(asked, "s.zarr", ["time", "energy"], progress=False)
print(next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmHWM")).split()[1])
"""


def asked(side: int, **more: Any) -> dict[str, Any]:
    axis = {"start": 1e2, "stop": 1e4, "num": side, "spacing": "log"}
    axes = {n: {"path": f"given.{n}", **axis} for n in ("processors", "memory")}
    given = {"bodies": 1e5, "flops_per_pair": 10}
    return {"model": "nbody", "machine": "balanced", "given": given, "sweep": axes, **more}


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of 400 points, so that small grids have many."""
    monkeypatch.setitem(results.stores.chunks.ROOM, "array", 400)


@pytest.mark.usefixtures("small_chunks")
def test_a_store_holds_what_memory_holds(tmp_path: Path):
    found = dse.evaluate(asked(50), tmp_path / "s.zarr", progress=False).load()
    assert len(results.stores.store.done(tmp_path / "s.zarr")) == 9
    here = dse.evaluate(asked(50))
    assert list(found.data_vars) == list(here.data_vars)
    for name in here:
        # pieces and whole grids may take a power by another routine: an ulp or two
        np.testing.assert_allclose(found[name].values, here[name].values, rtol=1e-14)
        assert found[name].attrs == here[name].attrs
    assert results.stores.store.verify(tmp_path / "s.zarr") == {}


@pytest.mark.usefixtures("small_chunks")
def test_only_the_metrics_asked_for_are_stored_and_only_missing_chunks_computed(tmp_path: Path):
    store = tmp_path / "s.zarr"
    names = ["energy", "time"]
    first = dse.evaluate(asked(50), store, names, progress=False).load()
    assert sorted(first.data_vars) == ["energy", "time"]
    assert not (store / "power").exists()
    results.stores.store.forget(store, (1, 1))
    told: list[tuple[int, int]] = []
    again = dse.evaluate(asked(50), store, names, progress=lambda *at: told.append(at)).load()
    assert told[0] == (2500 - 17 * 17, 2500)
    assert told[-1] == (2500, 2500)
    xr.testing.assert_identical(first, again)
    with pytest.raises(StoreError, match="belongs to another sweep"):
        dse.evaluate(asked(50), store, ["time"], progress=False)


def test_metrics_are_chosen_in_memory_too_and_unknown_ones_are_named(tmp_path: Path):
    assert list(dse.evaluate(asked(3), metrics=["power"]).data_vars) == ["power"]
    with pytest.raises(UnknownName, match="did you mean 'energy'"):
        dse.evaluate(asked(3), metrics=["enery"])
    with pytest.raises(UnknownName, match="did you mean 'energy'"):
        dse.sweep(asked(3), tmp_path / "s.zarr", metrics=["enery"])
    assert not (tmp_path / "s.zarr").exists()


def test_a_family_is_chosen_by_its_own_name(tmp_path: Path):
    question = {
        "model": "partition",
        "machine": {"cpu": "i7-2600k", "gpu": "gtx-titan-tang2017"},
        "given": {"regions": [{"name": "a", "flops": 1e9, "bytes": 1e8}], "share.a.cpu": 0.25},
        "sweep": {"flops": {"path": "given.regions.a.flops", "values": [1e8, 1e9, 1e10]}},
    }
    found = dse.evaluate(question, tmp_path / "s.zarr", ["time", "time_by_processor"], progress=False).load()
    assert found.time.dims == ("flops",)
    assert found.time_by_processor.dims == ("flops", "processor")
    assert list(found.processor.values) == ["cpu", "gpu"]
    np.testing.assert_allclose(found.time_by_processor, dse.evaluate(question).time_by_processor, rtol=1e-14)


def test_a_sweep_keeps_its_answers_beside_the_metrics_asked_for(tmp_path: Path):
    question = asked(12, limits={"time": {"max": "0.1 s"}})
    found = dse.sweep(question, tmp_path / "s.zarr", metrics=["power"], progress=False).load()
    whole = dse.sweep(question, progress=False)
    assert {"power", "status", "binding", "message"} <= set(found.data_vars)
    assert "energy" not in found
    assert set(np.unique(found.status)) == {3, 6}
    for name in found.data_vars.keys() - {"seconds"}:
        np.testing.assert_array_equal(found[name].values, whole[name].values)


def test_a_store_needs_an_axis(tmp_path: Path):
    question = asked(3)
    question["given"] |= {"processors": 10, "memory": 10}
    del question["sweep"]
    with pytest.raises(ScenarioError, match="no axis is swept"):
        dse.evaluate(question, tmp_path / "s.zarr")
    assert float(dse.evaluate(question, metrics=["time"]).time) > 0


def test_the_command_tells_ranges_and_fills_a_store(tmp_path: Path):
    file, store = tmp_path / "e.toml", tmp_path / "e.zarr"
    axes = "".join(
        f'[sweep.{n}]\npath = "given.{n}"\nstart = 1e2\nstop = 1e4\nnum = 20\n'
        for n in ("processors", "memory")
    )
    file.write_text(
        f'model = "nbody"\nmachine = "balanced"\n[given]\nbodies = 1e5\nflops_per_pair = 10\n{axes}'
    )
    shown = CliRunner().invoke(main, ["evaluate", str(file)])
    assert shown.exit_code == 0, shown.stderr
    assert "400 points (20 processors × 20 memory)" in shown.stdout
    assert "energy of the run" in shown.stdout
    ask = ["evaluate", str(file), "-o", str(store), "--metrics", "time, power", "--summary", "--json"]
    found = CliRunner().invoke(main, ask)
    assert found.exit_code == 0, found.stderr
    told = json.loads(found.stdout)
    here = dse.evaluate(file)
    assert told["points"] == 400
    assert list(told["metrics"]) == ["time", "power"]
    assert told["metrics"]["power"]["greatest"] == pytest.approx(float(here.power.max()), rel=1e-14)
    assert told["metrics"]["time"]["least"] == pytest.approx(float(here.time.min()), rel=1e-14)
    wrong = CliRunner().invoke(main, ["evaluate", str(file), "-o", "e.csv"])
    assert wrong.exit_code == 2
    assert "name it e.zarr" in wrong.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak memory of a process is read from /proc")
def test_memory_does_not_grow_with_the_grid(run: Callable[..., Any]):
    peaks = [int(run("-c", PEAK.replace("s.zarr", f"{n}.zarr"), str(n)).stdout) for n in (300, 3000)]
    # a grid a hundred times as large may take what its chunks take in each thread (1.4 times as much as a rule, more
    # where threads are kept waiting); its results alone are 144 MB, so that all of it at once would be 1.9 times
    assert peaks[1] < 1.8 * peaks[0]
    assert peaks[1] < 1_000_000, "kB"


@pytest.mark.slow
def test_control_c_says_how_to_continue(start: Any, waiting: Any, tmp_path: Path):
    (tmp_path / "e.toml").write_text(
        'model = "nbody"\nmachine = "balanced"\n[given]\nbodies = 1e5\nflops_per_pair = 10\n'
        + "".join(
            f'[sweep.{n}]\npath = "given.{n}"\nstart = 1e2\nstop = 1e4\nnum = 3000\n'
            for n in ("processors", "memory")
        )
    )
    ask = ("evaluate", "e.toml", "-o", "e.zarr", "--metrics", "time")
    store = tmp_path / "e.zarr"
    process = start(*ask, pause=0.5)
    waiting(lambda: store.exists() and len(results.stores.store.done(store)) >= 1)
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=240)
    assert process.returncode == 130, complaints
    assert "the same command continues" in complaints
    assert "Traceback" not in complaints
    kept = len(results.stores.store.done(store))
    assert 1 <= kept < 9
    again = start(*ask)
    _, complaints = again.communicate(timeout=240)
    assert again.returncode == 0, complaints
    # the first line says which way the grid goes
    assert int(complaints.splitlines()[1].split()[0]) == kept * 1_000_000
    assert results.stores.store.verify(store) == {}


def test_that_limits_are_not_looked_at_is_said_with_the_command_that_does(tmp_path: Path):
    file = tmp_path / "a question.toml"
    text = 'model = "roofline"\nmachine = "gtx-titan-choi2014"\n[given]\nflops = 1e9\nintensity = 4\n'
    file.write_text(text + '[limits]\ntime = { max = "1 ns" }\n')
    told = CliRunner().invoke(main, ["evaluate", str(file)])
    assert told.exit_code == 0
    assert told.stdout.startswith("1 point: ")
    assert "limits of the file are not looked at: dse solve '" in told.stdout
    file.write_text(text)
    assert "limits" not in CliRunner().invoke(main, ["evaluate", str(file)]).stdout
