"""Sections IV to V-C: the platforms, the memory hierarchy, and what constant power and caps do (Figure 5)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache, partial

import numpy as np

from dse import machines
from dse.papers.choi2014.formulas import Platform, platforms
from dse.papers.choi2014.platforms import (
    Spec,
    cells,
    compute,
    curves,
    label,
    machine,
    run,
    stream,
    told,
    uncapped,
)
from dse.papers.choi2014.rows import answers, near
from dse.papers.comparer import Found

TITAN, ARNDALE, PHI = "gtx_titan", "arndale_gpu", "xeon_phi"
HYBRID = ("NUC", "APU", "Arndale")
# the x axis of Figure 5
INTENSITIES = 2.0 ** np.linspace(-2.0, 7.0, 361)


@cache
def _machines_by_platform() -> dict[str, Mapping[str, float]]:
    """Machines of the catalogue by platform."""
    return {p: machines.get(machine(p)).parameters for p in cells()}


answers("f_platforms")(lambda: sum(n.endswith("-choi2014") for n in machines.names()))


@answers("f_platforms:systems")
def _systems() -> float:
    return len({label(p).split()[0] if label(p).startswith(HYBRID) else label(p) for p in cells()})


@answers("f_double")
def _double() -> Found:
    double = sum("time_per_flop_double" in v for v in _machines_by_platform().values())
    return Found(double < len(cells()), told={"count": double})


@answers("f_random_slow")
def _random_slow(word: str, share: str) -> Found:
    """``word``: largest word of a random access of which the rates are told."""
    used = {}
    for p, v in _machines_by_platform().items():
        if "energy_per_access" in v:
            random = run(p, flops=0.0, bytes=1e9, level="random", bytes_per_access=float(word))
            used[p] = random["bandwidth"] / stream(p)["bandwidth"]
    best = max(used, key=used.__getitem__)
    return Found(used[best] < float(share), told={"most": used[best], "worst": label(best)})


@answers("b_L1_L2")
def _caches() -> Found:
    every = _machines_by_platform().values()
    both = [v for v in every if {"energy_per_byte_L1", "energy_per_byte_L2"} <= v.keys()]
    rising = all(v["energy_per_byte_L1"] <= v["energy_per_byte_L2"] for v in both)
    return Found(rising, told={"count": len(both)})


@answers("b_rand")
def _random(times: str) -> Found:
    ratios = {
        p: v["energy_per_access"] / v["energy_per_byte"]
        for p, v in _machines_by_platform().items()
        if "energy_per_access" in v
    }
    least = min(ratios, key=ratios.__getitem__)
    told = {"count": len(ratios), "least": ratios[least], "worst": label(least)}
    return Found(ratios[least] >= float(times), told=told)


def _efficiency(spec: Spec) -> float:
    return compute(spec)["efficiency"]


def by_peak_efficiency() -> tuple[str, ...]:
    """Return the platforms in falling order of peak energy efficiency, as Figure 5 has them."""
    return tuple(sorted(platforms(), key=_efficiency, reverse=True))


def _peak(line: str, name: str) -> Found:
    return near(line, told(_efficiency, name))


for peak in ("c_titan_peak", "c_nehalem_peak", "c_arndale_peak"):
    answers(peak)(partial(_peak, peak))


@answers("c_order_ends")
def _most_efficient_found() -> Found:
    order = by_peak_efficiency()
    in_order = ", ".join(f"{label(p)} {_efficiency(p) / 1e9:.3g}" for p in order)
    return Found(label(order[0]), told={"order": in_order})


answers("c_order_ends:last")(lambda: label(by_peak_efficiency()[-1]))


def _per_joule(name: str) -> float:
    """Bytes per joule of a stream, which the paper prints as flops per joule."""
    at = stream(name)
    return at["bandwidth"] / at["power"]


answers("c_memory", "c_memory:titan")(_per_joule)


@answers("c_memory:flop", "c_memory:titan_flop")
def _as_flops(name: str, p: Platform) -> Found:
    return Found(run(name, intensity=1.0)["efficiency"], corrected=1.0 / p.energy_2(1.0, 1.0))


@answers("c_boost")
def _boost() -> bool:
    less = _efficiency(ARNDALE) < _efficiency(TITAN)
    return _per_joule(ARNDALE) > _per_joule(TITAN) and less


def powers(name: str) -> tuple[float, float]:
    """Power of flops and of the memory, each at full rate."""
    flops, data = compute(uncapped(name)), stream(uncapped(name))
    return flops["energy_flop"] / flops["time"], data["energy_data"] / data["time"]


@answers("c_allocation", "c_allocation:arndale")
def _allocation(name: str, which: str) -> Found:
    flops, data = powers(name)
    return Found((flops > data) is (which == ">"), told={"flops": flops, "data": data})


@answers("c_no_pattern")
def _no_pattern(discernible: str) -> Found:
    """``discernible``: least |r| of twelve pairs that chance gives in fewer than 5 of 100 cases."""
    shares = [f / (f + m) for f, m in map(powers, platforms())]
    r = _correlation_coefficient(shares, [_efficiency(p) for p in platforms()])
    return Found(abs(r) < float(discernible), told={"r": r})


def _correlation_coefficient(x: list[float], y: list[float]) -> float:
    return float(np.corrcoef(x, y)[0, 1])


@answers("c_segments")
def _segments() -> Found:
    segments = {}
    for p in platforms():
        regimes = np.broadcast_to(curves(p, INTENSITIES)["regime"], INTENSITIES.shape)
        segments[p] = len(set(regimes.tolist()))
    fewer = ", ".join(f"{label(p)} {n}" for p, n in segments.items() if n < 3)
    return Found(max(segments.values()) == 3, told={"fewer": fewer})


@cache
def _least_power() -> tuple[float, str]:
    """Least power over the most power, as Figure 5 has it, and the platform."""
    lows = {}
    for p in platforms():
        at = curves(p, INTENSITIES)
        lows[p] = float(np.min(at["power"] / at["peak_power"]))
    least = min(lows, key=lows.__getitem__)
    return lows[least], label(least)


answers("c_range_low")(lambda: Found(_least_power()[0], told={"where": _least_power()[1]}))


@answers("c_narrow")
def _narrow(times: str) -> Found:
    most = 1.0 / _least_power()[0]
    return Found(most < float(times), told={"most": most})


@cache
def _constant_share(spec: str) -> float:
    at = run(spec, intensity=1.0)
    return at["energy_constant"] / at["time"] / at["peak_power"]


@answers("c_seven", "v_seven")
def _above(share: str) -> Found:
    shares = {p: _constant_share(p) for p in platforms() if _constant_share(p) > float(share)}
    names = sorted(shares, key=shares.__getitem__, reverse=True)
    return Found(len(names), told={"names": ", ".join(f"{label(p)} {shares[p]:.0%}" for p in names)})


@answers("c_correlation")
def _correlated() -> float:
    shares = [_constant_share(p) for p in platforms()]
    return _correlation_coefficient(shares, [_efficiency(p) for p in platforms()])


@answers("c_correlation:formulas")
def _correlated_by_formulas() -> Found:
    every = platforms().values()
    shares = [p.pi_1 / (p.pi_1 + p.delta_pi) for p in every]
    return Found(_correlated(), _correlation_coefficient(shares, [p.flop_per_joule for p in every]))


@answers("c_lowest")
def _lowest() -> str:
    return label(min(platforms(), key=lambda p: _machines_by_platform()[p]["energy_per_byte"]))


@answers("c_higher")
def _higher() -> Found:
    titan, phi = (stream(p)["bandwidth"] / 1e9 for p in (TITAN, PHI))
    return Found(titan > phi, told={"titan": titan, "phi": phi})


def _per_byte(metric: str, name: str) -> float:
    """Return energy of a streamed byte, or a part of it."""
    at = stream(name)
    return at[metric] / (at["bandwidth"] * at["time"])


STREAMED = {"c_eps_mem": "energy_data", "c_charge": "energy_constant", "c_total": "energy"}
for line, metric in STREAMED.items():
    answers(line, f"{line}:{TITAN}", f"{line}:{ARNDALE}")(partial(_per_byte, metric))


@answers("c_invert")
def _inverted() -> bool:
    three = (PHI, TITAN, ARNDALE)
    by_cell = sorted(three, key=lambda p: _machines_by_platform()[p]["energy_per_byte"], reverse=True)
    return sorted(three, key=partial(_per_byte, "energy")) == by_cell


def _octaves(name: str) -> float:
    """Width of the capped range in doublings of intensity."""
    at = run(name, intensity=1.0)
    low, high = at["balance_low"], at["balance_high"]
    return math.log2(high / low) if low > 0.0 and math.isfinite(high) else math.inf


@answers("c_wider")
def _wider() -> Found:
    wide = {p: _octaves(p) for p in ("nuc_cpu", "nuc_gpu", "apu_cpu", "apu_gpu")}
    narrow = {p: _octaves(p) for p in (TITAN, PHI)}
    octaves = ", ".join(f"{label(p)} {w:.2f}" for p, w in (wide | narrow).items())
    return Found(min(wide.values()) > max(narrow.values()), told={"octaves": octaves})


answers("c_label", "c_label:cap")(lambda name, parameter: _machines_by_platform()[name][parameter])
