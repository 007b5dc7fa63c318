"""Section I-A: a GTX Titan against Arndale GPUs, one and as many as its power pays for (Figure 1)."""

from __future__ import annotations

from scipy.optimize import brentq

from dse.papers.choi2014.formulas import platform
from dse.papers.choi2014.mixes import block_system, fastest_within, most_within
from dse.papers.choi2014.platforms import Spec, cells, compute, label, run, stream, told
from dse.papers.choi2014.rows import EXACT, derived, holds, printed, says
from dse.papers.report import Row

TITAN, ARNDALE = "gtx_titan", "arndale_gpu"
BLOCKS = 47
INTENSITIES = tuple(2.0 ** (k / 4.0) for k in range(-32, 49))


def rows() -> list[Row]:
    """What the preview says of one Arndale GPU, then of 47."""
    return [*_specifications(), *_flop_per_joule(), *_in_number(), *_forty_seven()]


def _specifications() -> list[Row]:
    peak = {p: float(cells()[p]["vendor_peak_single_flop_per_s"]) for p in (TITAN, ARNDALE)}
    board = run("arndale_cpu", intensity=1.0)["peak_power"], run(ARNDALE, intensity=1.0)["peak_power"]
    faster = [_ratio(I, "performance", 1) for I in INTENSITIES]
    return [
        printed("a_titan_peak", "Table I, vendor's peak", "5E12", peak[TITAN], "flop/s"),
        printed("a_arndale_peak", "Table I, vendor's peak", "72E9", peak[ARNDALE], "flop/s"),
        holds(
            "a_arndale_board",
            "most power of the model: CPU or GPU",
            ours=max(board) < 10.0,
            remark=f"{board[0]:.2f} W, {board[1]:.2f} W",
        ),
        holds(
            "a_specifications",
            "5 Tflop/s in 250 W against 72 Gflop/s in 10 W",
            ours=5e12 / 250.0 > 72e9 / 10.0,
            remark="20 against 7.2 Gflop/J, as the paper gives them",
        ),
        holds(
            "a_faster",
            "at every intensity",
            ours=max(faster) < 0.1,
            remark=f"{1.0 / max(faster):.0f} to {1.0 / min(faster):.0f} times as fast",
        ),
    ]


def _ratio(I: float, metric: str, blocks: int) -> float:
    """That many Arndale GPUs over a GTX Titan."""
    return block_system(blocks, ARNDALE, I)[metric] / run(TITAN, intensity=I)[metric]


def _flop_per_joule() -> list[Row]:
    equal = brentq(lambda I: _ratio(I, "efficiency", 1) - 1.0, 0.5, 4.0, xtol=1e-13)
    t, a = platform(TITAN), platform(ARNDALE)
    # between them the Titan is memory-bound and the Arndale GPU capped, so that both energies are linear in 1/I
    load = 1.0 + a.pi_1 / a.delta_pi
    crossing = (load * a.eps_mem - t.joule_per_byte) / (t.eps_flop - load * a.eps_flop)
    at_4 = t.energy_2(1.0, 4.0) / a.energy_2(1.0, 4.0)
    shares = ", ".join(f"{_ratio(I, 'efficiency', 1):.2f} at {I:g}" for I in (0.25, 0.5, 2.0, 4.0))
    factor = told(lambda x, y: compute(x)["efficiency"] / compute(y)["efficiency"], TITAN, ARNDALE)
    return [
        derived(
            "a_match",
            "intensity of equal flop/J",
            4.0,
            equal,
            "flop/byte",
            corrected=crossing,
            tolerance=1e-9,
            remark=f"Arndale GPU over GTX Titan: {shares}",
        ),
        derived(
            "a_match", "Arndale GPU over GTX Titan at 4", 1.0, _ratio(4.0, "efficiency", 1), corrected=at_4
        ),
        derived(
            "a_within_two",
            "GTX Titan over Arndale GPU, most",
            2.0,
            factor.value,
            corrected=t.flop_per_joule / a.flop_per_joule,
            remark=factor.remark,
        ),
    ]


def _peak_power(spec: Spec) -> float:
    return run(spec, intensity=1.0)["peak_power"]


def _in_number() -> list[Row]:
    budget = _peak_power(TITAN)
    ratio = told(lambda x, y: _peak_power(x) / _peak_power(y), TITAN, ARNDALE)
    t, a = platform(TITAN), platform(ARNDALE)
    by_table = int((t.pi_1 + t.delta_pi) / (a.pi_1 + a.delta_pi))
    need = block_system(BLOCKS, ARNDALE, 1.0)["nameplate_power"]
    return [
        printed("a_count", "peak power of the one over the other", "47", ratio, remark=f"{ratio.value:.2f}"),
        derived(
            "a_count_within",
            f"within {budget:g} W",
            BLOCKS,
            most_within(ARNDALE, budget),
            corrected=by_table,
            remark=f"47 need {need:.2f} W",
        ),
    ]


def _forty_seven() -> list[Row]:
    bandwidth = told(lambda x, y: BLOCKS * stream(x)["bandwidth"] / stream(y)["bandwidth"], ARNDALE, TITAN)
    peak = told(lambda x, y: BLOCKS * compute(x)["performance"] / compute(y)["performance"], ARNDALE, TITAN)
    until = brentq(lambda I: _ratio(I, "performance", BLOCKS) - 1.0, 1.0, 16.0, xtol=1e-13)
    up_to_4 = [_ratio(I, "performance", BLOCKS) for I in INTENSITIES if I <= 4.0]
    best = [_fastest(I) for I in (0.25, 1.0, 4.0)]
    return [
        printed(
            "a_bandwidth", "most, over all intensities", "1.6", bandwidth, remark=f"{bandwidth.value:.3f}"
        ),
        holds(
            "a_outperform",
            "faster at all intensities up to 4",
            ours=min(up_to_4) > 1.0,
            remark=f"{up_to_4[-1]:.2f} times at 4, equal at {until:.2f}",
        ),
        *best,
        holds(
            "a_less_than_half", "share of its peak", ours=peak.value < 0.5, remark=f"{peak.value:.3f} of it"
        ),
        Row(
            says("a_less_than_half"),
            "the share, by (3)",
            BLOCKS * platform(TITAN).tau_flop / platform(ARNDALE).tau_flop,
            peak.value,
            tolerance=EXACT,
        ),
    ]


def _fastest(I: float) -> Row:
    """Which blocks make the fastest system within the GTX Titan's power, proved by the solver."""
    counts = fastest_within({TITAN: TITAN, ARNDALE: ARNDALE}, _peak_power(TITAN), I)
    kinds = " and ".join(label(kind) for kind, n in counts.items() if n)
    remark = ", ".join(f"{n} {label(kind)}" for kind, n in counts.items())
    return Row(
        says("a_outperform"), f"fastest blocks within 287 W at {I:g}", label(ARNDALE), kinds, remark=remark
    )
