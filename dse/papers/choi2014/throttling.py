"""Sections V-D and VI: usable power lowered to Δπ/k (Figures 6 and 7), and a node held to half its power."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from dse import machines
from dse.papers.choi2014.constant_power import ARNDALE, PHI, TITAN, powers
from dse.papers.choi2014.formulas import platform, platforms
from dse.papers.choi2014.mixes import block_system, most_within
from dse.papers.choi2014.platforms import Spec, cells, curves, label, machine, run, told
from dse.papers.choi2014.rows import answers, near
from dse.papers.comparer import Found

INTENSITIES = 2.0 ** np.linspace(-8.0, 12.0, 401)
BLOCKS, FIRST = (round(answers.printed(line)) for line in ("n_count", "a_count"))
# shares that are equal but for rounding are a tie
SHARE_TIE = 1e-9


@answers("h_less_than_k")
def _less_than_k(k: str) -> Found:
    shares = {
        p: float(np.min(curves(p, INTENSITIES, throttle=float(k))["power"] / curves(p, INTENSITIES)["power"]))
        for p in platforms()
    }
    least = min(shares, key=shares.__getitem__)
    return Found(shares[least] > 1.0 / float(k), told={"least": shares[least], "worst": label(least)})


@cache
def _power_kept(k: str) -> dict[str, float]:
    """Share of the most power that every platform keeps at Δπ/k, in rising order."""
    shares = {p: _node(p, float(k)) / _node(p, 1.0) for p in platforms()}
    return dict(sorted(shares.items(), key=lambda item: item[1]))


@answers("h_most")
def _loses_most_found(k: str) -> Found:
    order, left = [*_power_kept(k)], _power_kept(k)
    shown = ", ".join(f"{label(p)} {left[p]:.3f}" for p in (order[0], *order[-3:]))
    return Found(label(order[0]), told={"order": shown})


@answers("h_least")
def _least_left_are_claimed(k: str) -> bool:
    return {*[*_power_kept(k)][-3:]} == {"apu_cpu", "apu_gpu", PHI}


def _keeps(metric: str, I: float, k: float) -> dict[str, float]:
    """Share of a metric that every platform keeps at Δπ/k, by the model."""
    return {p: run(p, intensity=I, throttle=k)[metric] / run(p, intensity=I)[metric] for p in platforms()}


def _keeps_by_table(metric: str, I: float, k: float) -> dict[str, float]:
    """Return the same by the paper's formulas."""
    if metric == "performance":
        return {n: p.time_4(1.0, I) / p.throttled(k).time_4(1.0, I) for n, p in platforms().items()}
    return {n: p.energy_2(1.0, I) / p.throttled(k).energy_2(1.0, I) for n, p in platforms().items()}


def _keeps_most(shares: dict[str, float], claimed: str) -> str:
    """Return who keeps most; the claimed one where it ties with the best."""
    best = max(shares, key=shares.__getitem__)
    return label(claimed if shares[claimed] >= shares[best] * (1.0 - SHARE_TIE) else best)


def _degrading(metric: str, claimed: str, I: str, k: str) -> Found:
    shares = _keeps(metric, float(I), float(k))
    right = _keeps_most(_keeps_by_table(metric, float(I), float(k)), claimed)
    order = sorted(shares, key=shares.__getitem__, reverse=True)[:3]
    shown = ", ".join(f"{label(p)} {shares[p]:.3f}" for p in order)
    return Found(_keeps_most(shares, claimed), corrected=right, told={"order": shown})


for end, claimed in (("memory", TITAN), ("compute", "nuc_cpu")):
    answers(f"h_{end}")(partial(_degrading, "performance", claimed))
    answers(f"h_{end}_energy")(partial(_degrading, "efficiency", claimed))


def _overprovisioned(of_compute: bool, name: str) -> Found:
    flops, data = powers(name)
    return Found((flops > data) is of_compute, told={"flops": flops, "data": data})


answers("h_over_compute")(partial(_overprovisioned, True))
answers("h_over_memory")(partial(_overprovisioned, False))


def _node(spec: Spec, k: float) -> float:
    """Most power of a node with Δπ/k."""
    return run(spec, intensity=1.0, throttle=k)["peak_power"]


def _half() -> float:
    return _node(TITAN, 1.0) / 2.0


def _speed(spec: Spec, I: str, **held: float) -> float:
    return run(spec, intensity=float(I), **held)["performance"]


answers("n_half")(_half)
answers("n_k")(lambda k: Found(_node(TITAN, float(k)), _half()))


@answers("n_performance")
def _performance(I: str, k: str) -> Found:
    return near("n_performance", told(lambda x: _speed(x, I, throttle=float(k)) / _speed(x, I), TITAN))


answers("n_count")(lambda: answers.printed("n_half") / _node(ARNDALE, 1.0))


@answers("n_count:most")
def _within_half(I: str) -> Found:
    need = block_system(BLOCKS, ARNDALE, float(I))["nameplate_power"]
    return Found(most_within(ARNDALE, _half()), told={"need": need})


@cache
def _faster(I: str, k: str) -> tuple[float, str]:
    """How much faster the blocks are than a throttled GTX Titan, and what the rounding of Table I does to it."""

    def over(x: Spec, y: Spec) -> float:
        return block_system(BLOCKS, x, float(I))["performance"] / _speed(y, I, throttle=float(k))

    found = told(over, ARNDALE, TITAN)
    return found.value, found.remark


@answers("n_faster")
def _blocks(I: str, k: str) -> Found:
    t, a = platform(TITAN), platform(ARNDALE)
    by_table = BLOCKS * t.throttled(float(k)).time_4(1.0, float(I)) / a.time_4(1.0, float(I))
    titan = curves(TITAN, INTENSITIES, throttle=float(k))["performance"]
    over_all = np.max(BLOCKS * curves(ARNDALE, INTENSITIES)["performance"] / titan)
    watts = answers.printed("n_half")
    exactly = {**machines.get(machine(TITAN)).parameters, "usable_power": watts - t.pi_1}
    at_140 = block_system(BLOCKS, ARNDALE, float(I))["performance"] / _speed(exactly, I)
    value, remark = _faster(I, k)
    remark += f"; over all intensities at most {over_all:.3f}; over a GTX Titan at {watts:g} W {at_140:.2f}"
    return Found(value, corrected=by_table, remark=remark)


@answers("n_better")
def _better(I: str, k: str) -> Found:
    first = FIRST * _speed(ARNDALE, I) / _speed(TITAN, I)
    return Found(_faster(I, k)[0] > first, told={"first": first})


@answers("v_random")
def _random() -> Found:
    name = "energy_per_access"
    machine_of = {p: machines.get(machine(p)).parameters for p in platforms()}
    energies = {p: values[name] for p, values in machine_of.items() if name in values}
    others = {p: e / energies[PHI] for p, e in energies.items() if p != PHI}
    nearest = min(others, key=others.__getitem__)
    printed = {p: row["eps_rand_J_per_access"] for p, row in cells().items()}
    by_table = min(float(e) for p, e in printed.items() if e and p != PHI) / float(printed[PHI])
    beyond = sum(e >= answers.printed("v_random") for e in others.values())
    told = {"nearest": label(nearest), "beyond": beyond, "count": len(others)}
    return Found(others[nearest], corrected=by_table, told=told)
