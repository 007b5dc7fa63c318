"""Section 6.4: percentages and orderings of the estimates, and what the guidelines are said to reach."""

from __future__ import annotations

from itertools import pairwise, product

from dse.papers.report import Row
from dse.papers.tang2017.estimation import best_for_bytes
from dse.papers.tang2017.formulas import PLATFORMS, platform, sides
from dse.papers.tang2017.platforms import (
    CASES,
    PARTITIONS,
    SETS,
    catalogue,
    counts,
    estimate,
    flag,
    intensities,
)
from dse.papers.tang2017.rows import derived, holds

# what CP gains on DP, percent, as the text has it
FASTER = {
    "p_sa": ("SA", {"i7+Titan": -1.0, "i7+750": -16.0, "i3+Titan": 3.0}),
    "p_la": ("LA", {"i7+Titan": -1.0, "i7+750": -15.0, "i3+750": -13.0}),
    "p_la_i3_titan": ("LA", {"i3+Titan": -8.0}),
}
MORE_EFFICIENT = {"SA": {"i7+Titan": 2.0, "i3+Titan": 1.0, "i3+750": 2.0, "i7+750": -1.0}}
# points of difference that the rounding of Table IV and of the intensities explains
POINTS = 1.2
CP_FASTEST = {("SA", "i3+Titan"), ("DA", "i3+750")}


def rows() -> list[Row]:
    """What section 6.4 says of estimates."""
    return [*_percentages(), *_orders(), *_fastest(), *_frugal(), *_guidelines()]


def gain(case: str, name: str, metric: str, numbers: str = "A") -> float:
    """Return how much more of a metric CP has than DP, percent."""
    by = {wp: float(estimate(case, name, wp, numbers)[metric]) for wp in ("CP", "DP")}
    return 100.0 * (by["CP"] / by["DP"] - 1.0)


def _by_formula(case: str, name: str) -> float:
    I, I_C, I_G = intensities(case)
    p = platform(name)
    return 100.0 * (p.performance_20(I, I_C, I_G) / p.performance_19(I) - 1.0)


def _gained(statement: str, case: str, name: str, stated: float, metric: str) -> Row:
    every = {n: gain(case, name, metric, n) for n in SETS if n != "B" or counts(case)}
    remark = "; ".join(f"{n} {value:+.2f}" for n, value in every.items())
    right = _by_formula(case, name) if statement == "p_la_i3_titan" else None
    tolerance = POINTS / abs(stated)
    return derived(
        statement, name, stated, every["A"], "%", corrected=right, tolerance=tolerance, remark=remark
    )


def _percentages() -> list[Row]:
    found = [
        _gained(statement, case, name, stated, "performance")
        for statement, (case, of_platform) in FASTER.items()
        for name, stated in of_platform.items()
    ]
    return found + [
        _gained("e_sa", case, name, stated, "efficiency")
        for case, of_platform in MORE_EFFICIENT.items()
        for name, stated in of_platform.items()
    ]


def _all(case: str, name: str, metric: str) -> dict[str, float]:
    return {wp: float(estimate(case, name, wp)[metric]) for wp in PARTITIONS}


def best(case: str, name: str, metric: str) -> str:
    """Return which of the four partitions is estimated best."""
    every = _all(case, name, metric)
    return max(every, key=every.__getitem__)


def _best_by_formula(case: str, name: str) -> str:
    I, I_C, I_G = intensities(case)
    p = platform(name)
    every = {
        "CO": p.efficiency_25(I, 1.0, 0.0, 0.0),
        "GO": p.efficiency_25(0.0, 0.0, I, 1.0),
        "DP": p.efficiency_of_p_dp(I),
        "CP": p.efficiency_25(*sides(I, I_C, I_G)),
    }
    return max(every, key=every.__getitem__)


def _told(case: str, name: str, metric: str) -> str:
    every = _all(case, name, metric)
    order = sorted(every, key=every.__getitem__, reverse=True)
    return ", ".join(f"{wp} {every[wp] / 1e9:.4g}" for wp in order)


def _orders() -> list[Row]:
    found = []
    for case, name in product(("LA", "DA"), PLATFORMS):
        speeds = [_all(case, name, "performance")[wp] for wp in ("CO", "GO", "DP")]
        remark = f"Gflop/s: {_told(case, name, 'performance')}"
        rising = all(a < b for a, b in pairwise(speeds))
        found.append(holds("p_order", f"{case}, {name}", ours=rising, remark=remark))
    return found


def _fastest() -> list[Row]:
    found = []
    for case, name in product(CASES, PLATFORMS):
        is_cp = best(case, name, "performance") == "CP"
        remark = f"Gflop/s: {_told(case, name, 'performance')}"
        claimed = "CP is fastest" if (case, name) in CP_FASTEST else "CP is not fastest"
        ours = "CP is fastest" if is_cp else "CP is not fastest"
        found.append(derived("g_cp_fastest", f"{case}, {name}", claimed, ours, remark=remark))
    found += [holds("g_la", name, ours=gain("LA", name, "performance") < 0) for name in PLATFORMS]
    I = intensities("LA")[0]
    for name in dict.fromkeys(p for of_platform in PLATFORMS.values() for p in of_platform):
        v = catalogue(name)
        balance = v["time_per_byte"] / v["time_per_flop"]
        remark = f"I = {I:g}, balance {balance:.3g} flop/byte"
        found.append(holds("g_la_memory", name, ours=balance > I, remark=remark))
    for case in CASES:
        fastest = best(case, "i7+750", "performance")
        found.append(derived("g_dp_fastest", case, "DP", fastest))
    return found


def _best_row(statement: str, case: str, name: str, claimed: str) -> Row:
    ours, right = best(case, name, "efficiency"), _best_by_formula(case, name)
    remark = f"Gflop/J: {_told(case, name, 'efficiency')}"
    corrected = right if right != claimed else None
    return derived(statement, f"{case}, {name}", claimed, ours, corrected=corrected, remark=remark)


def _frugal() -> list[Row]:
    found = [_best_row("e_i3_750", case, "i3+750", "GO") for case in CASES]
    found += [_best_row("g_go", case, name, "GO") for case, name in product(CASES, ("i3+Titan", "i3+750"))]
    found += [_best_row("g_dp", case, "i7+750", "DP") for case in CASES]
    found += [_best_row("g_cp_i7_titan", case, "i7+Titan", "CP") for case in ("DA", "SA")]
    return found + [_best_row("g_cp_i3", "SA", name, "CP") for name in ("i3+Titan", "i3+750")]


def _guidelines() -> list[Row]:
    found = []
    for name in PLATFORMS:
        text = flag(name, "performance_guideline")
        onto = "GPU" if "higher intensity to GPU" in text else "CPU"
        found.append(derived("g_code", name, "CPU", onto, corrected="GPU", remark=text))
    text = flag("i7+Titan", "energy_guideline")
    for case in CASES:
        flops, data = best_for_bytes("i7+Titan", case)
        remark = f"{text}; least energy has {flops:.1%} of the flops and {data:.1%} of the bytes on the CPU"
        kept = flops == 0.0 and 0.0 < data < 1.0
        found.append(holds("g_mem_mem", f"{case}, flops and bytes placed apart", ours=kept, remark=remark))
    return found
