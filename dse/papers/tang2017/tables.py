"""Tables I to VI and section 6.3: parameters, processors, balances, gradients, categories, and counts."""

from __future__ import annotations

from functools import partial

from dse.papers.comparer import Found
from dse.papers.sources import rounding
from dse.papers.tang2017 import formulas
from dse.papers.tang2017.platforms import (
    WIDTHS,
    answers,
    by_equation_6,
    catalogue,
    counts,
    estimate,
    flag,
    model,
    processors,
)

# Table II: the paper's letter, our parameter, and how many of the unit of Table IV ours is
PARAMETERS = {
    "t_f": ("time_per_flop", 1e12),
    "t_b": ("time_per_byte", 1e12),
    "e_f": ("energy_per_flop", 1e12),
    "e_b": ("energy_per_byte", 1e12),
    "p_s": ("constant_power", 1.0),
}
# issue width by which Table V's balances of the CPUs are too small
ISSUE_WIDTH = WIDTHS["CPU"]
PS = 1e12
Pair = tuple[float, float]


def _of_partition(case: str) -> tuple[Pair, Pair]:
    """Flops and bytes of both sides of the code partition, by the model."""
    m = estimate(case, "i7+Titan", "CP", "B")
    cpu, gpu = ((float(m[f"flops.{p}"]), float(m[f"bytes.{p}"])) for p in ("cpu", "gpu"))
    return cpu, gpu


def _quantity(name: str, cpu: Pair, gpu: Pair) -> tuple[float, str]:
    """Return a quantity of Table I and its unit; a letter at the end says of which side."""
    both = cpu[0] + gpu[0], cpu[1] + gpu[1]
    flops, data = {"C": cpu, "G": gpu}.get(name[-1], both)
    kinds = {"N_f": (flops, "flop"), "N_b": (data, "byte"), "I": (flops / data, "flop/byte")}
    return kinds[name.removesuffix("C").removesuffix("G").removesuffix("_")]


@answers("t1")
def _workload(quantity: str) -> Found:
    """Flops, bytes and intensities of SA's code partition: counted from its listing, and by the model."""
    printed, unit = _quantity(quantity, *counts("SA"))
    return Found(_quantity(quantity, *_of_partition("SA"))[0], printed, told={"unit": unit})


@answers("t2")
def _parameter(side: str, letter: str) -> Found:
    name = f"machine.{'cpu' if side == 'C' else 'gpu'}.{PARAMETERS[letter][0]}"
    known = {f"machine.{q.name}" for q in model(1).machine}
    return Found(name if name in known else "absent", name)


@answers("t3_tf")
def _time_per_flop(processor_id: str, issue_width: str, t_flop_ps: str) -> Found:
    as_printed = by_equation_6(processor_id, float(issue_width)) * PS
    meant = by_equation_6(processor_id) * PS
    ours = catalogue(processor_id)["time_per_flop"] * PS
    corrected = meant if meant != as_printed else None
    return Found(ours, as_printed, corrected, tolerance=rounding(t_flop_ps) * 1.2)


@answers("t3_i7")
def _of_the_i7(processor_id: str, issue_width: str) -> Found:
    right = by_equation_6(processor_id, float(issue_width)) * PS
    return Found(by_equation_6(processor_id) * PS, corrected=right)


@answers("t3_footnote")
def _footnote(processor_id: str) -> Found:
    ours = catalogue(processor_id)["time_per_flop"] * PS
    one, meant = (by_equation_6(processor_id, width) * PS for width in (1.0, None))
    return Found(ours, one, corrected=meant)


def _catalogue_value(parameter: str, scale: float, processor_id: str) -> float:
    return catalogue(processor_id)[parameter] * scale


for letter, of_letter in PARAMETERS.items():
    answers("t4" if letter == "t_f" else f"t4:{letter}")(partial(_catalogue_value, *of_letter))


@answers("t5_blc")
def _balance_of_cpu(platform: str) -> Found:
    C = formulas.platform(platform).C
    right = C.t_b / C.t_f
    ours = estimate("SA", platform, "CO")["balance.cpu"]
    return Found(ours, corrected=right, told={"eighth": right / ISSUE_WIDTH})


@answers("t5_blg")
def _balance_of_gpu(platform: str) -> Found:
    printed = processors()[formulas.PLATFORMS[platform][1]]
    slack = sum(rounding(printed[c]) for c in ("t_flop_ps", "t_byte_ps"))
    return Found(estimate("SA", platform, "CO")["balance.gpu"], slack=slack)


def _gradient(place: int, metric: str, platform: str) -> Found:
    ours = estimate("SA", platform, "CO")[metric] * PS
    return Found(ours, corrected=formulas.platform(platform).gradients[place] * PS)


answers("t6_f")(partial(_gradient, 0, "gradient_flop"))
answers("t6_b")(partial(_gradient, 1, "gradient_byte"))
answers("t5_category")(lambda platform: flag(platform, "performance_category"))
answers("t6_category")(lambda platform: flag(platform, "energy_category"))


@answers("t6_ps")
def _static(cpu: str, gpu: str, platform: str) -> Found:
    ours = sum(catalogue(p)["constant_power"] for p in (cpu, gpu))
    return Found(ours, corrected=formulas.platform(platform).static)


@answers("t6_identifiers")
def _identifiers(platform: str) -> Found:
    category = flag(platform, "energy_category")
    return Found(category, " and ".join(formulas.platform(platform).printed_categories), corrected=category)


answers("w_counts")(lambda iterations: _per_iteration("flops.gpu", iterations))
answers("w_counts:bytes")(lambda iterations: _per_iteration("bytes.gpu", iterations))


def _per_iteration(metric: str, iterations: str) -> float:
    return float(estimate("SA", "i7+Titan", "GO", "B")[metric]) / float(iterations)


@answers("w_counts:products")
def _products(powers: str, products: str, flops: str) -> bool:
    return int(powers) * (int(products) + 1) == int(flops)


def _intensity(name: str, case: str) -> Found:
    remark = "" if case == "SA" else "counts reconstructed: 2 flops and 8 bytes per multiply-add"
    return Found(_quantity(name, *_of_partition(case))[0], remark=remark)


for quantity in ("I", "I_C", "I_G"):
    answers("w_intensity" if quantity == "I" else f"w_intensity:{quantity}")(partial(_intensity, quantity))
