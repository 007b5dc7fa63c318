"""Importing dse and asking for help cost nearly nothing: nothing heavy is imported."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dse
from results.stores.store import StoreError

HEAVY = "numpy pandas xarray pint pydantic pyomo zarr dask distributed scipy matplotlib rich highspy optuna"


@pytest.mark.parametrize(
    "statement",
    [
        "import dse; dir(dse)",
        "import dse.cli",
        "from dse.cli import main; main(['--help'], standalone_mode=False)",
    ],
)
def test_nothing_heavy_is_imported(run: Callable[..., Any], statement: str):
    show = f"print('loaded:', sorted(set('{HEAVY}'.split()) & set(sys.modules)))"
    found = run("-c", f"import sys; {statement}; {show}")
    assert found.stdout.endswith("loaded: []\n"), found.stdout + found.stderr


def test_every_promised_name_is_there():
    for name in ("load", "Scenario", "solve", "sweep", "front", "evaluate", "fit", "open", "register"):
        assert callable(getattr(dse, name))
        assert name in dir(dse)
    assert "nbody" in dse.models.names()
    assert "jaketown" in dse.machines.names()
    assert isinstance(dse.__version__, str)


def test_what_is_listed_is_what_there_is_to_call():
    assert {n for n in dir(dse) if not n.startswith("__")} == {n for n in dse.__all__ if n[0] != "_"}
    assert all(getattr(dse, name) is not None for name in dse.__all__)
    assert not {"TYPE_CHECKING", "annotations"} & {*dir(dse)}


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (lambda: dse.solve("nbody_deadline", solver="scip", seconds=-1), "seconds is -1; it may be a time"),
        (
            lambda: dse.solve("nbody_deadline", seconds=-1),
            "seconds is -1; it may be a time in seconds, above 0",
        ),
        (lambda: dse.front("nbody_energy_time_front", seconds=float("nan")), "seconds is nan"),
        (
            lambda: dse.sweep("nbody_deadline_sweep", workers=-1),
            "workers is -1; it may be a whole number from 1",
        ),
        (lambda: dse.sweep("nbody_deadline_sweep", workers="2"), "workers is '2'; it may be a whole number"),
        (lambda: dse.sweep("nbody_deadline_sweep", 3), "store is 3; it may be a path"),
        (lambda: dse.sweep("nbody_deadline_sweep", audit=True), "audit is True"),
        (lambda: dse.sweep("nbody_deadline_sweep", metrics="time"), "it may be a list of names: ['time']"),
        (lambda: dse.open(3), "store is 3"),
        (lambda: dse.open(None), 'store is None; it may be a path, such as "study.zarr"'),
        (lambda: dse.status(None), "store is None"),
        (lambda: dse.verify(store=None), "store is None"),
        (lambda: dse.export("nbody_deadline", None), "path is None"),
        (
            lambda: dse.sweep("nbody_deadline_sweep", client="tcp://a:1"),
            "client is 'tcp://a:1'; it may be a Dask client",
        ),
        (lambda: dse.evaluate("nbody_deadline_sweep", client=3), "client is 3; it may be a Dask client"),
        (lambda: dse.compare("nbody_deadline", machines="balanced"), "list of names: ['balanced']"),
        (lambda: dse.diff("nbody_deadline", "nbody_deadline", float("nan")), "tolerance is nan"),
        (lambda: dse.load("nbody_deadline", machine=3), "machine is 3; it may be a name"),
    ],
)
def test_an_argument_that_cannot_be_meant_is_refused_by_its_name(asked: Callable[[], Any], told: str):
    with pytest.raises((TypeError, ValueError)) as found:
        asked()
    assert told in str(found.value)


@pytest.mark.parametrize("name", ["a.csv", "a.html", "a.HTM"])
@pytest.mark.parametrize("fill", [dse.sweep, dse.evaluate])
def test_a_store_with_the_name_of_a_file_is_refused(fill: Callable[..., Any], name: str, tmp_path: Path):
    with pytest.raises(StoreError, match=r"this fills a Zarr store \(a folder\): name it a\.zarr"):
        fill("nbody_deadline_sweep", tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_calling_a_verb_does_not_turn_its_name_into_a_module():
    scenario = dse.load("nbody_energy_time_front")
    dse.front(scenario, points=2)
    dse.evaluate({"model": "nbody", "machine": "balanced", "given": GIVEN})
    assert callable(dse.front)
    assert callable(dse.evaluate)
    assert callable(dse.sweep)


GIVEN = {"bodies": 1e5, "flops_per_pair": 10, "processors": 1000, "memory": 1000}


def test_an_unknown_attribute_says_what_there_is():
    with pytest.raises(AttributeError, match=r"no attribute 'slove'; it has .*solve"):
        _ = dse.slove


def test_a_geometric_program_needs_few_libraries() -> None:
    """A question that is a geometric program is answered and shown without the libraries of the other classes."""
    heavy = ("pint", "pyomo", "highspy", "scipy", "xarray", "numba", "pandas", "pydantic", "optuna")
    code = (
        "import sys, dse\n"
        "print(dse.solve(dse.load('nbody_deadline')).status)\n"
        f"print([m for m in {heavy} if m in sys.modules])\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[:2] == ["optimal", "[]"]


def test_an_answer_does_not_load_the_models_that_it_does_not_use() -> None:
    """Nor the commands, the ways of other classes, and what installed packages offer."""
    theirs = (
        "dse.models.exabounds",
        "dse.models.partitions.partition",
        "dse.commands.sweep_command",
        "results.stores.store",
        "solvers.linear.milp",
        "solvers.nonlinear.interval",
        "importlib.metadata",
    )
    code = (
        "import sys\n"
        "from dse.cli import main\n"
        "try:\n"
        "    main(['solve', 'nbody_deadline', '--json'])\n"
        "finally:\n"
        f"    print([m for m in {theirs} if m in sys.modules])\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.rstrip().endswith("[]"), found.stdout[-300:]
