"""Table I: every printed cell beside the machine catalogue, and what follows from it by the paper's formulas."""

from __future__ import annotations

from dataclasses import replace

from dse import machines
from dse.papers.choi2014.formulas import platforms
from dse.papers.choi2014.platforms import cells, compute, label, machine, run, stream, uncapped
from dse.papers.choi2014.rows import derived, holds, says
from dse.papers.report import Row

# column of the table: parameter of the catalogue; a rate is the reciprocal of a time
COLUMNS = {
    "pi1_W": ("constant_power", "W"),
    "delta_pi_W": ("usable_power", "W"),
    "eps_single_J_per_flop": ("energy_per_flop", "J/flop"),
    "sust_single_flop_per_s": ("time_per_flop", "flop/s"),
    "eps_double_J_per_flop": ("energy_per_flop_double", "J/flop"),
    "sust_double_flop_per_s": ("time_per_flop_double", "flop/s"),
    "eps_mem_J_per_byte": ("energy_per_byte", "J/byte"),
    "sust_mem_B_per_s": ("time_per_byte", "byte/s"),
    "eps_L1_J_per_byte": ("energy_per_byte_L1", "J/byte"),
    "sust_L1_B_per_s": ("time_per_byte_L1", "byte/s"),
    "eps_L2_J_per_byte": ("energy_per_byte_L2", "J/byte"),
    "sust_L2_B_per_s": ("time_per_byte_L2", "byte/s"),
    "eps_rand_J_per_access": ("energy_per_access", "J/access"),
    "sust_rand_access_per_s": ("time_per_access", "access/s"),
}
PEAKS = {
    "sust_single_flop_per_s": "vendor_peak_single_flop_per_s",
    "sust_double_flop_per_s": "vendor_peak_double_flop_per_s",
    "sust_mem_B_per_s": "vendor_mem_B_per_s",
}
# the catalogue keeps times, the table rates: one rounding of floating-point numbers each way
SAME = 1e-14


def rows() -> list[Row]:
    """Every cell of Table I, what its notes say, and every derived value."""
    # cells and notes are typed in from the table: that they are the same says nothing of the model
    typed = (replace(row, typed=True) for row in (*_cells(), *_notes()))
    return [*typed, *_derived()]


def _cells() -> list[Row]:
    found = []
    for column, (name, unit) in COLUMNS.items():
        for platform, printed in cells().items():
            if not printed[column]:
                continue
            held = machines.get(machine(platform)).parameters[name]
            ours = 1.0 / held if name.startswith("time_") else held
            doubt = "doubtful cell" if column in printed["unsure_cells"] else ""
            paper, item = float(printed[column]), label(platform)
            found.append(Row(says(f"t_{column}"), item, paper, ours, unit, tolerance=SAME, remark=doubt))
    return found


def _notes() -> list[Row]:
    empty = [(p, name) for p, row in cells().items() for c, (name, _) in COLUMNS.items() if not row[c]]
    absent = [name not in machines.get(machine(p)).parameters for p, name in empty]
    below = [p for p, row in cells().items() if float(row["pi1_W"]) < float(row["idle_W"])]
    marked = [p for p, row in cells().items() if row["idle_asterisk"] == "1"]
    pairs = [
        (1.0 / machines.get(machine(p)).parameters[COLUMNS[sustained][0]], float(row[peak]))
        for p, row in cells().items()
        for sustained, peak in PEAKS.items()
        if row[sustained] and row[peak]
    ]
    return [
        holds("t_empty", f"{len(empty)} cells", ours=all(absent)),
        Row(says("t_idle"), "platforms with π1 below idle power", len(marked), len(below), tolerance=0.0),
        holds(
            "t_idle",
            "the same platforms as marked",
            ours=below == marked,
            remark=", ".join(map(label, below)),
        ),
        holds(
            "t_sustained", f"{len(pairs)} pairs", ours=all(rate <= peak * (1 + SAME) for rate, peak in pairs)
        ),
    ]


def _derived() -> list[Row]:
    found = []
    for name, p in platforms().items():
        at = run(name, intensity=1.0)
        flops, bytes_ = compute(uncapped(name)), stream(uncapped(name))
        peak, streamed = compute(name), stream(name)
        values = (
            ("d_pi_flop", p.pi_flop, flops["energy_flop"] / flops["time"], "W"),
            ("d_pi_mem", p.pi_mem, bytes_["energy_data"] / bytes_["time"], "W"),
            ("d_B_tau", p.B_tau, at["balance"], "flop/byte"),
            ("d_B_eps", p.B_eps, at["energy_balance"], "flop/byte"),
            ("d_B_minus", p.B_minus, at["balance_low"], "flop/byte"),
            ("d_B_plus", p.B_plus_printed, at["balance_high"], "flop/byte"),
            ("d_peak_power", p.pi_1 + p.delta_pi, at["peak_power"], "W"),
            ("d_flop_per_J", p.flop_per_joule, peak["efficiency"], "flop/J"),
            (
                "d_J_per_byte",
                p.joule_per_byte,
                streamed["energy"] / streamed["bandwidth"] / streamed["time"],
                "J/byte",
            ),
            ("d_fraction", p.pi_1 / (p.pi_1 + p.delta_pi), _fraction(name), ""),
        )
        for statement, paper, ours, unit in values:
            corrected = p.B_plus if statement == "d_B_plus" and p.B_plus != paper else None
            found.append(derived(statement, label(name), paper, ours, unit, corrected=corrected))
    return found


def _fraction(platform: str) -> float:
    at = run(platform, intensity=1.0)
    return at["energy_constant"] / at["time"] / at["peak_power"]
