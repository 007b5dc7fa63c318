"""Section 6.4: percentages and orderings of the estimates, and what the guidelines are said to reach."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from dse.papers.comparer import Found
from dse.papers.tang2017.estimation import best_for_bytes, efficiency
from dse.papers.tang2017.formulas import platform as printed
from dse.papers.tang2017.platforms import (
    PARTITIONS,
    SETS,
    answers,
    catalogue,
    counted,
    estimate,
    flag,
    intensities,
)


def gain(case: str, name: str, metric: str, numbers: str = "A") -> float:
    """Return how much more of a metric CP has than DP, percent."""
    by = {wp: float(estimate(case, name, wp, numbers)[metric]) for wp in ("CP", "DP")}
    return 100.0 * (by["CP"] / by["DP"] - 1.0)


def _gained(metric: str, case: str, platform: str) -> Found:
    every = {n: gain(case, platform, metric, n) for n in SETS if n != "B" or counted(case)}
    return Found(every["A"], remark="; ".join(f"{n} {value:+.2f}" for n, value in every.items()))


answers("p_sa", "p_sa:i7+750", "p_sa:i3+Titan")(partial(_gained, "performance"))
answers("p_la", "p_la:i7+750", "p_la:i3+750")(partial(_gained, "performance"))
answers("e_sa", "e_sa:i3+Titan", "e_sa:i3+750", "e_sa:i7+750")(partial(_gained, "efficiency"))


@answers("p_la_i3_titan")
def _performance_lost(case: str, platform: str) -> Found:
    found, p = _gained("performance", case, platform), printed(platform)
    right = 100.0 * (p.performance_20(*intensities(case)) / p.performance_19(intensities(case)[0]) - 1.0)
    return Found(found.ours, corrected=right, remark=found.remark)


def _all(case: str, name: str, metric: str) -> dict[str, float]:
    return {wp: float(estimate(case, name, wp)[metric]) for wp in PARTITIONS}


def best(case: str, name: str, metric: str) -> str:
    """Return which of the four partitions is estimated best."""
    every = _all(case, name, metric)
    return max(every, key=every.__getitem__)


def _order_of_partitions(case: str, name: str, metric: str) -> dict[str, str]:
    every = _all(case, name, metric)
    order = sorted(every, key=every.__getitem__, reverse=True)
    return {"order": ", ".join(f"{wp} {every[wp] / 1e9:.4g}" for wp in order)}


@answers("p_order")
def _rising(case: str, platform: str) -> Found:
    every = _all(case, platform, "performance")
    rising = all(a < b for a, b in pairwise(every[wp] for wp in ("CO", "GO", "DP")))
    return Found(rising, told=_order_of_partitions(case, platform, "performance"))


@answers(*(f"g_cp_fastest{part}" for part in ("", ":DA", ":SA_not", ":LA_not", ":DA_not")))
def _fastest_partition_found(case: str, platform: str) -> Found:
    ours = "CP is fastest" if best(case, platform, "performance") == "CP" else "CP is not fastest"
    return Found(ours, told=_order_of_partitions(case, platform, "performance"))


answers("g_la")(lambda platform: gain("LA", platform, "performance") < 0)
answers("g_dp_fastest")(lambda case: best(case, "i7+750", "performance"))


@answers("g_la_memory")
def _memory_bound(processor_id: str) -> Found:
    I, v = intensities("LA")[0], catalogue(processor_id)
    balance = v["time_per_byte"] / v["time_per_flop"]
    return Found(balance > I, told={"I": I, "balance": balance})


@answers("e_i3_750", "g_go", "g_dp", "g_cp_i7_titan", "g_cp_i3")
def _frugal(case: str, platform: str) -> Found:
    by_formula = {wp: efficiency(case, platform, wp) for wp in PARTITIONS}
    right = max(by_formula, key=by_formula.__getitem__)
    ours = best(case, platform, "efficiency")
    return Found(ours, corrected=right, told=_order_of_partitions(case, platform, "efficiency"))


@answers("g_code")
def _higher_intensity_found(platform: str) -> Found:
    text = flag(platform, "performance_guideline")
    onto = "GPU" if "higher intensity to GPU" in text else "CPU"
    return Found(onto, corrected="GPU", remark=text)


@answers("g_mem_mem")
def _bytes(case: str) -> Found:
    flops, data = best_for_bytes("i7+Titan", case)
    told = {"guideline": flag("i7+Titan", "energy_guideline"), "flops": flops, "bytes": data}
    return Found(flops == 0.0 and 0.0 < data < 1.0, told=told)
