"""Table 1 and Figure 1: processors for 1e18 operations per second, their price and yearly cost of energy."""

from __future__ import annotations

from collections.abc import Mapping

from dse.papers.exabounds2012.rows import derived, printed
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
from dse.papers.report import Row
from dse.papers.sources import rounding

KINDS = {"dpflop": "DP-FLOP", "intop": "INT-OP"}
MACHINES = {
    "MSP": "msp430f2274",
    "PXA": "pxa32x",
    "SM7": "at91sam7s16",
    "C55": "tms320c5515",
    "SM9": "at91sam9m10",
    "MX5": "imx515",
    "ATM": "atom-n450",
    "OMP": "omap3503",
    "BGL": "bluegene-l",
    "PEN": "poweren",
}
# the catalogue's parameter of every integer column, which it keeps per operation per second
COLUMNS = {
    "energy": ("energy_per_integer_operation", 1.0, "J"),
    "idle": ("idle_energy_per_integer_operation", SCALE, "W"),
    "cost": ("cost_per_integer_rate", SCALE, "USD"),
}
HOURS, USD_PER_KWH = 8760, 0.15
# worst of the twenty cells, PXA32x: 36.8 where 39 is printed
WORST = 0.06
Points = Mapping[str, tuple[float, float]]


def rows() -> list[Row]:
    """Every cell of Table 1, both readings of its energy cost, and the frontier of Figure 1."""
    return [*_cells(), *_systems(), *_ratios(), *_energy_cost(), *_frontier()]


def _cells() -> list[Row]:
    found = []
    for short, machine in MACHINES.items():
        for column, (name, scale, unit) in COLUMNS.items():
            text = cell(short, "intop", column)
            if not text:
                continue
            ours, item = catalogue(machine)[name] * scale, f"{processors()[short]['processor']}, {column}"
            if text == (idle_cell(short, "intop") if column == "idle" else text):
                found.append(printed("t1_cells", item, text, ours, unit))
            else:
                right = float(idle_cell(short, "intop"))
                found.append(derived("t1_omap", item, float(text), ours, unit, corrected=right))
    return found


def _systems() -> list[Row]:
    """Peak, idle power and price of the floating-point columns, as the model has them of such a system."""
    found = []
    for short, row in processors().items():
        ours, name = exa(short, "dpflop"), row["processor"]
        peak = float(cell(short, "dpflop", "energy")) * SCALE
        found.append(derived("t1_power", f"{name}, at peak", peak, ours["power"], "W"))
        found.append(
            printed("t1_power", f"{name}, idle", cell(short, "dpflop", "idle"), ours["idle_power"], "W")
        )
        cost = cell(short, "dpflop", "cost")
        if cost:
            found.append(printed("t1_power", f"{name}, price", cost, ours["cost_hardware"], "USD"))
    return found


def _ratios() -> list[Row]:
    found = []
    for short, row in processors().items():
        of_all = [cell(short, kind, column) for kind in KINDS for column in ("energy", "idle")]
        ours = exa(short, "intop")["idle_power"] / exa(short, "dpflop")["idle_power"]
        expected = exa(short, "intop")["power"] / exa(short, "dpflop")["power"]
        as_printed = float(cell(short, "intop", "idle")) / float(cell(short, "dpflop", "idle"))
        # the rounding of the four cells that the two ratios come from
        slack = 1.3 * sum(rounding(text) for text in of_all)
        item = f"{row['processor']}, integer over floating point"
        if cell(short, "intop", "idle") == idle_cell(short, "intop"):
            found.append(
                derived("t1_ratio", item, expected, ours, tolerance=slack, remark="paper: of the energies")
            )
        else:
            found.append(derived("t1_omap", item, as_printed, ours, corrected=expected, tolerance=slack))
    return found


def _energy_cost() -> list[Row]:
    """Both readings of the twenty cells: as the caption says, and as they were computed."""
    found = []
    for kind, what in KINDS.items():
        for short, row in processors().items():
            text, item = cell(short, kind, "eopex"), f"{row['processor']}, {what}"
            idle, energy = float(idle_cell(short, kind)), float(cell(short, kind, "energy"))
            whole = (PEAK * energy * SCALE + IDLE * idle) / 1e3 * HOURS * USD_PER_KWH
            remark = f"{whole / float(text):.3g} times the print"
            found.append(
                derived(
                    "t1_eopex",
                    item,
                    float(text),
                    exa(short, kind)["cost_energy"],
                    "USD",
                    corrected=whole,
                    remark=remark,
                )
            )
            ours = exa(short, kind, 0.0)["cost_energy"]
            remark = "idle power 240 kW" if (short, kind) == ("OMP", "intop") else ""
            found.append(derived("t1_idle", item, float(text), ours, "USD", tolerance=WORST, remark=remark))
    return found


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


def _frontier() -> list[Row]:
    found = []
    for kind, what in KINDS.items():
        said = {"MX5", "OMP"}
        as_printed = {
            s: (float(cell(s, kind, "cost")), float(cell(s, kind, "eopex"))) for s in points(kind, PEAK)
        }
        true = {
            s: (price, PEAK * float(cell(s, kind, "energy")) * SCALE + IDLE * float(idle_cell(s, kind)))
            for s, (price, _) in as_printed.items()
        }
        for statement, peak, cells in (("f1_print", 0.0, as_printed), ("f1_full", PEAK, true)):
            ours, right = frontier(points(kind, peak)), stairs(cells)
            found.append(
                derived(statement, what, ", ".join(sorted(said)), ", ".join(ours), corrected=", ".join(right))
            )
    return found
