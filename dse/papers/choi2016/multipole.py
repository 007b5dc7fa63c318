"""Section IV: the multipole method, as far as anything follows from what is printed about it."""

from __future__ import annotations

from functools import cache

import numpy as np

import scenarios
from dse import machines
from dse.fitting.machine_fits.counters import counters
from dse.papers.asking import metrics
from dse.papers.choi2016.jetson import MACHINE, cells, column, settings_of, slowed
from dse.papers.choi2016.rows import holds, says
from dse.papers.report import Row
from dse.papers.sources import table

FMM = "fmm-settings-choi2016"
HIGHEST = "852-924"
# events that count again what other counters of Table III count
REPEATED = {"gld_request", "gst_request", "l2_subp0_total_read_sector_queries"}
# "about", "approximately"
ABOUT = 0.05
TIE = 1e-9
WORK = 1e12


def rows() -> list[Row]:
    """What the tables and observations of section IV say."""
    return [*_tables(), *_integers(), *_data(), *_constant()]


def _tables() -> list[Row]:
    names = {row["name"] for row in table("choi2016_table3")}
    read = {c.name for c in counters()}
    held = {str(s["name"]): s for s in machines.get(FMM).settings}
    clocks = [
        Row(says("b_settings"), f"{row['id']}, {what}", float(row[printed]) * 1e6, held[row["id"]][key], "Hz")
        for row in table("choi2016_table4")
        for what, printed, key in (
            ("core", "core_MHz", "core_frequency"),
            ("memory", "mem_MHz", "memory_frequency"),
        )
    ]
    predicted = [name for name in held if _predicted(name)]
    lacking = ", ".join(name for name in held if name not in predicted)
    return [
        Row(
            says("b_counters"),
            "counters with a reading",
            17.0,
            float(len(names & (read | REPEATED))),
            remark=f"{len(REPEATED)} of them count again what others count",
        ),
        *clocks,
        Row(says("b_cases"), "", 64.0, len(held) * 8.0),
        Row(
            says("b_predict"),
            "settings for which (9) can be evaluated",
            8.0,
            float(len(predicted)),
            corrected=5.0,
            remark=f"not for {lacking}",
        ),
    ]


def _predicted(setting: str) -> bool:
    """Whether the model can say what a run costs at this setting of Table IV alone."""
    menu = [s for s in machines.get(FMM).settings if s["name"] == setting]
    own = [{k: v for k, v in s.items() if k not in {"source", "doubts"}} for s in menu]
    phase = {"name": "run", "flops_double": 1.0, "bytes": 1.0, "times": {setting: 1.0}}
    try:
        metrics("dvfs", {"settings": own}, {"phases": [phase], "setting": setting})
    except scenarios.ScenarioError:
        return False
    return True


def _integers() -> list[Row]:
    # of all computation instructions x are integer ones, the others double-precision multiply-adds of two flops
    integer, double = column("eps_int_pJ"), 2.0 * column("eps_DP_pJ")
    highest = [f"{row['core_MHz']}-{row['mem_MHz']}" for row in cells()].index(HIGHEST)
    needed = 0.23 * double / (0.23 * double + 0.77 * integer)
    alone = 0.23 * double / 2.0 / (0.23 * double / 2.0 + 0.77 * integer)
    share = 0.6 * integer / (0.6 * integer + 0.4 * double)
    return [
        Row(
            says("o_integer"),
            "integer instructions that take 23 % of the energy of computation",
            0.60,
            float(needed[highest]),
            tolerance=ABOUT,
            remark=f"where a printed energy is that of a flop; were it that of a multiply-add, {alone[highest]:.2f}",
        ),
        holds(
            "o_regardless",
            "the share changes by less than 0.1 points",
            ours=bool(np.ptp(share) < 1e-3),
            remark=f"{100 * share.min():.2f} to {100 * share.max():.2f} % of 60 % integer instructions, by the "
            "rounding of Table I; by (6) not at all",
        ),
    ]


def _data() -> list[Row]:
    """L1 is taken for shared memory, with which it shares its cells; Table I has no column of its own for it."""
    shared, level2, memory = (
        float(column(c)[0]) for c in ("eps_SM_pJ_per_byte", "eps_L2_pJ_per_byte", "eps_mem_pJ_per_byte")
    )
    far = 0.13
    middle = np.linspace(0.0, 1.0 - far, 871)
    parts = np.array([np.full_like(middle, far * memory), middle * level2, (1.0 - far - middle) * shared])
    of_memory, of_level2, of_shared = parts / parts.sum(axis=0)
    told = (
        (of_memory <= 0.505)
        & (of_level2 >= 0.3)
        & (of_level2 <= 0.4)
        & (of_shared >= 0.1)
        & (of_shared <= 0.2)
    )
    far_only = float((of_memory * (1.0 - shared / memory))[told].max())
    nearest = float((1.0 - shared / parts.sum(axis=0))[told].max())
    shares = 100 * middle[told]
    return [
        holds(
            "o_shares",
            "a mix of accesses has all these shares",
            ours=bool(told.any()),
            remark=f"with {shares.min():.0f} to {shares.max():.0f} % of accesses in L2",
        ),
        holds(
            "o_close",
            "half lies between what is saved where accesses to memory, and where all, become accesses to L1",
            ours=far_only < 0.5 < nearest,
            remark=f"{100 * far_only:.0f} % and {100 * nearest:.0f} %",
        ),
    ]


def _constant() -> list[Row]:
    at = {name: float(found) for name, found in _peak().items()}
    quarter = at["dynamic"] * 0.25 / (at["dynamic"] * 0.25 + at["constant"])
    most = at["constant"] * 0.25 / (0.75 * at["dynamic"])
    best = [
        holds(
            "o_best",
            f"{bound}, constant power takes {100 * share:.0f} %",
            ours=_fastest_is_frugal(operations, share),
            remark=_from(operations) if share == 0.75 else "",
        )
        for bound, operations in (("bound by the core", "flops"), ("bound by the memory", "bytes"))
        for share in (0.75, 0.95)
    ]
    return [
        *best,
        Row(
            says("o_micro"),
            "least share at any intensity, single precision, highest clocks",
            0.30,
            at["constant"] / (at["constant"] + at["dynamic"]),
            tolerance=ABOUT,
            remark="at 22 flop per byte, with the rate of memory of the machine file",
        ),
        holds(
            "o_underused",
            "constant power takes 75 % only below a quarter of both peaks",
            ours=most < 0.25,
            remark=f"from {most:.2f} of both peaks down; at a quarter it takes {100 * (1 - quarter):.0f} %",
        ),
    ]


def _peak() -> dict[str, float]:
    """Return constant and dynamic power at full speed of flops and memory together, highest clocks."""
    rates = machines.get(MACHINE).parameters
    balance = rates["flops_per_cycle"] * 852.0 / (rates["bytes_per_cycle"] * 924.0)
    phase = {"name": "run", "flops": balance * WORK, "bytes": WORK}
    found = metrics("dvfs", MACHINE, {"phases": [phase], "setting": HIGHEST})
    constant = found["energy_constant"] / found["time"]
    return {"constant": constant, "dynamic": found["power"] - constant}


def _run(operations: str, utilisation: float) -> tuple[float, bool]:
    """Return the share of constant power at the highest clocks, and whether the fastest setting is most frugal."""
    found = settings_of([{"name": "run", operations: WORK}], slowed(utilisation))
    share = float((found["energy_constant"] / found["energy"])[0])
    return share, bool(np.min(found["race_energy"]) <= found["energy"].min() * (1.0 + TIE))


def _utilisation(operations: str, share: float) -> float:
    """Return the fraction of its rate at which constant power takes that share, at the highest clocks."""
    full = _run(operations, 1.0)[0]
    # dynamic energy is the same, constant energy in proportion to time
    return full / (1.0 - full) * (1.0 - share) / share


def _fastest_is_frugal(operations: str, share: float) -> bool:
    return _run(operations, _utilisation(operations, share))[1]


def _from(operations: str) -> str:
    share, frugal = _run(operations, 1.0)
    if frugal:
        return f"so already at full speed, where it takes {100 * share:.0f} %"
    return f"so from {100 * _turn(operations):.0f} % on; at full speed it takes {100 * share:.0f} %"


@cache
def _turn(operations: str) -> float:
    """Return the share of constant power at which the fastest setting becomes the most frugal."""
    low, high = _run(operations, 1.0)[0], 0.999
    while high - low > 1e-4:
        middle = (low + high) / 2.0
        low, high = (low, middle) if _fastest_is_frugal(operations, middle) else (middle, high)
    return high
