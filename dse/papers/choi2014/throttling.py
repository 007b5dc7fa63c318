"""Sections V-D and VI: usable power lowered to Δπ/k (Figures 6 and 7), and a node held to half its power."""

from __future__ import annotations

import numpy as np

from dse import machines
from dse.papers.choi2014.formulas import platform, platforms
from dse.papers.choi2014.mixes import block_system, most_within
from dse.papers.choi2014.platforms import Spec, cells, curves, label, machine, run, told
from dse.papers.choi2014.rows import derived, holds, printed, says
from dse.papers.report import Row

TITAN, ARNDALE, PHI = "gtx_titan", "arndale_gpu", "xeon_phi"
THROTTLES = (2.0, 4.0, 8.0)
INTENSITIES = 2.0 ** np.linspace(-8.0, 12.0, 401)
MEMORY_BOUND, COMPUTE_BOUND = (0.25, 1.0), (128.0,)
BLOCKS = 23
LOW = 0.25
# shares that are equal but for rounding are a tie
TIE = 1e-9


def rows() -> list[Row]:
    """What sections V-D and VI say."""
    return [*_power(), *_degrading(), *_designs(), *_bounding(), _random()]


def _power() -> list[Row]:
    found = []
    left = {}
    for k in THROTTLES:
        shares = {
            p: float(np.min(curves(p, INTENSITIES, throttle=k)["power"] / curves(p, INTENSITIES)["power"]))
            for p in platforms()
        }
        least = min(shares, key=shares.__getitem__)
        remark = f"at least {shares[least]:.3f} of it is left, on {label(least)}"
        found.append(
            holds("h_less_than_k", f"12 platforms, k = {k:g}", ours=shares[least] > 1.0 / k, remark=remark)
        )
        left[k] = {
            p: run(p, intensity=1.0, throttle=k)["peak_power"] / run(p, intensity=1.0)["peak_power"]
            for p in platforms()
        }
    for k, of_platform in left.items():
        order = sorted(of_platform, key=of_platform.__getitem__)
        item = f"share of the most power left, k = {k:g}"
        remark = ", ".join(f"{label(p)} {of_platform[p]:.3f}" for p in (order[0], *order[-3:]))
        found.append(Row(says("h_most"), item, label(ARNDALE), label(order[0]), remark=remark))
        last = {"apu_cpu", "apu_gpu", PHI}
        found.append(holds("h_least", item, ours=set(order[-3:]) == last))
    return found


def _keeps(metric: str, I: float, k: float) -> dict[str, float]:
    """Share of a metric that every platform keeps at Δπ/k, by the model."""
    return {p: run(p, intensity=I, throttle=k)[metric] / run(p, intensity=I)[metric] for p in platforms()}


def _keeps_by_table(metric: str, I: float, k: float) -> dict[str, float]:
    """Return the same by the paper's formulas."""
    if metric == "performance":
        return {n: p.time_4(1.0, I) / p.throttled(k).time_4(1.0, I) for n, p in platforms().items()}
    return {n: p.energy_2(1.0, I) / p.throttled(k).energy_2(1.0, I) for n, p in platforms().items()}


def _best(shares: dict[str, float], claimed: str) -> str:
    """Return who keeps most; the claimed one where it ties with the best."""
    best = max(shares, key=shares.__getitem__)
    return claimed if shares[claimed] >= shares[best] * (1.0 - TIE) else best


def _degrading() -> list[Row]:
    found = []
    for statement, metric, claimed, intensities in (
        ("h_memory", "performance", TITAN, MEMORY_BOUND),
        ("h_compute", "performance", "nuc_cpu", COMPUTE_BOUND),
        ("h_memory_energy", "efficiency", TITAN, MEMORY_BOUND),
        ("h_compute_energy", "efficiency", "nuc_cpu", COMPUTE_BOUND),
    ):
        for I in intensities:
            for k in THROTTLES:
                shares = _keeps(metric, I, k)
                ours, right = _best(shares, claimed), _best(_keeps_by_table(metric, I, k), claimed)
                order = sorted(shares, key=shares.__getitem__, reverse=True)[:3]
                remark = ", ".join(f"{label(p)} {shares[p]:.3f}" for p in order)
                corrected = label(right) if right != claimed else None
                item = f"I = {I:g}, k = {k:g}"
                found.append(
                    derived(statement, item, label(claimed), label(ours), corrected=corrected, remark=remark)
                )
    return found


def _designs() -> list[Row]:
    found = []
    for statement, name, of_compute in (("h_over_compute", TITAN, True), ("h_over_memory", "nuc_cpu", False)):
        v = machines.get(machine(name)).parameters
        powers = v["energy_per_flop"] / v["time_per_flop"], v["energy_per_byte"] / v["time_per_byte"]
        remark = f"πf {powers[0]:.3g} W, πm {powers[1]:.3g} W"
        found.append(holds(statement, label(name), ours=(powers[0] > powers[1]) is of_compute, remark=remark))
    return found


def _node(spec: Spec, k: float) -> float:
    """Most power of a node with Δπ/k."""
    return run(spec, intensity=1.0, throttle=k)["peak_power"]


def _faster(spec: Spec, node: Spec, **held: float) -> float:
    """How much faster 23 blocks are than a node held back, at the intensity of the paper."""
    return block_system(BLOCKS, spec, LOW)["performance"] / run(node, intensity=LOW, **held)["performance"]


def _bounding() -> list[Row]:
    half = _node(TITAN, 1.0) / 2.0
    share = told(
        lambda x: run(x, intensity=LOW, throttle=8.0)["performance"] / run(x, intensity=LOW)["performance"],
        TITAN,
    )
    t, a = platform(TITAN), platform(ARNDALE)
    by_table = BLOCKS * t.throttled(8.0).time_4(1.0, LOW) / a.time_4(1.0, LOW)
    faster = told(lambda x, y: _faster(x, y, throttle=8.0), ARNDALE, TITAN)
    over_all = np.max(
        BLOCKS
        * curves(ARNDALE, INTENSITIES)["performance"]
        / curves(TITAN, INTENSITIES, throttle=8.0)["performance"]
    )
    exactly = {**machines.get(machine(TITAN)).parameters, "usable_power": 140.0 - t.pi_1}
    first = 47 * run(ARNDALE, intensity=LOW)["performance"] / run(TITAN, intensity=LOW)["performance"]
    need = block_system(BLOCKS, ARNDALE, LOW)["nameplate_power"]
    return [
        printed("n_half", "half of π1 + Δπ", "14E1", half, "W"),
        derived("n_k", "π1 + Δπ/8 beside half of π1 + Δπ", half, _node(TITAN, 8.0), "W"),
        printed("n_performance", "GTX Titan at Δπ/8 over at Δπ", "0.31", share, remark=f"{share.value:.4f}"),
        printed("n_count", "140 W over the Arndale GPU's peak power", "23", 140.0 / _node(ARNDALE, 1.0)),
        Row(
            says("n_count"),
            "most within the half, 143.5 W",
            BLOCKS,
            most_within(ARNDALE, half),
            tolerance=0.0,
            remark=f"23 may draw {need:.2f} W, so only 22 fit into 140 W",
        ),
        derived(
            "n_faster",
            "23 Arndale GPUs over a GTX Titan at Δπ/8",
            2.8,
            faster.value,
            corrected=by_table,
            remark=f"{faster.remark}; over all intensities at most {over_all:.3f}; "
            f"over a GTX Titan at 140 W {_faster(ARNDALE, exactly):.2f}",
        ),
        holds(
            "n_better",
            "than 47 over an unthrottled GTX Titan",
            ours=faster.value > first,
            remark=f"{first:.2f}",
        ),
    ]


def _random() -> Row:
    machine_of = {p: machines.get(machine(p)).parameters for p in platforms()}
    name = "energy_per_access"
    energies = {p: values[name] for p, values in machine_of.items() if name in values}
    others = {p: e / energies[PHI] for p, e in energies.items() if p != PHI}
    nearest = min(others, key=others.__getitem__)
    printed_cells = [
        float(row["eps_rand_J_per_access"])
        for p, row in cells().items()
        if row["eps_rand_J_per_access"] and p != PHI
    ]
    by_table = min(printed_cells) / float(cells()[PHI]["eps_rand_J_per_access"])
    beyond = sum(e >= 10.0 for e in others.values())
    remark = f"{beyond} of the other {len(others)} with a value take at least ten times as much"
    item = f"the next lowest, {label(nearest)}"
    return derived("v_random", item, 10.0, others[nearest], corrected=by_table, remark=remark)
