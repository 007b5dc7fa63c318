"""Table I: every printed cell beside the catalogue, and by equations (6) to (9) with fitted constants."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from dse import machines
from dse.models.platforms import dvfs_energy
from dse.papers.asking import metrics
from dse.papers.choi2016 import jetson
from dse.papers.choi2016.jetson import CLOCKS, CONSTANT, ENERGIES, MACHINE, PICO, cells, name_of
from dse.papers.choi2016.rows import answers
from dse.papers.comparer import Found


def _parameter_of_column() -> dict[str, str]:
    """Parameter of the catalogue for every column of Table I."""
    clocks = {column: parameter for column, (parameter, _) in CLOCKS.items()}
    return clocks | {column: o.energy for column, o in ENERGIES.items()} | {CONSTANT: "constant_power"}


@cache
def _settings_by_name() -> dict[str, Mapping[str, Any]]:
    return {str(s["name"]): s for s in machines.get(MACHINE).settings}


for column, parameter in _parameter_of_column().items():
    answers(f"t_{column}")(
        partial(lambda parameter, setting: _settings_by_name()[setting][parameter], parameter)
    )


def _by_equations(column: str, setting: str) -> float:
    place = [name_of(row) for row in cells()].index(setting)
    return float(jetson.costs()[column][place])


for column in (*ENERGIES, CONSTANT):
    answers(f"q_{column}")(partial(_by_equations, column))


@answers("q_nine")
def _nine(seconds: str) -> float:
    """Set (9) in one line beside the model's tables, over all settings and six phases."""
    worst, each = 0.0, float(seconds)
    circuit = jetson.circuit().constants
    machine = jetson.circuit().machine()
    for setting in machine["settings"]:
        volts = setting["core_voltage"], setting["memory_voltage"]
        for phase in jetson.example_phases():
            counts = {k: v for k, v in phase.items() if k != "name"}
            direct = dvfs_energy.energy(circuit, counts, *volts, each)
            timed = {**phase, "times": {s["name"]: each for s in machine["settings"]}}
            ours = metrics("dvfs", machine, {"phases": [timed], "setting": setting["name"]})["energy"]
            worst = max(worst, abs(ours / direct - 1.0))
    return worst


@answers("q_nonnegative")
def _nonnegative() -> Found:
    constants = jetson.circuit().constants
    capacitances = [constants[o.capacitance] / PICO for o in ENERGIES.values()]
    told: dict[str, object] = {"capacitances": ", ".join(f"{c:.6g} pJ/V²" for c in capacitances)}
    told |= zip(("core", "memory", "misc"), (constants[q.name] for q in dvfs_energy.LEAKAGE), strict=True)
    return Found(min(constants.values()) >= 0.0, told=told)


@answers("q_nonnegative:sign")
def _sign_of_fit() -> Found:
    free = np.linalg.lstsq(jetson.leakage_matrix(), jetson.column(CONSTANT), rcond=None)[0]
    held = jetson.circuit().constants[dvfs_energy.LEAKAGE[2].name]
    return Found(bool(free[2] < 0.0 and held == 0.0), told={"misc": free[2]})


def _error(column: str) -> float:
    """Return the largest error of a column of Table I by a circuit fitted to the training settings."""
    return float(np.abs(jetson.costs("T")[column] - jetson.column(column)).max())


@answers("q_training")
def _trained(digit: str) -> Found:
    error = max(map(_error, ENERGIES))
    return Found(error <= float(digit), told={"error": error})


@answers("q_training:power")
def _trained_power(digit: str) -> Found:
    error = _error(CONSTANT)
    return Found(error <= float(digit), told={"error": error})


@answers("p_fma")
def _multiply_adds() -> Found:
    single = machines.get(MACHINE).parameters["flops_per_cycle"]
    return Found(single, told={"rate": single * max(jetson.column("core_MHz")) / 1e3})


@answers("p_double")
def _double(part: str) -> Found:
    parameters = machines.get(MACHINE).parameters
    ours = parameters["flops_double_per_cycle"] / parameters["flops_per_cycle"]
    return Found(ours, 1.0 / float(part))


answers("p_choice")(lambda core, memory: float(core) * float(memory))
answers("p_sixteen")(lambda: len(_settings_by_name()))


@answers("p_sixteen:training")
def _training() -> Found:
    printed = [row["type"] for row in cells()].count("T")
    return Found(sum(s["role"] == "training" for s in _settings_by_name().values()), printed)
