"""Sections IV to V-C: the platforms, the memory hierarchy, and what constant power and caps do (Figure 5)."""

from __future__ import annotations

import math

import numpy as np

from dse import machines
from dse.papers.choi2014.formulas import platform, platforms
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
from dse.papers.choi2014.rows import derived, holds, printed, says
from dse.papers.report import Row

TITAN, ARNDALE, PHI, DESKTOP = "gtx_titan", "arndale_gpu", "xeon_phi", "nehalem"
HYBRID = ("NUC", "APU", "Arndale")
# the x axis of Figure 5
INTENSITIES = 2.0 ** np.linspace(-2.0, 7.0, 361)
# largest word of a random access of which the rates are told
WORD = 8.0
# least |r| of twelve pairs that chance gives in fewer than 5 of 100 cases
DISCERNIBLE = 0.576


def rows() -> list[Row]:
    """What sections IV, V-A, V-B and V-C say."""
    return [
        *_platforms(),
        *_hierarchy(),
        *_peaks(),
        *_allocation(),
        *_range(),
        *_share(),
        *_streaming(),
        *_caps(),
    ]


def _platforms() -> list[Row]:
    known = [n for n in machines.names() if n.endswith("-choi2014")]
    systems = {label(p).split()[0] if label(p).startswith(HYBRID) else label(p) for p in cells()}
    double = [p for p in cells() if "time_per_flop_double" in machines.get(machine(p)).parameters]
    used = {}
    for p in cells():
        parameters = machines.get(machine(p)).parameters
        if "energy_per_access" in parameters:
            random = run(p, flops=0.0, bytes=1e9, level="random", bytes_per_access=WORD)
            used[p] = random["bandwidth"] / stream(p)["bandwidth"]
    best = max(used, key=used.__getitem__)
    return [
        Row(says("f_platforms"), "machines in the catalogue", 12, len(known), tolerance=0.0),
        Row(says("f_platforms"), "systems", 9, len(systems), tolerance=0.0),
        holds(
            "f_double", "some lack it", ours=len(double) < len(cells()), remark=f"{len(double)} of 12 have it"
        ),
        holds(
            "f_random_slow",
            "even at 8 byte an access, less than a fifth of the bandwidth",
            ours=max(used.values()) < 0.2,
            remark=f"at most {used[best]:.1%}, on {label(best)}",
        ),
    ]


def _hierarchy() -> list[Row]:
    parameters = {p: machines.get(machine(p)).parameters for p in cells()}
    both = [v for v in parameters.values() if {"energy_per_byte_L1", "energy_per_byte_L2"} <= v.keys()]
    ratios = {
        p: v["energy_per_access"] / v["energy_per_byte"]
        for p, v in parameters.items()
        if "energy_per_access" in v
    }
    least = min(ratios, key=ratios.__getitem__)
    return [
        holds(
            "b_L1_L2",
            f"{len(both)} platforms with both",
            ours=all(v["energy_per_byte_L1"] <= v["energy_per_byte_L2"] for v in both),
        ),
        holds(
            "b_rand",
            f"{len(ratios)} platforms",
            ours=ratios[least] >= 10.0,
            remark=f"at least {ratios[least]:.1f} times, on {label(least)}",
        ),
    ]


def _efficiency(spec: Spec) -> float:
    return compute(spec)["efficiency"]


def by_peak_efficiency() -> tuple[str, ...]:
    """Return the platforms in falling order of peak energy efficiency, as Figure 5 has them."""
    return tuple(sorted(platforms(), key=_efficiency, reverse=True))


def _peaks() -> list[Row]:
    titan, desktop, arndale = (told(_efficiency, p) for p in (TITAN, DESKTOP, ARNDALE))
    order = by_peak_efficiency()
    factor = told(lambda x, y: _efficiency(x) / _efficiency(y), TITAN, ARNDALE)
    by_table = platform(TITAN).flop_per_joule / platform(ARNDALE).flop_per_joule
    told_order = ", ".join(f"{label(p)} {_efficiency(p) / 1e9:.3g}" for p in order)
    return [
        printed("c_titan_peak", "flop/J without bytes", "16E9", titan, "flop/J"),
        printed("c_nehalem_peak", "flop/J without bytes", "62E7", desktop, "flop/J"),
        Row(says("c_order_ends"), "first", label(TITAN), label(order[0]), remark=f"Gflop/J: {told_order}"),
        Row(says("c_order_ends"), "last", label(DESKTOP), label(order[-1])),
        printed("c_arndale_peak", "flop/J without bytes", "8.1E9", arndale, "flop/J"),
        derived(
            "c_within_two",
            "GTX Titan over Arndale GPU",
            2.0,
            factor.value,
            corrected=by_table,
            remark=factor.remark,
        ),
        *_memory_efficiency(),
    ]


def _memory_efficiency() -> list[Row]:
    """Bytes per joule, which the paper prints as flops per joule."""
    found, per_joule = [], {}
    for p, number in ((ARNDALE, "1.5E9"), (TITAN, "1.3E9")):
        at = stream(p)
        per_joule[p] = at["bandwidth"] / at["power"]
        found.append(printed("c_memory", f"{label(p)}, read as byte/J", number, per_joule[p], "byte/J"))
        flops = run(p, intensity=1.0)
        item = f"{label(p)}, read as flop/J at one flop per byte"
        value = 1.0 / platform(p).energy_2(1.0, 1.0)
        found.append(derived("c_memory", item, float(number), flops["efficiency"], "flop/J", corrected=value))
    better = per_joule[ARNDALE] > per_joule[TITAN] and _efficiency(ARNDALE) < _efficiency(TITAN)
    return [*found, holds("c_boost", "more byte/J, less flop/J than the GTX Titan", ours=better)]


def _powers(name: str) -> tuple[float, float]:
    """Power of flops and of the memory, each at full rate."""
    flops, data = compute(uncapped(name)), stream(uncapped(name))
    return flops["energy_flop"] / flops["time"], data["energy_data"] / data["time"]


def _allocation() -> list[Row]:
    powers = {p: _powers(p) for p in platforms()}
    shares = [f / (f + m) for f, m in powers.values()]
    r = _correlation(shares, [_efficiency(p) for p in platforms()])
    return [
        holds(
            "c_allocation",
            f"{label(p)}: πf {'>' if flops_more else '<'} πm",
            ours=(powers[p][0] > powers[p][1]) is flops_more,
            remark=f"{powers[p][0]:.3g} W, {powers[p][1]:.3g} W",
        )
        for p, flops_more in ((TITAN, True), (ARNDALE, False))
    ] + [
        holds(
            "c_no_pattern",
            f"correlation of πf/(πf + πm) with peak flop/J below {DISCERNIBLE} (5 % level of 12 pairs)",
            ours=abs(r) < DISCERNIBLE,
            remark=f"{r:.2f}",
        )
    ]


def _correlation(x: list[float], y: list[float]) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def _range() -> list[Row]:
    """Power over the most power, as Figure 5 has it, and the number of regimes passed on the way."""
    lows, segments = {}, {}
    for p in platforms():
        at = curves(p, INTENSITIES)
        lows[p] = float(np.min(at["power"] / at["peak_power"]))
        segments[p] = len(set(np.broadcast_to(at["regime"], INTENSITIES.shape).tolist()))
    least = min(lows, key=lows.__getitem__)
    counts = ", ".join(f"{label(p)} {n}" for p, n in segments.items() if n < 3)
    return [
        holds(
            "c_segments",
            "12 platforms, 0.25 to 128 flop:Byte",
            ours=max(segments.values()) == 3,
            remark=f"fewer: {counts}",
        ),
        printed(
            "c_range_low",
            "least of the model, 0.25 to 128 flop:Byte",
            "0.65",
            lows[least],
            remark=f"on {label(least)}",
        ),
        holds(
            "c_narrow",
            "12 platforms by the model",
            ours=1.0 / lows[least] < 2.0,
            remark=f"at most {1.0 / lows[least]:.2f} times",
        ),
    ]


def _constant_share(spec: Spec) -> float:
    at = run(spec, intensity=1.0)
    return at["energy_constant"] / at["time"] / at["peak_power"]


def _share() -> list[Row]:
    shares = {p: _constant_share(p) for p in platforms()}
    above = sorted((p for p in shares if shares[p] > 0.5), key=shares.__getitem__, reverse=True)
    remark = ", ".join(f"{label(p)} {shares[p]:.0%}" for p in above)
    r = _correlation(list(shares.values()), [_efficiency(p) for p in platforms()])
    by_table = _correlation(
        [p.pi_1 / (p.pi_1 + p.delta_pi) for p in platforms().values()],
        [p.flop_per_joule for p in platforms().values()],
    )
    return [
        Row(says("c_seven"), "platforms", 7, len(above), tolerance=0.0, remark=remark),
        Row(says("v_seven"), "platforms", 7, len(above), tolerance=0.0),
        printed("c_correlation", "Pearson, 12 platforms", "-0.6", r),
        derived("c_correlation", "the same by the formulas", by_table, r),
    ]


def _streaming() -> list[Row]:
    found, totals = [], {}
    eps = {p: machines.get(machine(p)).parameters["energy_per_byte"] for p in platforms()}
    lowest = min(eps, key=eps.__getitem__)
    found.append(Row(says("c_lowest"), "least εmem", label(PHI), label(lowest)))
    rates = {p: stream(p)["bandwidth"] for p in (TITAN, PHI)}
    remark = (
        f"{rates[TITAN] / 1e9:.0f} against {rates[PHI] / 1e9:.0f} GB/s sustained (288 against 320 claimed)"
    )
    found.append(holds("c_higher", "bandwidth when streaming", ours=rates[TITAN] > rates[PHI], remark=remark))
    printed_numbers = {
        PHI: ("136E-12", "994E-12", "1.13E-9"),
        TITAN: ("267E-12", "515E-12", "782E-12"),
        ARNDALE: ("518E-12", "153E-12", "671E-12"),
    }
    of_data, charge, total = [], [], []
    for p, numbers in printed_numbers.items():
        at = stream(p)
        moved = at["bandwidth"] * at["time"]
        totals[p] = at["energy"] / moved
        of_data.append(printed("c_eps_mem", label(p), numbers[0], at["energy_data"] / moved, "J/byte"))
        charge.append(printed("c_charge", label(p), numbers[1], at["energy_constant"] / moved, "J/byte"))
        total.append(printed("c_total", label(p), numbers[2], totals[p], "J/byte"))
    inverted = sorted(totals, key=totals.__getitem__) == sorted(totals, key=eps.__getitem__, reverse=True)
    return [
        *found,
        *of_data,
        *charge,
        *total,
        holds("c_invert", "order of the three platforms", ours=inverted),
    ]


def _octaves(name: str) -> float:
    """Width of the capped range in doublings of intensity."""
    at = run(name, intensity=1.0)
    low, high = at["balance_low"], at["balance_high"]
    return math.log2(high / low) if low > 0.0 and math.isfinite(high) else math.inf


def _caps() -> list[Row]:
    wide = {p: _octaves(p) for p in ("nuc_cpu", "nuc_gpu", "apu_cpu", "apu_gpu")}
    narrow = {p: _octaves(p) for p in (TITAN, PHI)}
    remark = ", ".join(f"{label(p)} {w:.2f}" for p, w in (wide | narrow).items())
    wider = min(wide.values()) > max(narrow.values())
    parameters = machines.get(machine("gtx580")).parameters
    return [
        holds("c_wider", "B- to B+ in doublings of intensity", ours=wider, remark=remark),
        printed("c_label", "GTX 580: constant", "12E1", parameters["constant_power"], "W"),
        printed("c_label", "GTX 580: cap", "15E1", parameters["usable_power"], "W"),
    ]
