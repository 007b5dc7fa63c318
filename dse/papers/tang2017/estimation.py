"""Sections 2 to 5: the equations, their misprints, and both observations."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from dse.papers.report import Row
from dse.papers.tang2017.formulas import PLATFORMS, platform, sides
from dse.papers.tang2017.platforms import (
    CASES,
    PAIR,
    catalogue,
    counts,
    estimate,
    intensities,
    metrics,
    pair,
)
from dse.papers.tang2017.rows import derived, holds

# shares tried in looking for a better partition than the one stated
SHARES = np.linspace(0.0, 1.0, 201)
TIE = 1e-12
STATIC, IDLE = "i3+750", "gpu"


def rows() -> list[Row]:
    """What sections 2 to 5 say."""
    return [*_bounds(), *_estimates(), *_several(), _idle(), *_observations(), *_difference()]


def _bounds() -> list[Row]:
    found = []
    for name in ("i7+Titan", "i3+750"):
        p, ours = platform(name), metrics(pair(name), [(1.0, 1.0)], "CO")
        bound = "memory" if ours["time.cpu"] > catalogue(PLATFORMS[name][0])["time_per_flop"] else "compute"
        as_printed = "memory" if p.C.t_b / p.C.t_f < 1 else "compute"
        right = "memory" if p.C.t_f / p.C.t_b < 1 else "compute"
        found.append(derived("m_bound", f"CPU of {name} at I = 1", as_printed, bound, corrected=right))
    return found


def _estimates() -> list[Row]:
    found = []
    for case, name in product(CASES, PLATFORMS):
        p, (I, I_C, I_G) = platform(name), intensities(case)
        speeds = {
            "CO": p.C.performance_2(I),
            "GO": p.G.performance_2(I),
            "DP": p.performance_19(I),
            "CP": p.performance_20(I, I_C, I_G),
        }
        efficiencies = {
            "CO": p.efficiency_25(I, 1.0, 0.0, 0.0),
            "GO": p.efficiency_25(0.0, 0.0, I, 1.0),
            "CP": p.efficiency_25(*sides(I, I_C, I_G)),
        }
        for wp, speed in speeds.items():
            ours, item = estimate(case, name, wp), f"{case}, {name}, {wp}"
            found.append(derived("m_perf", item, speed, ours["performance"], "flop/s"))
            if wp in efficiencies:
                found.append(derived("m_25", item, efficiencies[wp], ours["efficiency"], "flop/J"))
        mine, item = estimate(case, name, "CP")["efficiency"], f"{case}, {name}"
        wrong, right = p.efficiency_26(I, I_C, I_G), efficiencies["CP"]
        found.append(derived("m_26", item, wrong, mine, "flop/J", corrected=right))
        mine, right = estimate(case, name, "DP")["efficiency"], p.efficiency_of_p_dp(I)
        found.append(derived("m_pdp", item, "0/0", mine, "flop/J", corrected=right))
    return found


def _several() -> list[Row]:
    """Two GTX Titan beside an i7: grouped as the paper says, and as three processors."""
    cpu, gpu, I = catalogue("i7_2600k"), catalogue("gtx_titan"), 7.6
    three = metrics({"cpu": cpu, "gpu": gpu, "gpu2": gpu}, [(I, 1.0)], "p-DP")
    halved = {k: v / 2 if k.startswith("time") else v for k, v in gpu.items()}
    grouped = metrics({"cpu": cpu, "gpu": halved}, [(I, 1.0)], "p-DP")
    speed = three["performance"]
    found = [
        derived("m_group", "i7 and two GTX Titan, p-DP, I = 7.6", grouped["performance"], speed, "flop/s")
    ]
    unlike = {
        "i7": catalogue("i7_2600k"),
        "i3": catalogue("i3_2100t"),
        "titan": gpu,
        "750": catalogue("gtx_750"),
    }
    ours = metrics(unlike, [(I, 1.0)], "p-DP")
    p, q = platform("i7+Titan"), platform("i3+750")
    each = (p.C, q.C, p.G, q.G)
    rates = [x.performance_2(I) for x in each]
    moved = sum((x.e_f * I + x.e_b) * rate / sum(rates) for x, rate in zip(each, rates, strict=True))
    right = I / (moved + sum(x.p_s for x in each) * I / sum(rates))
    item = "all four processors, p-DP, I = 7.6"
    found.append(
        derived("m_group_energy", item, "not handled", ours["efficiency"], "flop/J", corrected=right)
    )
    return found


def _idle() -> Row:
    ours = estimate("SA", STATIC, "CO", "B")
    p, two = platform(STATIC), counts("SA")
    if two is None:
        raise ValueError("SA has counts")
    time = max(p.C.t_f * (two[0][0] + two[1][0]), p.C.t_b * (two[0][1] + two[1][1]))
    return derived("m_idle", f"SA, {STATIC}, CO", p.static * time, ours["energy_static"], "J")


def _everywhere(machine: dict[str, dict[str, float]], I: float) -> Any:
    """Every metric with flops and bytes placed apart, over a grid of both shares."""
    return metrics(machine, [(I, 1.0)], "CP", flops=SHARES[:, None], bytes=SHARES[None, :])


def _observations() -> list[Row]:
    found = []
    machine = {entry: dict(catalogue("i7_2600k")) for entry in PAIR}
    machine["gpu"] |= {k: machine["gpu"][k] / 4 for k in ("time_per_flop", "time_per_byte")}
    for case in CASES:
        I = intensities(case)[0]
        split = metrics(machine, [(I, 1.0)], "p-DP")
        best = float(np.min(_everywhere(machine, I)["time"]))
        item = f"{case}, i7 and one four times as fast"
        found.append(holds("m_51", item, ours=bool(split["time"] <= best * (1 + TIE))))
    for case, name in product(CASES, ("i3+Titan", "i3+750")):
        energy = _everywhere(pair(name), intensities(case)[0])["energy"]
        on_gpu = float(energy[0, 0])
        found.append(holds("m_52", f"{case}, {name}", ours=bool(on_gpu <= float(np.min(energy)) * (1 + TIE))))
        gradient = float(estimate(case, name, "GO")["gradient_flop"])
        static = sum(catalogue(p)["constant_power"] for p in PLATFORMS[name])
        found.append(
            derived(
                "m_52_proof",
                f"{case}, {name}",
                "needed",
                "not needed"
                if gradient <= static and on_gpu <= float(np.min(energy)) * (1 + TIE)
                else "needed",
                corrected="not needed",
                remark=f"{gradient * 1e12:.1f} pJ and {static:g} W, and GO takes least energy",
            )
        )
    return found


def _difference() -> list[Row]:
    found = []
    for case, name in product(("SA", "LA"), PLATFORMS):
        parts = counts(case)
        if parts is None:
            raise ValueError(f"{case} has counts")
        numbers = (*parts[0], *parts[1])
        wrong, right = (platform(name).above_go_31(*numbers, corrected=c) for c in (False, True))
        ours = estimate(case, name, "CP", "B")["energy"] - estimate(case, name, "GO", "B")["energy"]
        item = f"{case}, {name}"
        found.append(derived("m_31", item, wrong, ours, "J", corrected=right, tolerance=1e-9))
    return found


def best_for_bytes(name: str, case: str) -> tuple[float, float]:
    """Return the shares of flops and bytes on the CPU that take least energy (a grid of 201 by 201)."""
    energy = np.asarray(_everywhere(pair(name), intensities(case)[0])["energy"])
    flops, data = np.unravel_index(int(energy.argmin()), energy.shape)
    return float(SHARES[flops]), float(SHARES[data])
