"""Tables I to VI: parameters, processors, balances, gradients and categories, beside catalogue and model."""

from __future__ import annotations

from dse.papers.report import Row
from dse.papers.sources import rounding, table
from dse.papers.tang2017.formulas import PLATFORMS, platform
from dse.papers.tang2017.platforms import (
    by_equation_6,
    catalogue,
    counts,
    estimate,
    flag,
    intensities,
    model,
    processors,
)
from dse.papers.tang2017.rows import EXACT, derived, holds, printed, says

# Table II: the paper's letter, our parameter, column of Table IV, its unit and how many of ours it is
PARAMETERS = (
    ("t_f", "time_per_flop", "t_flop_ps", "ps/flop", 1e12),
    ("t_b", "time_per_byte", "t_byte_ps", "ps/byte", 1e12),
    ("e_f", "energy_per_flop", "e_flop_pJ", "pJ/flop", 1e12),
    ("e_b", "energy_per_byte", "e_byte_pJ", "pJ/byte", 1e12),
    ("p_s", "constant_power", "p_static_W", "W", 1.0),
)
# issue width by which Table V's balances of the CPUs are too small
WIDTH = 8.0
PS = 1e12


def rows() -> list[Row]:
    """Every cell of every table."""
    return [*_one(), *_two(), *_three(), *_four(), *_five(), *_six()]


def _one() -> list[Row]:
    """Flops, bytes and intensities of SA's code partition: counted from its listing, and by the model."""
    two, found = counts("SA"), estimate("SA", "i7+Titan", "CP", "B")
    if two is None:
        raise ValueError("SA has counts")
    (f_C, b_C), (f_G, b_G) = two
    ours = {k: float(found[k]) for k in ("flops.cpu", "bytes.cpu", "flops.gpu", "bytes.gpu")}
    both = ours["flops.cpu"] + ours["flops.gpu"], ours["bytes.cpu"] + ours["bytes.gpu"]
    values = (
        ("N_fC", f_C, ours["flops.cpu"], "flop"),
        ("N_bC", b_C, ours["bytes.cpu"], "byte"),
        ("I_C", f_C / b_C, ours["flops.cpu"] / ours["bytes.cpu"], "flop/byte"),
        ("N_fG", f_G, ours["flops.gpu"], "flop"),
        ("N_bG", b_G, ours["bytes.gpu"], "byte"),
        ("I_G", f_G / b_G, ours["flops.gpu"] / ours["bytes.gpu"], "flop/byte"),
        ("N_f", f_C + f_G, both[0], "flop"),
        ("N_b", b_C + b_G, both[1], "byte"),
        ("I", (f_C + f_G) / (b_C + b_G), both[0] / both[1], "flop/byte"),
    )
    return [derived("t1", name, paper, mine, unit) for name, paper, mine, unit in values]


def _two() -> list[Row]:
    known = {f"machine.{q.name}" for q in model(1).machine}
    wanted = [
        (f"{letter}{side}", f"machine.{entry}.{name}")
        for side, entry in (("C", "cpu"), ("G", "gpu"))
        for letter, name, *_ in PARAMETERS
    ]
    return [derived("t2", letter, name, name if name in known else "absent") for letter, name in wanted]


def _three() -> list[Row]:
    found = []
    for name, row in processors().items():
        text, width = row["t_flop_ps"], float(row["issue_width"])
        as_printed, ours = by_equation_6(name, width) * PS, catalogue(name)["time_per_flop"] * PS
        remark = f"{row['n_cores']} cores, {row['base_clock_MHz']} MHz, width {width:g}"
        if name == "i7_2600k":
            item = f"{row['name']}, by (6)"
            found.append(
                derived("t3_i7", item, float(text), by_equation_6(name) * PS, "ps", corrected=as_printed)
            )
            continue
        meant = by_equation_6(name) * PS
        corrected = meant if meant != as_printed else None
        found.append(
            Row(says("t3_tf"), row["name"], as_printed, ours, "ps", corrected, rounding(text) * 1.2, remark)
        )
        if row["type"] == "CPU":
            one = by_equation_6(name, 1.0) * PS
            item = f"{row['name']} with width 1"
            found.append(derived("t3_footnote", item, one, ours, "ps", corrected=meant))
    return found


def _four() -> list[Row]:
    return [
        printed("t4", f"{row['name']}, {letter}", row[column], catalogue(name)[parameter] * scale, unit)
        for name, row in processors().items()
        for letter, parameter, column, unit, scale in PARAMETERS
    ]


def _five() -> list[Row]:
    found = []
    for line in table("tang2017_tables_5_6"):
        name, says_cpu, says_gpu = line["platform"], line["BL_C_flop_per_B"], line["BL_G_flop_per_B"]
        p, ours, unit = platform(name), estimate("SA", line["platform"], "CO"), "flop/byte"
        right = p.C.t_b / p.C.t_f
        remark = f"an eighth of it is {right / WIDTH:.3f}"
        found.append(
            printed("t5_blc", name, says_cpu, ours["balance.cpu"], unit, corrected=right, remark=remark)
        )
        slack = sum(rounding(processors()[PLATFORMS[name][1]][c]) for c in ("t_flop_ps", "t_byte_ps"))
        remark = "within the rounding of Table IV's t_f and t_b"
        found.append(printed("t5_blg", name, says_gpu, ours["balance.gpu"], unit, slack=slack, remark=remark))
        found.append(derived("t5_category", name, line["ppaw_category"], flag(name, "performance_category")))
    return found


def _six() -> list[Row]:
    found = []
    for line in table("tang2017_tables_5_6"):
        name, ours = line["platform"], estimate("SA", line["platform"], "CO")
        p = platform(name)
        flop, byte = (x * PS for x in p.gradients)
        static = sum(catalogue(x)["constant_power"] for x in PLATFORMS[name])
        category = flag(name, "energy_category")
        identified = " and ".join(p.printed_categories)
        right = category if identified != category else None
        print_f, print_b, print_s = (line[c] for c in ("delta_GP_f", "delta_GP_b", "ps_sum_W"))
        mine_f, mine_b = ours["gradient_flop"] * PS, ours["gradient_byte"] * PS
        remark = "the text says joules"
        found += [
            derived("t6_f", name, float(print_f), mine_f, "pJ/flop", corrected=flop, remark=remark),
            derived("t6_b", name, float(print_b), mine_b, "pJ/byte", corrected=byte, remark=remark),
            derived("t6_ps", name, float(print_s), static, "W", corrected=p.static),
            derived("t6_category", name, line["epaw_category"], category),
            derived("t6_identifiers", name, identified, category, corrected=right),
        ]
    return found


def intensity_rows() -> list[Row]:
    """Return section 6.3: counts of SA's listing, and the intensities that the counts give."""
    per_iteration = estimate("SA", "i7+Titan", "GO", "B")
    size = 6.4e6
    found = [
        derived("w_counts", "flops", 1.0 + 2048.0, per_iteration["flops.gpu"] / size, "flop"),
        derived("w_counts", "bytes", 12.0 + 256.0, per_iteration["bytes.gpu"] / size, "byte"),
        holds("w_counts", "32 powers of 63 products and one sum make 2048", ours=32 * (63 + 1) == 2048),
    ]
    for case in ("SA", "LA"):
        m = estimate(case, "i7+Titan", "CP", "B")
        total = m["flops.cpu"] + m["flops.gpu"], m["bytes.cpu"] + m["bytes.gpu"]
        ours = (total[0] / total[1], m["flops.cpu"] / m["bytes.cpu"], m["flops.gpu"] / m["bytes.gpu"])
        remark = "" if case == "SA" else "counts reconstructed: 2 flops and 8 bytes per multiply-add"
        for name, paper, mine in zip(("I", "I_C", "I_G"), intensities(case), ours, strict=True):
            slack = rounding(f"{paper:g}") if paper else EXACT
            item, unit = f"{case}, {name}", "flop/byte"
            found.append(derived("w_intensity", item, paper, mine, unit, tolerance=slack, remark=remark))
    return found
