"""The Jetson TK1: what the paper prints, the circuit that Table I follows from, and our model on both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

import scenarios
import scenarios.questions
from dse import machines
from dse.fitting.behaviours.nonnegative import nonnegative_least_squares
from dse.models.platforms.dvfs_energy import LEAKAGE, OPERATIONS
from dse.papers.asking import metrics
from dse.papers.sources import table
from dse.system.arrays import Array
from dse.system.records import dataclass
from formulations import evaluation

PAPER = "choi2016"
MACHINE = "jetson-tk1-choi2016"
# clocks of Table I in the catalogue's words, and what a printed number is multiplied by
CLOCKS = {
    "core_MHz": ("core_frequency", 1e6),
    "core_mV": ("core_voltage", 1e-3),
    "mem_MHz": ("memory_frequency", 1e6),
    "mem_mV": ("memory_voltage", 1e-3),
}
# costs of Table I in the order of the model's kinds of operations
ENERGIES = dict(
    zip(
        (
            "eps_SP_pJ",
            "eps_DP_pJ",
            "eps_int_pJ",
            "eps_SM_pJ_per_byte",
            "eps_L2_pJ_per_byte",
            "eps_mem_pJ_per_byte",
        ),
        OPERATIONS,
        strict=True,
    )
)
CONSTANT = "const_power_W"
PICO = 1e-12
# operations of one kind, so many that their energy shows beside the constant power
MANY_OPERATIONS = 1e12


@cache
def cells() -> tuple[Mapping[str, str], ...]:
    """Table I as printed, one mapping per setting."""
    return tuple(table("choi2016/table1"))


def column(name: str) -> Array:
    """Return a column of Table I as printed."""
    return np.array([float(row[name]) for row in cells()])


def name_of(row: Mapping[str, str]) -> str:
    """Return the catalogue's name of a setting: clocks of core and memory in MHz."""
    return f"{row['core_MHz']}-{row['mem_MHz']}"


@dataclass(frozen=True, slots=True)
class Circuit:
    """Constants of (6) to (8) fitted to rows of Table I; by the names of machine parameters, SI."""

    constants: Mapping[str, float]

    def machine(self) -> dict[str, Any]:
        """Return a machine that states voltages only, so that all costs follow from the circuit."""
        settings = [
            {"name": name_of(row)}
            | {CLOCKS[c][0]: float(row[c]) * CLOCKS[c][1] for c in ("core_mV", "mem_mV")}
            for row in cells()
        ]
        return {**self.constants, "settings": settings}


def leakage_matrix() -> Array:
    """Return the unknowns of (8) by row of Table I: voltage of the core, of the memory, and 1."""
    volts = [column("core_mV") * 1e-3, column("mem_mV") * 1e-3, np.ones(len(cells()))]
    return np.column_stack(volts)


@cache
def circuit(rows: str = "TV") -> Circuit:
    """Fit (6) to (8) to the rows of those types by non-negative least squares, each kind of cost by itself."""
    chosen = [row["type"] in rows for row in cells()]
    volts = leakage_matrix()[chosen]
    constants = {}
    for printed, operation in ENERGIES.items():
        square = volts[:, [1 if operation.memory else 0]] ** 2
        fitted = nonnegative_least_squares(square, column(printed)[chosen] * PICO)
        constants[operation.capacitance] = float(fitted[0])
    leaks = nonnegative_least_squares(volts, column(CONSTANT)[chosen])
    constants |= {q.name: float(c) for q, c in zip(LEAKAGE, leaks, strict=True)}
    return Circuit(constants)


@cache
def costs(rows: str = "TV") -> Mapping[str, Array]:
    """Return Table I by the model on that circuit: a phase of each kind for one second, and one that idles."""
    machine = circuit(rows).machine()
    names = [s["name"] for s in machine["settings"]]
    second = dict.fromkeys(names, 1.0)
    phases: list[dict[str, Any]] = [{"name": "idle", "times": second}]
    phases += [{"name": o.count, o.count: MANY_OPERATIONS, "times": second} for o in OPERATIONS]
    found = [metrics("dvfs", machine, {"phases": phases, "setting": name}) for name in names]
    idle = np.array([f["energy.idle"] for f in found])
    each = {
        printed: np.array([f[f"energy.{o.count}"] for f in found]) - idle for printed, o in ENERGIES.items()
    }
    return {printed: energy / MANY_OPERATIONS / PICO for printed, energy in each.items()} | {CONSTANT: idle}


def slowed(utilisation: float) -> dict[str, Any]:
    """Return the machine at that fraction of its rates per cycle."""
    rates = {
        k: v * utilisation for k, v in machines.get(MACHINE).parameters.items() if k.endswith("_per_cycle")
    }
    return {"base": MACHINE, **rates}


def settings_of(
    phases: Sequence[Mapping[str, Any]], machine: Any = MACHINE, **counts: Array
) -> Mapping[str, Any]:
    """Every metric of the phases at each of the sixteen settings, the same for all phases, as arrays.

    ``counts``: many amounts of an operation for the first phase; they make rows, settings the columns.
    """
    asked = {"model": "dvfs", "machine": machine, "given": {"phases": list(phases), "setting": 1}}
    question = scenarios.questions.question(scenarios.load(asked))
    many: dict[str, Any] = {**question.given, "setting": np.arange(1, len(cells()) + 1)}
    many |= {f"phases.{phases[0]['name']}.{name}": amount[:, np.newaxis] for name, amount in counts.items()}
    return evaluation.metrics(replace(question, given=many), {})


@cache
def example_phases() -> tuple[Mapping[str, Any], ...]:
    """Six phases of our own making, of the kinds that the paper tells of its multipole phases."""
    numbers = ("flops", "flops_double", "integer_operations", "bytes")
    return tuple(
        {"name": row["name"], **{n: float(row[n]) for n in numbers}}
        for row in table("choi2016/example_phases")
    )
