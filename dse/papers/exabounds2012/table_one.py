"""Table 1 and Figure 1: processors for 1e18 operations per second, their price and yearly cost of energy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from dse.papers.comparer import Found
from dse.papers.exabounds2012.rows import answers
from dse.papers.exabounds2012.systems import (
    IDLE,
    PEAK,
    SCALE,
    catalogue,
    cell,
    exa,
    idle_cell,
    processors,
)
from dse.papers.sources import rounding

KINDS = {"dpflop": "DP-FLOP", "intop": "INT-OP"}
Points = Mapping[str, tuple[float, float]]


@answers("t1_cells")
def _energy_per_integer_op(machine: str) -> float:
    return catalogue(machine)["energy_per_integer_operation"]


@answers("t1_cells:idle")
def _idle_energy_per_integer_op(machine: str) -> float:
    # the catalogue keeps it per operation per second
    return catalogue(machine)["idle_energy_per_integer_operation"] * SCALE


@answers("t1_cells:cost")
def _cost_per_integer_rate(machine: str) -> float:
    return catalogue(machine)["cost_per_integer_rate"] * SCALE


@answers("t1_omap")
def _idle_of_omap(machine: str, short: str) -> Found:
    return Found(_idle_energy_per_integer_op(machine), corrected=float(idle_cell(short, "intop")))


@answers("t1_power")
def _peak(short: str) -> Found:
    """Peak, idle power and price of the floating-point columns, as the model has them of such a system."""
    return Found(exa(short, "dpflop")["power"], float(cell(short, "dpflop", "energy")) * SCALE)


answers("t1_power:idle")(lambda short: exa(short, "dpflop")["idle_power"])
answers("t1_power:price")(lambda short: exa(short, "dpflop")["cost_hardware"])


def _integer_over_floating(short: str, metric: str) -> float:
    """Integer over floating point, by the model."""
    return exa(short, "intop")[metric] / exa(short, "dpflop")[metric]


def _slack(short: str) -> float:
    """Return what the rounding of the four cells that two ratios come from explains."""
    return 1.3 * sum(rounding(cell(short, kind, column)) for kind in KINDS for column in ("energy", "idle"))


@answers("t1_ratio")
def _ratios(short: str) -> Found:
    return Found(
        _integer_over_floating(short, "idle_power"),
        _integer_over_floating(short, "power"),
        tolerance=_slack(short),
    )


@answers("t1_omap:ratio")
def _ratio_of_omap(short: str) -> Found:
    as_printed = float(cell(short, "intop", "idle")) / float(cell(short, "dpflop", "idle"))
    ours, right = _integer_over_floating(short, "idle_power"), _integer_over_floating(short, "power")
    return Found(ours, as_printed, corrected=right, tolerance=_slack(short))


@answers("t1_eopex", "t1_eopex:int")
def _energy_cost(short: str, kind: str, hours: str) -> Found:
    """The cells as the caption says."""
    idle, energy = float(idle_cell(short, kind)), float(cell(short, kind, "energy"))
    kilowatts = (PEAK * energy * SCALE + IDLE * idle) / 1e3
    whole = kilowatts * float(hours) * answers.printed("kpwr")
    times = whole / float(cell(short, kind, "eopex"))
    return Found(exa(short, kind)["cost_energy"], corrected=whole, told={"times": times})


@answers("t1_idle", "t1_idle:int")
def _idle_cost(short: str, kind: str) -> Found:
    """The cells as they were computed. The worst of the twenty is PXA32x: 36.8 where 39 is printed."""
    remark = "idle power 240 kW" if (short, kind) == ("OMP", "intop") else ""
    return Found(exa(short, kind, 0.0)["cost_energy"], remark=remark)


def points(kind: str, peak: float) -> Points:
    """Return price and yearly cost of energy, USD, of the processors that have a price, by the model."""
    priced = [short for short in processors() if cell(short, kind, "cost")]
    return {s: (exa(s, kind, peak)["cost_hardware"], exa(s, kind, peak)["cost_energy"]) for s in priced}


def frontier(found: Points) -> tuple[str, ...]:
    """Return who is not beaten in both costs, by rising price."""
    best = [
        name
        for name, (price, energy) in found.items()
        if not any(
            other != name and p <= price and e <= energy and (p, e) != (price, energy)
            for other, (p, e) in found.items()
        )
    ]
    return tuple(sorted(best, key=lambda name: found[name][0]))


def stairs(found: Points) -> tuple[str, ...]:
    """Return the same by another way: down the stairs of energy cost as the price rises."""
    steps: list[str] = []
    for name in sorted(found, key=lambda n: found[n]):
        if not steps or found[name][1] < found[steps[-1]][1]:
            steps.append(name)
    return tuple(steps)


def _frontier(peak: float, kind: str) -> Found:
    """The frontier by the model, and by the cells of the table (``peak`` 0) or what they should be."""
    found = points(kind, peak)
    cells = {s: (float(cell(s, kind, "cost")), float(cell(s, kind, "eopex"))) for s in found}
    if peak:
        cells = {
            s: (price, peak * float(cell(s, kind, "energy")) * SCALE + IDLE * float(idle_cell(s, kind)))
            for s, (price, _) in cells.items()
        }
    return Found(", ".join(frontier(found)), corrected=", ".join(stairs(cells)))


answers("f1_print", "f1_print:int")(partial(_frontier, 0.0))
answers("f1_full", "f1_full:int")(partial(_frontier, PEAK))
