"""Section I-A: a GTX Titan against Arndale GPUs, one and as many as its power pays for (Figure 1)."""

from __future__ import annotations

from scipy.optimize import brentq

from dse.papers.choi2014.formulas import platform
from dse.papers.choi2014.mixes import block_system, fastest_within, most_within
from dse.papers.choi2014.platforms import Spec, compute, label, run, stream, told
from dse.papers.choi2014.rows import answers, near
from dse.papers.comparer import Found

TITAN, ARNDALE = "gtx_titan", "arndale_gpu"
BLOCKS = round(answers.printed("a_count"))
INTENSITIES = tuple(2.0 ** (k / 4.0) for k in range(-32, 49))


@answers("a_titan_peak", "a_arndale_peak")
def _of_vendor(vendor_peak_single_flop_per_s: str) -> float:
    return float(vendor_peak_single_flop_per_s)


@answers("a_arndale_board")
def _board(most: str) -> Found:
    cpu, gpu = _peak_power("arndale_cpu"), _peak_power(ARNDALE)
    return Found(max(cpu, gpu) < float(most), told={"cpu": cpu, "gpu": gpu})


@answers("a_specifications")
def _specified(titan: str, titan_watt: str, arndale: str, arndale_watt: str) -> bool:
    return float(titan) / float(titan_watt) > float(arndale) / float(arndale_watt)


@answers("a_faster")
def _faster() -> Found:
    faster = [_blocks_over_titan(I, "performance", 1) for I in INTENSITIES]
    return Found(max(faster) < 0.1, told={"least": 1.0 / max(faster), "most": 1.0 / min(faster)})


def _blocks_over_titan(I: float, metric: str, blocks: int) -> float:
    """That many Arndale GPUs over a GTX Titan."""
    return block_system(blocks, ARNDALE, I)[metric] / run(TITAN, intensity=I)[metric]


@answers("a_match")
def _equal() -> Found:
    equal = brentq(lambda I: _blocks_over_titan(I, "efficiency", 1) - 1.0, 0.5, 4.0, xtol=1e-13)
    t, a = platform(TITAN), platform(ARNDALE)
    # between them the Titan is memory-bound and the Arndale GPU capped, so that both energies are linear in 1/I
    load = 1.0 + a.pi_1 / a.delta_pi
    crossing = (load * a.eps_mem - t.joule_per_byte) / (t.eps_flop - load * a.eps_flop)
    shares = ", ".join(
        f"{_blocks_over_titan(I, 'efficiency', 1):.2f} at {I:g}" for I in (0.25, 0.5, 2.0, 4.0)
    )
    return Found(equal, corrected=crossing, told={"shares": shares})


@answers("a_match:at_4")
def _at_4() -> Found:
    I = answers.printed("a_match")
    right = platform(TITAN).energy_2(1.0, I) / platform(ARNDALE).energy_2(1.0, I)
    return Found(_blocks_over_titan(I, "efficiency", 1), corrected=right)


@answers("a_within_two", "c_within_two")
def _factor() -> Found:
    factor = told(lambda x, y: compute(x)["efficiency"] / compute(y)["efficiency"], TITAN, ARNDALE)
    by_table = platform(TITAN).flop_per_joule / platform(ARNDALE).flop_per_joule
    return Found(factor.value, corrected=by_table, remark=factor.remark)


def _peak_power(spec: Spec) -> float:
    return run(spec, intensity=1.0)["peak_power"]


@answers("a_count")
def _power_ratio_found() -> Found:
    return near("a_count", told(lambda x, y: _peak_power(x) / _peak_power(y), TITAN, ARNDALE))


@answers("a_count_within")
def _most_blocks_within_power() -> Found:
    budget, t, a = _peak_power(TITAN), platform(TITAN), platform(ARNDALE)
    by_table = int((t.pi_1 + t.delta_pi) / (a.pi_1 + a.delta_pi))
    need = block_system(BLOCKS, ARNDALE, 1.0)["nameplate_power"]
    return Found(most_within(ARNDALE, budget), corrected=by_table, told={"budget": budget, "need": need})


@answers("a_bandwidth")
def _bandwidth() -> Found:
    share = told(lambda x, y: BLOCKS * stream(x)["bandwidth"] / stream(y)["bandwidth"], ARNDALE, TITAN)
    return near("a_bandwidth", share)


@answers("a_outperform")
def _outperform(I: str) -> Found:
    until = brentq(lambda x: _blocks_over_titan(x, "performance", BLOCKS) - 1.0, 1.0, 16.0, xtol=1e-13)
    below = [_blocks_over_titan(x, "performance", BLOCKS) for x in INTENSITIES if x <= float(I)]
    return Found(min(below) > 1.0, told={"at": below[-1], "until": until})


@answers("a_outperform:blocks")
def _fastest_within_power(I: str) -> Found:
    """Which blocks make the fastest system within the GTX Titan's power, proved by the solver."""
    counts = fastest_within({TITAN: TITAN, ARNDALE: ARNDALE}, _peak_power(TITAN), float(I))
    kinds = " and ".join(label(kind) for kind, n in counts.items() if n)
    return Found(kinds, told={"counts": ", ".join(f"{n} {label(kind)}" for kind, n in counts.items())})


def _of_peak() -> float:
    return BLOCKS * compute(ARNDALE)["performance"] / compute(TITAN)["performance"]


@answers("a_less_than_half")
def _less_than_half() -> Found:
    return Found(_of_peak() < 0.5, told={"value": _of_peak()})


@answers("a_less_than_half:formula")
def _share_of_peak_found() -> Found:
    return Found(_of_peak(), BLOCKS * platform(TITAN).tau_flop / platform(ARNDALE).tau_flop)
