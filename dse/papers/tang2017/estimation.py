"""Sections 2 to 5: the equations, their misprints, and both observations."""

from __future__ import annotations

from typing import Any

import numpy as np

from dse.papers.comparer import Found
from dse.papers.tang2017 import formulas
from dse.papers.tang2017.formulas import PLATFORMS, sides
from dse.papers.tang2017.platforms import (
    PAIR,
    answers,
    catalogue,
    counts,
    estimate,
    intensities,
    metrics,
    pair,
)

# shares tried in looking for a better partition than the one stated
SHARES = np.linspace(0.0, 1.0, 201)
SPLIT_TIE = 1e-12


@answers("m_bound")
def _binding_resource_found(platform: str) -> Found:
    C, ours = formulas.platform(platform).C, metrics(pair(platform), [(1.0, 1.0)], "CO")
    flop = catalogue(PLATFORMS[platform][0])["time_per_flop"]
    named = {True: "memory", False: "compute"}
    as_printed, right = named[C.t_b / C.t_f < 1], named[C.t_f / C.t_b < 1]
    return Found(named[bool(ours["time.cpu"] > flop)], as_printed, corrected=right)


@answers("m_perf")
def _performance(case: str, platform: str, partition: str) -> Found:
    p, (I, I_C, I_G) = formulas.platform(platform), intensities(case)
    speeds = {
        "CO": p.C.performance_2(I),
        "GO": p.G.performance_2(I),
        "DP": p.performance_19(I),
        "CP": p.performance_20(I, I_C, I_G),
    }
    return Found(estimate(case, platform, partition)["performance"], speeds[partition])


def efficiency(case: str, platform: str, partition: str) -> float:
    """Flops per joule of a partition by (25), and of p-DP with the shares of its performance."""
    p, (I, I_C, I_G) = formulas.platform(platform), intensities(case)
    if partition == "DP":
        return p.efficiency_of_p_dp(I)
    numbers = {"CO": (I, 1.0, 0.0, 0.0), "GO": (0.0, 0.0, I, 1.0), "CP": sides(I, I_C, I_G)}
    return p.efficiency_25(*numbers[partition])


@answers("m_25")
def _efficiency(case: str, platform: str, partition: str) -> Found:
    ours = estimate(case, platform, partition)["efficiency"]
    return Found(ours, efficiency(case, platform, partition))


@answers("m_26")
def _of_the_code_partition(case: str, platform: str) -> Found:
    ours = estimate(case, platform, "CP")["efficiency"]
    wrong = formulas.platform(platform).efficiency_26(*intensities(case))
    return Found(ours, wrong, corrected=efficiency(case, platform, "CP"))


@answers("m_pdp")
def _of_the_data_partition(case: str, platform: str) -> Found:
    ours = estimate(case, platform, "DP")["efficiency"]
    return Found(ours, corrected=efficiency(case, platform, "DP"))


@answers("m_group")
def _grouped(I: str) -> Found:
    """Two GTX Titan beside an i7: grouped as the paper says, and as three processors."""
    cpu, gpu, regions = catalogue("i7_2600k"), catalogue("gtx_titan"), [(float(I), 1.0)]
    halved = {k: v / 2 if k.startswith("time") else v for k, v in gpu.items()}
    grouped = metrics({"cpu": cpu, "gpu": halved}, regions, "p-DP")
    three = metrics({"cpu": cpu, "gpu": gpu, "gpu2": gpu}, regions, "p-DP")
    return Found(three["performance"], grouped["performance"])


@answers("m_group_energy")
def _unlike(I: str) -> Found:
    names = ("i7_2600k", "i3_2100t", "gtx_titan", "gtx_750")
    intensity = float(I)
    ours = metrics({p: catalogue(p) for p in names}, [(intensity, 1.0)], "p-DP")
    p, q = formulas.platform("i7+Titan"), formulas.platform("i3+750")
    each = (p.C, q.C, p.G, q.G)
    rates = [x.performance_2(intensity) for x in each]
    joules = [(x.e_f * intensity + x.e_b) * rate for x, rate in zip(each, rates, strict=True)]
    static = sum(x.p_s for x in each) * intensity
    return Found(ours["efficiency"], corrected=intensity * sum(rates) / (sum(joules) + static))


@answers("m_idle")
def _idle_energy_found(case: str, platform: str) -> Found:
    p, ((f_C, b_C), (f_G, b_G)) = formulas.platform(platform), counts(case)
    time = max(p.C.t_f * (f_C + f_G), p.C.t_b * (b_C + b_G))
    return Found(estimate(case, platform, "CO", "B")["energy_static"], p.static * time)


def _everywhere(machine: dict[str, dict[str, float]], I: float) -> Any:
    """Every metric with flops and bytes placed apart, over a grid of both shares."""
    return metrics(machine, [(I, 1.0)], "CP", flops=SHARES[:, None], bytes=SHARES[None, :])


@answers("m_51")
def _balanced(case: str) -> bool:
    machine = {entry: dict(catalogue("i7_2600k")) for entry in PAIR}
    machine["gpu"] |= {k: machine["gpu"][k] / 4 for k in ("time_per_flop", "time_per_byte")}
    I = intensities(case)[0]
    best = float(np.min(_everywhere(machine, I)["time"]))
    return bool(metrics(machine, [(I, 1.0)], "p-DP")["time"] <= best * (1 + SPLIT_TIE))


@answers("m_52")
def _frugal_on_gpu(case: str, platform: str) -> bool:
    energy = _everywhere(pair(platform), intensities(case)[0])["energy"]
    return bool(energy[0, 0] <= float(np.min(energy)) * (1 + SPLIT_TIE))


@answers("m_52_proof")
def _gradient_needed_found(case: str, platform: str) -> Found:
    gradient = float(estimate(case, platform, "GO")["gradient_flop"])
    static = sum(catalogue(p)["constant_power"] for p in PLATFORMS[platform])
    ours = "not needed" if gradient <= static and _frugal_on_gpu(case, platform) else "needed"
    return Found(ours, corrected="not needed", told={"gradient": gradient * 1e12, "static": static})


@answers("m_31")
def _above_go(case: str, platform: str) -> Found:
    (f_C, b_C), (f_G, b_G) = counts(case)
    wrong, right = (
        formulas.platform(platform).above_go_31(f_C, b_C, f_G, b_G, corrected=c) for c in (False, True)
    )
    energy = {wp: estimate(case, platform, wp, "B")["energy"] for wp in ("CP", "GO")}
    return Found(energy["CP"] - energy["GO"], wrong, corrected=right)


def best_for_bytes(name: str, case: str) -> tuple[float, float]:
    """Return the shares of flops and bytes on the CPU that take least energy (a grid of 201 by 201)."""
    energy = np.asarray(_everywhere(pair(name), intensities(case)[0])["energy"])
    flops, data = np.unravel_index(int(energy.argmin()), energy.shape)
    return float(SHARES[flops]), float(SHARES[data])
