"""Table I: every printed cell beside the catalogue, and by equations (6) to (9) with fitted constants."""

from __future__ import annotations

import numpy as np

from dse import machines
from dse.models.platforms import dvfs_energy
from dse.papers.asking import metrics
from dse.papers.choi2016 import jetson
from dse.papers.choi2016.jetson import CLOCKS, CONSTANT, ENERGIES, MACHINE, PICO, cells, name_of
from dse.papers.choi2016.rows import holds, says
from dse.papers.report import Row

SAME = 1e-12
# half a printed digit, 0.05 pJ and 0.05 W, and a hair: the fit itself is to rounded numbers
CLOSE = 0.07
# one unit of the last printed digit
DIGIT = 0.1


def rows() -> list[Row]:
    """Every cell, every cell by the equations, and what the text says of them."""
    return [*_cells(), *_by_equations(), _nine(), *_fit(), *_text()]


def _cells() -> list[Row]:
    held = {str(s["name"]): s for s in machines.get(MACHINE).settings}
    columns = CLOCKS | {c: (o.energy, PICO, f"J/{o.unit}") for c, o in ENERGIES.items()}
    columns |= {CONSTANT: ("constant_power", 1.0, "W")}
    return [
        Row(
            says(f"t_{column}"),
            name_of(row),
            float(row[column]) * factor,
            held[name_of(row)][parameter],
            unit,
            tolerance=SAME,
        )
        for column, (parameter, factor, unit) in columns.items()
        for row in cells()
    ]


def _by_equations() -> list[Row]:
    found = []
    for column, ours in jetson.costs().items():
        unit = "W" if column == CONSTANT else "pJ"
        for row, value in zip(cells(), ours, strict=True):
            paper = float(row[column])
            found.append(
                Row(says(f"q_{column}"), name_of(row), paper, float(value), unit, tolerance=CLOSE / paper)
            )
    return found


def _nine() -> Row:
    """Set (9) in one line beside the model's tables, over all settings and six phases."""
    worst = 0.0
    circuit = jetson.circuit().constants
    machine = jetson.circuit().machine()
    for setting in machine["settings"]:
        volts = setting["core_voltage"], setting["memory_voltage"]
        for phase in jetson.example_phases():
            counts = {k: v for k, v in phase.items() if k != "name"}
            direct = dvfs_energy.energy(circuit, counts, *volts, 2.5)
            timed = {**phase, "times": {s["name"]: 2.5 for s in machine["settings"]}}
            ours = metrics("dvfs", machine, {"phases": [timed], "setting": setting["name"]})["energy"]
            worst = max(worst, abs(ours / direct - 1.0))
    item = "largest relative difference, 16 settings, six phases of 2.5 s"
    return Row(says("q_nine"), item, 0.0, worst, tolerance=SAME)


def _fit() -> list[Row]:
    constants = jetson.circuit().constants
    free = np.linalg.lstsq(jetson.leakage_matrix(), jetson.column(CONSTANT), rcond=None)[0]
    told = ", ".join(f"{c:.6g} pJ/V²" for c in [constants[o.capacitance] / PICO for o in ENERGIES.values()])
    leaks = [constants[q.name] for q in dvfs_energy.LEAKAGE]
    other = jetson.costs("T")
    errors = {c: float(np.abs(other[c] - jetson.column(c)).max()) for c in other}
    power = errors.pop(CONSTANT)
    return [
        holds(
            "q_nonnegative",
            "no constant fitted to Table I is negative",
            ours=min(constants.values()) >= 0.0,
            remark=f"ĉ0 {told}; c1 {leaks[0]:.6g} and {leaks[1]:.6g} W/V; P_misc {leaks[2]:.3g} W",
        ),
        holds(
            "q_nonnegative",
            "and the sign matters: without it P_misc would be negative",
            ours=bool(free[2] < 0.0 and leaks[2] == 0.0),
            remark=f"plain least squares gives {free[2]:.3f} W",
        ),
        holds(
            "q_training",
            "energies of all rows to one unit of the last digit, 0.1 pJ",
            ours=max(errors.values()) <= DIGIT,
            remark=f"largest error {max(errors.values()):.3f} pJ",
        ),
        holds(
            "q_training",
            "constant power of all rows to one unit of the last digit, 0.1 W",
            ours=power <= DIGIT,
            remark=f"largest error {power:.3f} W",
        ),
    ]


def _text() -> list[Row]:
    parameters = machines.get(MACHINE).parameters
    kinds = [row["type"] for row in cells()]
    single, double = parameters["flops_per_cycle"], parameters["flops_double_per_cycle"]
    clock = max(jetson.column("core_MHz")) * 1e6
    return [
        Row(
            says("p_fma"),
            "flops per cycle",
            2.0 * 192,
            single,
            "flop",
            remark=f"{single * clock / 1e9:.0f} Gflop/s at 852 MHz",
        ),
        Row(says("p_double"), "double to single precision", 1 / 24, double / single),
        Row(says("p_choice"), "", 105.0, 15.0 * 7.0, remark="Table I has 7 and 4 of these clocks"),
        Row(says("p_sixteen"), "settings of the catalogue", 16.0, float(len(machines.get(MACHINE).settings))),
        Row(says("p_sixteen"), "of these for training", float(kinds.count("T")), _training()),
    ]


def _training() -> float:
    return float(sum(s["role"] == "training" for s in machines.get(MACHINE).settings))
