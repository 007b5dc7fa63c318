"""Importing dse and asking for help cost nearly nothing: nothing heavy is imported."""

from collections.abc import Callable
from typing import Any

import pytest

import dse

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
