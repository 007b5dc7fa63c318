"""The models as a plain library: nothing above is loaded, defaults are filled in, arrays go through whole."""

import subprocess
import sys

import numpy as np
import pytest

from dse import machines, models

TITAN = {f"machine.{n}": v for n, v in machines.get("gtx-titan-choi2014").parameters.items()}
ALONE = """
import sys
from dse import machines, models
own = {f"machine.{n}": v for n, v in machines.get("jaketown").parameters.items()}
step = {"bodies": 1e5, "flops_per_pair": 10.0, "processors": 100.0, "memory": 1e4}
assert models.evaluate("nbody", step | own)["time"] > 0
above = {"scenarios", "formulations", "solvers", "results", "pint", "pyomo", "xarray", "scipy"}
print(sorted(n for n in sys.modules if n.partition(".")[0] in above))
print(sorted(n for n in sys.modules if n.startswith("dse.") and n.split(".")[1] in {"api", "cli", "sweeps", "fronts"}))
"""


def test_nothing_above_the_models_is_loaded():
    run = subprocess.run([sys.executable, "-c", ALONE], check=True, capture_output=True, text=True)
    assert run.stdout.split("\n")[:2] == ["[]", "[]"]


def test_arrays_of_any_shape_broadcast_and_are_what_floats_are():
    work, intensity = np.array([[1e12], [2e12]]), np.array([0.25, 4.0, 64.0])
    found = models.evaluate("roofline", {"flops": work, "intensity": intensity} | TITAN)
    assert found["energy"].shape == (2, 3)
    alone = models.evaluate(models.get("roofline"), {"flops": 2e12, "intensity": 4.0} | TITAN)
    assert found["energy"][1, 1] == alone["energy"]
    # Choi et al. 2014, eqs. (1) and (3), by hand
    flop, byte = TITAN["machine.time_per_flop"], TITAN["machine.time_per_byte"]
    energy = 2e12 * TITAN["machine.energy_per_flop"] + 5e11 * TITAN["machine.energy_per_byte"]
    time = max(2e12 * flop, 5e11 * byte, energy / TITAN["machine.usable_power"])
    assert alone["time"] == pytest.approx(time, rel=1e-12)
    assert alone["energy"] == pytest.approx(energy + TITAN["machine.constant_power"] * time, rel=1e-12)


def test_defaults_are_filled_in():
    """Strassen's exponent is the binary logarithm of 7, and the roofline reads single precision from memory."""
    own = {f"machine.{n}": v for n, v in machines.get("jaketown").parameters.items()}
    product = {"order": 1e4, "processors": 49.0, "memory": 1e7} | own
    stated = models.evaluate("strassen", product | {"exponent": np.log2(7.0)})
    assert models.evaluate("strassen", product)["energy"] == pytest.approx(stated["energy"], rel=1e-12)
    assert models.evaluate("strassen", product | {"exponent": 3.0})["energy"] > stated["energy"]


def test_what_is_missing_is_named():
    with pytest.raises(ValueError, match=r"roofline needs flops: .*, in flop"):
        models.evaluate("roofline", {"intensity": 4.0} | TITAN)
    bare = {"flops": 1e12, "intensity": 4.0}
    with pytest.raises(ValueError, match=r"roofline needs machine\.time_per_flop: "):
        models.evaluate("roofline", bare)
    with pytest.raises(models.UnknownName, match="did you mean 'roofline'"):
        models.evaluate("rooflin", bare)
