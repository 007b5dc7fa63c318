"""Section IV: the multipole method, as far as anything follows from what is printed about it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

import scenarios
from dse import machines
from dse.fitting.machine_fits.counters import counters
from dse.papers.asking import metrics
from dse.papers.choi2016.jetson import MACHINE, cells, column, name_of, settings_of, slowed
from dse.papers.choi2016.rows import answers
from dse.papers.comparer import Found
from dse.papers.sources import table
from dse.system.arrays import Array

FMM = "fmm-settings-choi2016"
HIGHEST = "852-924"
# events that count again what other counters of Table III count
REPEATED = {"gld_request", "gst_request", "l2_subp0_total_read_sector_queries"}
RACE_TIE = 1e-9
PHASE_WORK = 1e12


@cache
def _settings_by_name() -> dict[str, Mapping[str, Any]]:
    return {str(s["name"]): s for s in machines.get(FMM).settings}


@answers("b_counters")
def _counters() -> Found:
    names = {row["name"] for row in table("choi2016/table3")}
    read = {c.name for c in counters()}
    return Found(len(names & (read | REPEATED)), told={"repeated": len(REPEATED)})


answers("b_settings")(lambda setting: _settings_by_name()[setting]["core_frequency"])
answers("b_settings:memory")(lambda setting: _settings_by_name()[setting]["memory_frequency"])
answers("b_cases")(lambda inputs: len(_settings_by_name()) * float(inputs))


@answers("b_predict")
def _all_predicted() -> Found:
    lacking = [name for name in _settings_by_name() if not _predicted(name)]
    return Found(len(_settings_by_name()) - len(lacking), corrected=5.0, told={"lacking": ", ".join(lacking)})


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


@answers("o_integer")
def _integer(energy: str) -> Found:
    """Of all computation instructions some are integer ones, the others double-precision multiply-adds of two flops."""
    highest = [name_of(row) for row in cells()].index(HIGHEST)
    part, integer = float(energy) / 100.0, float(column("eps_int_pJ")[highest])
    flop = float(column("eps_DP_pJ")[highest])
    needed, alone = (part * d / (part * d + (1.0 - part) * integer) for d in (2.0 * flop, flop))
    return Found(needed, told={"alone": alone})


@answers("o_regardless")
def _regardless(share: str) -> Found:
    part, integer, double = float(share) / 100.0, column("eps_int_pJ"), 2.0 * column("eps_DP_pJ")
    found = part * integer / (part * integer + (1.0 - part) * double)
    told = {"least": 100 * found.min(), "most": 100 * found.max()}
    return Found(bool(np.ptp(found) < 1e-3), told=told)


@cache
def _mixes(far: str, of_memory: str, of_L2: str, of_L1: str) -> tuple[Array, float, float]:
    """Shares of accesses to L2 with which all shares of energy are as told, and savings of the mixes.

    ``far``: share of accesses to memory; the others: most, or least and most, of the energy. L1 is taken for shared
    memory, with which it shares its cells; Table I has no column of its own for it.
    """
    shared, level2, memory = (
        float(column(c)[0]) for c in ("eps_SM_pJ_per_byte", "eps_L2_pJ_per_byte", "eps_mem_pJ_per_byte")
    )
    rest = 1.0 - float(far)
    middle = np.linspace(0.0, rest, 871)
    parts = np.array([np.full_like(middle, float(far) * memory), middle * level2, (rest - middle) * shared])
    # the most of memory is a rounded percentage
    ends = [("0", str(float(of_memory) + 0.005)), of_L2.split(" to "), of_L1.split(" to ")]
    energies = parts / parts.sum(axis=0)
    inside = [(float(low) <= e) & (e <= float(high)) for e, (low, high) in zip(energies, ends, strict=True)]
    told = np.all(inside, axis=0)
    far_only = float((energies[0] * (1.0 - shared / memory))[told].max())
    return middle[told], far_only, float((1.0 - shared / parts.sum(axis=0))[told].max())


@answers("o_shares")
def _shares(far: str, of_memory: str, of_L2: str, of_L1: str) -> Found:
    shares = 100 * _mixes(far, of_memory, of_L2, of_L1)[0]
    return Found(bool(shares.size), told={"least": shares.min(), "most": shares.max()})


@answers("o_close")
def _close(far: str, of_memory: str, of_L2: str, of_L1: str) -> Found:
    _, far_only, nearest = _mixes(far, of_memory, of_L2, of_L1)
    return Found(far_only < 0.5 < nearest, told={"far_only": 100 * far_only, "nearest": 100 * nearest})


BOUND = {"core": "flops", "memory": "bytes"}


@answers("o_best")
def _fastest_is_frugal_found(bound: str, share: str) -> Found:
    operations = BOUND[bound]
    remark = _from(operations) if share == "75" else ""
    return Found(_fastest_is_frugal(operations, float(share) / 100.0), remark=remark)


@answers("o_micro")
def _micro() -> float:
    at = _peak()
    return at["constant"] / (at["constant"] + at["dynamic"])


@answers("o_underused")
def _underused(share: str, part: str) -> Found:
    at, constant, quarter = _peak(), float(share) / 100.0, float(part)
    rest = at["dynamic"] * quarter / (at["dynamic"] * quarter + at["constant"])
    most = at["constant"] * (1.0 - constant) / (constant * at["dynamic"])
    return Found(most < quarter, told={"most": most, "rest": 100 * (1 - rest)})


@cache
def _peak() -> dict[str, float]:
    """Return constant and dynamic power at full speed of flops and memory together, highest clocks."""
    rates = machines.get(MACHINE).parameters
    balance = rates["flops_per_cycle"] * 852.0 / (rates["bytes_per_cycle"] * 924.0)
    phase = {"name": "run", "flops": balance * PHASE_WORK, "bytes": PHASE_WORK}
    found = metrics("dvfs", MACHINE, {"phases": [phase], "setting": HIGHEST})
    constant = float(found["energy_constant"] / found["time"])
    return {"constant": constant, "dynamic": float(found["power"]) - constant}


def _share_and_frugality(operations: str, utilisation: float) -> tuple[float, bool]:
    """Return the share of constant power at the highest clocks, and whether the fastest setting is most frugal."""
    found = settings_of([{"name": "run", operations: PHASE_WORK}], slowed(utilisation))
    share = float((found["energy_constant"] / found["energy"])[0])
    return share, bool(np.min(found["race_energy"]) <= found["energy"].min() * (1.0 + RACE_TIE))


def _utilisation(operations: str, share: float) -> float:
    """Return the fraction of its rate at which constant power takes that share, at the highest clocks."""
    full = _share_and_frugality(operations, 1.0)[0]
    # dynamic energy is the same, constant energy in proportion to time
    return full / (1.0 - full) * (1.0 - share) / share


def _fastest_is_frugal(operations: str, share: float) -> bool:
    return _share_and_frugality(operations, _utilisation(operations, share))[1]


def _from(operations: str) -> str:
    share, frugal = _share_and_frugality(operations, 1.0)
    if frugal:
        return f"so already at full speed, where it takes {100 * share:.0f} %"
    return f"so from {100 * _turn(operations):.0f} % on; at full speed it takes {100 * share:.0f} %"


@cache
def _turn(operations: str) -> float:
    """Return the share of constant power at which the fastest setting becomes the most frugal."""
    low, high = _share_and_frugality(operations, 1.0)[0], 0.999
    while high - low > 1e-4:
        middle = (low + high) / 2.0
        low, high = (low, middle) if _fastest_is_frugal(operations, middle) else (middle, high)
    return high
