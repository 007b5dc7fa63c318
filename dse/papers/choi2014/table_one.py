"""Table I: every printed cell beside the machine catalogue, and what follows from it by the paper's formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial

from dse import machines
from dse.papers.choi2014.formulas import Platform
from dse.papers.choi2014.platforms import cells, compute, label, machine, run, stream, uncapped
from dse.papers.choi2014.rows import answers
from dse.papers.comparer import Found

# column of the table: parameter of the catalogue; a rate is the reciprocal of a time
COLUMNS = {
    "pi1_W": "constant_power",
    "delta_pi_W": "usable_power",
    "eps_single_J_per_flop": "energy_per_flop",
    "sust_single_flop_per_s": "time_per_flop",
    "eps_double_J_per_flop": "energy_per_flop_double",
    "sust_double_flop_per_s": "time_per_flop_double",
    "eps_mem_J_per_byte": "energy_per_byte",
    "sust_mem_B_per_s": "time_per_byte",
    "eps_L1_J_per_byte": "energy_per_byte_L1",
    "sust_L1_B_per_s": "time_per_byte_L1",
    "eps_L2_J_per_byte": "energy_per_byte_L2",
    "sust_L2_B_per_s": "time_per_byte_L2",
    "eps_rand_J_per_access": "energy_per_access",
    "sust_rand_access_per_s": "time_per_access",
}
PEAKS = {
    "sust_single_flop_per_s": "vendor_peak_single_flop_per_s",
    "sust_double_flop_per_s": "vendor_peak_double_flop_per_s",
    "sust_mem_B_per_s": "vendor_mem_B_per_s",
}
# the catalogue keeps times, the table rates: one rounding of floating-point numbers each way
SAME = 1e-14


def _table_cell(column: str, parameter: str, name: str, unsure_cells: str) -> Found:
    held = machines.get(machine(name)).parameters[parameter]
    doubt = "doubtful cell" if column in unsure_cells else ""
    return Found(1.0 / held if parameter.startswith("time_") else held, remark=doubt)


for printed, parameter in COLUMNS.items():
    answers(f"t_{printed}")(partial(_table_cell, printed, parameter))


@answers("t_empty")
def _empty() -> Found:
    empty = [(p, name) for p, row in cells().items() for c, name in COLUMNS.items() if not row[c]]
    absent = [name not in machines.get(machine(p)).parameters for p, name in empty]
    return Found(all(absent), told={"count": len(empty)})


def _below_idle() -> list[str]:
    return [p for p, row in cells().items() if float(row["pi1_W"]) < float(row["idle_W"])]


answers("t_idle")(lambda: len(_below_idle()))


@answers("t_idle:same")
def _marked() -> Found:
    marked = [p for p, row in cells().items() if row["idle_asterisk"] == "1"]
    return Found(_below_idle() == marked, told={"names": ", ".join(map(label, marked))})


@answers("t_sustained")
def _sustained() -> Found:
    pairs = [
        (1.0 / machines.get(machine(p)).parameters[COLUMNS[sustained]], float(row[peak]))
        for p, row in cells().items()
        for sustained, peak in PEAKS.items()
        if row[sustained] and row[peak]
    ]
    held = all(rate <= peak * (1 + SAME) for rate, peak in pairs)
    return Found(held, told={"count": len(pairs)})


# runs of a platform: at one flop per byte, of flops alone or bytes alone, with and without its cap
RUNS: dict[str, Callable[[str], Mapping[str, float]]] = {
    "one": lambda name: run(name, intensity=1.0),
    "flops": lambda name: compute(uncapped(name)),
    "bytes": lambda name: stream(uncapped(name)),
    "peak": compute,
    "streamed": stream,
}


@cache
def _catalogue_run(name: str, kind: str) -> Mapping[str, float]:
    return RUNS[kind](name)


def _each(kind: str, metric: str, over: tuple[str, ...] = ()) -> Callable[[str], float]:
    """Return a metric of a platform, divided by others."""

    def found(name: str) -> float:
        at = _catalogue_run(name, kind)
        value = at[metric]
        for divisor in over:
            value /= at[divisor]
        return value

    return found


DERIVED: dict[str, tuple[Callable[[Platform], float], Callable[[str], float]]] = {
    "d_pi_flop": (lambda p: p.pi_flop, _each("flops", "energy_flop", ("time",))),
    "d_pi_mem": (lambda p: p.pi_mem, _each("bytes", "energy_data", ("time",))),
    "d_B_tau": (lambda p: p.B_tau, _each("one", "balance")),
    "d_B_eps": (lambda p: p.B_eps, _each("one", "energy_balance")),
    "d_B_minus": (lambda p: p.B_minus, _each("one", "balance_low")),
    "d_B_plus": (lambda p: p.B_plus_printed, _each("one", "balance_high")),
    "d_peak_power": (lambda p: p.pi_1 + p.delta_pi, _each("one", "peak_power")),
    "d_flop_per_J": (lambda p: p.flop_per_joule, _each("peak", "efficiency")),
    "d_J_per_byte": (lambda p: p.joule_per_byte, _each("streamed", "energy", ("bandwidth", "time"))),
    "d_fraction": (
        lambda p: p.pi_1 / (p.pi_1 + p.delta_pi),
        _each("one", "energy_constant", ("time", "peak_power")),
    ),
}


def _derived(line: str, name: str, p: Platform) -> Found:
    formula, ours = DERIVED[line]
    printed = formula(p)
    corrected = p.B_plus if line == "d_B_plus" and p.B_plus != printed else None
    return Found(ours(name), printed, corrected)


for line in DERIVED:
    answers(line)(partial(_derived, line))
