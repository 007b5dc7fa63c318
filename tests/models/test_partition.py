"""The partition model: the paper's estimates, reference questions, categories, executions."""

from __future__ import annotations

import csv
import json
import math
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from dse import machines, models
from dse.models.model import Model
from dse.models.shared.structure import Parts, Row

DATA_DIR = Path(__file__).parents[1] / "data"
ESTIMATES = list(csv.DictReader((DATA_DIR / "peapaw_estimates.csv").open(encoding="utf-8")))
WORK = {
    (r["case"], r["wp"]): r for r in csv.DictReader((DATA_DIR / "peapaw_cases.csv").open(encoding="utf-8"))
}
QUESTIONS = {
    r["id"]: (r["question"], json.loads(r["inputs_json"]), json.loads(r["answer_json"]))
    for r in csv.DictReader((DATA_DIR / "cases_choi_peapaw_partition.csv").open(encoding="utf-8"))
}
NAMES = {"i7": "i7-2600k", "i3": "i3-2100t", "Titan": "gtx-titan", "750": "gtx-750"}
PLATFORMS = ("i7+Titan", "i7+750", "i3+Titan", "i3+750")
PAIR = ("cpu", "gpu")
TRIO = ("cpu", "gpu", "npu")
# equation (6): cores x clock x width; Table IV takes width 8 for the CPUs, but 1 for the GPUs (footnote 3)
BY_EQUATION_6 = {
    "i7": 1 / (4 * 3.4e9 * 8),
    "i3": 1 / (2 * 2.5e9 * 8),
    "Titan": 1 / (2688 * 0.837e9),
    "750": 1 / (512 * 1.02e9),
}
# the same arithmetic in another order
CLOSE = 1e-12

Region = tuple[float, float]


def parameters(platform: str, *, by_equation_6: bool = False) -> dict[str, float]:
    """Machine parameters of a pair, by flat name."""
    found: dict[str, float] = {}
    for entry, short in zip(PAIR, platform.split("+"), strict=True):
        own = dict(machines.get(f"{NAMES[short]}-tang2017").parameters)
        if by_equation_6:
            own["time_per_flop"] = BY_EQUATION_6[short]
        found |= {f"machine.{entry}.{k}": v for k, v in own.items()}
    return found


def flat(count: int, names: tuple[str, ...] = PAIR, **flags: bool) -> Model:
    rows = tuple(Row(f"r{k}", flags) for k in range(count))
    return models.get("partition").expand(Parts({"regions": rows}, names))  # type: ignore[misc]


def run(
    platform: dict[str, float], regions: list[Region], execution: str = "CP", shares: Any = (), **flags: bool
) -> dict[str, Any]:
    """All metrics of regions (flops, bytes) with these shares of the first processor."""
    given_ = {f"regions.r{k}.flops": f for k, (f, _) in enumerate(regions)}
    given_ |= {f"regions.r{k}.bytes": b for k, (_, b) in enumerate(regions)}
    given_ |= {f"share.r{k}.cpu": x for k, x in enumerate(shares)}
    own = {"execution": execution, "link_latency": 0.0, "link_energy_per_byte": 0.0, "link_overlap": "serial"}
    return dict(models.evaluate(flat(len(regions), **flags), {**platform, **own, **given_}))


def sides(intensities: tuple[float, float, float]) -> list[Region]:
    """Flops and bytes on either side by (10)-(13), of a workload of one byte."""
    whole, cpu, gpu = intensities
    on_cpu = (whole - gpu) / (cpu - gpu)
    return [(cpu * on_cpu, on_cpu), (gpu * (1 - on_cpu), 1 - on_cpu)]


def partition_of(row: dict[str, str]) -> list[Region]:
    """The two sides of a code partition, in exact counts (set B) or by the printed intensities."""
    work = WORK[row["case"], "CP"]
    if row["parameter_set"] == "B":
        counts = [float(work[c]) for c in ("NfC_flop_exact", "NbC_B_exact", "NfG_flop_exact", "NbG_B_exact")]
        return [(counts[0], counts[1]), (counts[2], counts[3])]
    i, c, g = (float(work[f"{name}_flop_per_B"]) for name in ("I", "I_C", "I_G"))
    return sides((i, c, g))


@pytest.mark.parametrize(
    "row", ESTIMATES, ids=lambda r: "-".join(r[k] for k in ("case", "platform", "parameter_set", "wp"))
)
def test_the_estimates_of_the_case_studies(row: dict[str, str]):
    """CO, GO, p-DP on the whole work, CP with the two sides as regions that go as a whole."""
    platform = parameters(row["platform"], by_equation_6=row["parameter_set"] == "C")
    parted = partition_of(row)
    if row["wp"] == "CP":
        found = run(platform, parted, "CP", (1.0, 0.0), divisible=False)
    else:
        total = float(WORK[row["case"], "CO"]["I_flop_per_B"]), 1.0
        if row["parameter_set"] == "B":
            total = sum(f for f, _ in parted), sum(b for _, b in parted)
        found = run(platform, [total], {"DP": "p-DP"}.get(row["wp"], row["wp"]))
    assert found["performance"] == pytest.approx(float(row["perf_flop_per_s"]), rel=CLOSE, abs=0)
    assert found["efficiency"] == pytest.approx(float(row["energy_eff_flop_per_J"]), rel=CLOSE, abs=0)
    assert 1 / found["efficiency"] == pytest.approx(float(row["energy_J_per_flop"]), rel=CLOSE, abs=0)


def best_shares(platform: str, regions: list[Region], objective: str, fixed: dict[int, int]) -> list[float]:
    """Shares of a linear program written out by hand: variables are shares of the CPU and the time."""
    p = {k.removeprefix("machine."): v for k, v in parameters(platform).items()}
    flops, data = (np.array(x) for x in zip(*regions, strict=True))
    rows, right = [], []
    for costs, kind in ((flops, "flop"), (data, "byte")):
        t_c, t_g = (p[f"{x}.time_per_{kind}"] for x in PAIR)
        rows += [[*(costs * t_c), -1.0], [*(-costs * t_g), -1.0]]
        right += [0.0, -sum(costs) * t_g]
    spread = flops * (p["cpu.energy_per_flop"] - p["gpu.energy_per_flop"])
    spread += data * (p["cpu.energy_per_byte"] - p["gpu.energy_per_byte"])
    static = p["cpu.constant_power"] + p["gpu.constant_power"]
    goal = [*spread, static] if objective == "energy" else [*(0.0 * flops), 1.0]
    bounds = [(fixed.get(k, 0), fixed.get(k, 1)) for k in range(len(regions))]
    # rows in units of a millisecond, since the solver's tolerance is absolute
    found = linprog(goal, A_ub=1e3 * np.array(rows), b_ub=1e3 * np.array(right), bounds=[*bounds, (0, None)])
    return list(found.x[:-1])


@pytest.mark.parametrize("case", ["c01", "c05", "c09", "c13"])
def test_divisible_regions_at_the_shares_of_a_linear_program(case: str):
    text, asked, wanted = QUESTIONS[case]
    objective = "energy" if text.endswith("Least energy.") else "time"
    regions = [(f, b) for f, b in asked["regions_F_B"]]
    shares = best_shares(asked["platform"], regions, objective, {})
    found = run(parameters(asked["platform"]), regions, "CP", shares)
    for name, value in wanted.items():
        got = shares if name == "x_cpu" else found[name.removesuffix("_s").removesuffix("_J")]
        assert got == pytest.approx(value, rel=1e-6, abs=1e-6 if name == "x_cpu" else 0), name


def test_one_fraction_for_all_reaches_the_balanced_split_of_one_region():
    """c01: with one region the fastest fraction is that of p-DP."""
    _, asked, wanted = QUESTIONS["c01"]
    regions = [tuple(asked["regions_F_B"][0])]
    split = run(parameters(asked["platform"]), regions, "p-DP")
    assert split["time"] == pytest.approx(wanted["time_s"], rel=1e-6)
    assert 1.0 - split["share.r0.gpu"] == pytest.approx(wanted["x_cpu"][0], rel=1e-6)
    assert split["time.cpu"] == pytest.approx(split["time.gpu"], rel=CLOSE)


def test_independent_flops_and_bytes_each_balance_on_their_own():
    _, asked, wanted = QUESTIONS["c17"]
    platform = parameters(asked["platform"])
    model = flat(1, independent=True)
    of = {kind: [platform[f"machine.{p}.time_per_{kind}"] for p in PAIR] for kind in ("flop", "byte")}
    cpu = {kind: g / (c + g) for kind, (c, g) in of.items()}
    shares = {"flops_share.r0.cpu": cpu["flop"], "bytes_share.r0.cpu": cpu["byte"]}
    own = {"execution": "CP", "link_latency": 0.0, "link_energy_per_byte": 0.0, "link_overlap": "overlapped"}
    amounts = {"regions.r0.flops": asked["W"], "regions.r0.bytes": asked["Q"]}
    found = models.evaluate(model, {**platform, **own, **amounts, **shares})
    assert found["time"] == pytest.approx(wanted["time_s"], rel=1e-6)
    assert found["flops_share.r0.gpu"] == 1.0 - cpu["flop"]
    assert found["bytes_share.r0.gpu"] == 1.0 - cpu["byte"]
    assert not any(n.startswith("share.") for n in found)


@pytest.mark.parametrize("case", ["c21", "c25", "c29", "c33"])
def test_whole_regions_by_all_placements_at_once(case: str):
    """All placements as arrays; the least energy among the fastest."""
    _, asked, wanted = QUESTIONS[case]
    regions = [(f, b) for f, b in asked["regions_F_B"]]
    every = np.array(list(product([0.0, 1.0], repeat=len(regions)))).T
    found = run(parameters(asked["platform"]), regions, "CP", every, divisible=False)
    fastest = found["time"] <= found["time"].min() * (1 + 1e-12)
    best = int(np.where(fastest, found["energy"], math.inf).argmin())
    assert found["time"][best] == pytest.approx(wanted["time_s"], rel=1e-6)
    assert found["energy"][best] == pytest.approx(wanted["energy_J"], rel=1e-6)
    assert [k for k, x in enumerate(every[:, best]) if x == 1.0] == wanted["cpu_regions"]


def test_whole_and_divisible_regions_together():
    """c37: 32 placements of the five whole regions, each with the linear program of the other three."""
    _, asked, wanted = QUESTIONS["c37"]
    regions = [(f, b) for f, b in [*asked["indivisible_F_B"], *asked["divisible_F_B"]]]
    placements = product([0, 1], repeat=len(asked["indivisible_F_B"]))
    tried = [best_shares(asked["platform"], regions, "time", dict(enumerate(p))) for p in placements]
    found = run(parameters(asked["platform"]), regions, "CP", np.array(tried).T)
    assert found["time"].min() == pytest.approx(wanted["time_s"], rel=1e-6)


# beside each platform: gradients by (28) and (29) in pJ (printed in the notes on the paper's tables), categories
CATEGORIES = {
    "i7+Titan": (24.6, -106.8, "CPU_MEM-GPU_MEM"),
    "i7+750": (-42.1, -346.4, "Race-to-halt"),
    "i3+Titan": (48.5, 84.0, "GPU-only"),
    "i3+750": (7.4, 25.7, "GPU-only"),
}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_categories_of_the_four_platforms(platform: str):
    """Table VI's E-Paw categories with the two identifiers corrected; all four are CPU_MEM-GPU_COMP (Table V)."""
    found = run(parameters(platform), [(1.0, 1.0)], "CO")
    model = flat(1)
    flop, byte, category = CATEGORIES[platform]
    assert found["gradient_flop"] * 1e12 == pytest.approx(flop, abs=0.05)
    assert found["gradient_byte"] * 1e12 == pytest.approx(byte, abs=0.05)
    named = {n: model.metric(n).flags[int(found[n])] for n in ("performance_category", "energy_category")}
    assert named == {"performance_category": "CPU_MEM-GPU_COMP", "energy_category": category}
    assert found["performance_guideline"] == found["performance_category"]
    assert found["energy_guideline"] == found["energy_category"]


def pair(
    cpu: tuple[float, float], gpu: tuple[float, float], static: float, **more: float
) -> dict[str, float]:
    """A pair with these energies per flop and byte, unit times, and this static power in all."""
    own: dict[str, float] = {}
    for p, (flop, byte) in zip(PAIR, (cpu, gpu), strict=True):
        own |= {f"machine.{p}.energy_per_flop": flop, f"machine.{p}.energy_per_byte": byte}
        own |= {f"machine.{p}.time_per_flop": 1.0, f"machine.{p}.time_per_byte": 1.0}
        own |= {f"machine.{p}.constant_power": static / 2}
    return own | {f"machine.{k.replace('__', '.')}": v for k, v in more.items()}


@pytest.mark.parametrize(
    ("cpu", "gpu", "static", "category"),
    [
        ((1, 1), (9, 9), 1.0, "CPU-only"),
        ((9, 9), (1, 1), 1.0, "GPU-only"),
        ((1, 9), (9, 1), 1.0, "CPU_COMP-GPU_MEM"),
        ((9, 1), (1, 9), 1.0, "CPU_MEM-GPU_COMP"),
        ((1, 1), (2, 2), 5.0, "Race-to-halt"),
        ((1, 1), (2, 9), 5.0, "CPU_COMP-GPU_COMP"),
        ((1, 1), (9, 2), 5.0, "CPU_MEM-GPU_MEM"),
        ((1, 1), (9, 2), 1.0, "Workload-dependent"),
        ((1, 1), (2, 2), 1.0, "Workload-dependent"),
    ],
)
def test_every_energy_category(cpu: Any, gpu: Any, static: float, category: str):
    """Gradients of exactly zero are not category of the paper's; the guideline names the two processors."""
    found = run(pair(cpu, gpu, static), [(1.0, 1.0)], "CO")
    assert flat(1).metric("energy_category").flags[int(found["energy_category"])] == category
    named = flat(1, ("host", "card")).metric("energy_category").flags[int(found["energy_category"])]
    assert named == category.replace("CPU", "HOST").replace("GPU", "CARD")


@pytest.mark.parametrize(
    ("byte", "category", "advice"),
    [
        (1.0, "CPU_DP-GPU_DP", "both processors end at once"),
        (2.0, "CPU_COMP-GPU_MEM", "higher intensity to CPU"),
        (0.5, "CPU_MEM-GPU_COMP", "higher intensity to GPU"),
    ],
)
def test_every_performance_category(byte: float, category: str, advice: str):
    found = run(pair((1, 1), (1, 1), 1.0, cpu__time_per_byte=byte), [(1.0, 1.0)], "CO")
    number = int(found["performance_category"])
    assert flat(1).metric("performance_category").flags[number] == category
    assert advice in flat(1).metric("performance_guideline").flags[number]
    assert (found["balance.cpu"], found["balance.gpu"]) == (byte, 1.0)


def test_the_corrected_category_is_the_one_that_saves_energy():
    """MEM-MEM: from everything on the processor with cheaper flops, spreading bytes saves and spreading flops costs."""
    own = {"execution": "CP", "link_latency": 0.0, "link_energy_per_byte": 0.0, "link_overlap": "serial"}
    own |= {"regions.r0.flops": 1.0, "regions.r0.bytes": 1.0}
    model = flat(1, independent=True)

    def energy(flops: float, data: float) -> float:
        shares = {"flops_share.r0.cpu": flops, "bytes_share.r0.cpu": data}
        return float(models.evaluate(model, {**parameters("i7+Titan"), **own, **shares})["energy"])

    alone, flops, data = energy(0.0, 0.0), energy(0.01, 0.0), energy(0.0, 0.01)
    assert data < alone < flops


def test_what_is_decided_and_what_has_no_role():
    """Whole regions in whole numbers; one fraction for DP alone; nothing where the execution says it all."""
    rows = (Row("a"), Row("b", {"divisible": False}), Row("c", {"independent": True, "divisible": True}))
    model = models.get("partition").expand(Parts({"regions": rows}, TRIO))  # type: ignore[misc]
    decided = {u.name: u.integer for u in model.unknowns}
    apart = {f"{n}.{p}": n == "share.b" for p in TRIO[:2] for n in ("share.a", "share.b")}
    apart |= {f"{n}.c.{p}": False for p in TRIO[:2] for n in ("flops_share", "bytes_share")}
    assert decided == apart | {"share.cpu": False, "share.gpu": False}
    assert model.unused is not None
    for execution, used in {"CP": set(apart), "DP": {"share.cpu", "share.gpu"}, "CO": set()}.items():
        unused = model.unused({"execution": execution})
        assert {n for n in decided if n not in unused} == used
    assert set(decided) <= {q.name for q in model.inputs}
    assert {x.name for x in model.limits} == {"whole.a", "whole.b", "flops_whole.c", "bytes_whole.c", "whole"}


def test_executions_are_special_cases_of_shares():
    """CO and GO are shares 1 and 0; DP is the same share for all; p-DP ends everywhere at once."""
    platform, regions = parameters("i7+750"), [(3e9, 1e9), (0.0, 5e9), (7e9, 0.0)]
    assert run(platform, regions, "CO") == run(platform, regions, "CP", (1.0, 1.0, 1.0))
    assert run(platform, regions, "GO") == run(platform, regions, "CP", (0.0, 0.0, 0.0))
    split = run(platform, regions, "p-DP")
    own = {"execution": "DP", "link_latency": 0.0, "link_energy_per_byte": 0.0, "link_overlap": "serial"}
    own |= {f"regions.r{k}.flops": f for k, (f, _) in enumerate(regions)}
    own |= {f"regions.r{k}.bytes": b for k, (_, b) in enumerate(regions)}
    share = {"share.cpu": 1.0 - split["share.r0.gpu"]}
    same = models.evaluate(flat(3), {**platform, **own, **share})
    assert {k: pytest.approx(v, rel=1e-12) for k, v in split.items()} == dict(same)
    around = models.evaluate(flat(3), {**platform, **own, "share.cpu": np.linspace(0, 1, 2001)})
    assert split["time"] <= around["time"].min()
    assert split["time.cpu"] == pytest.approx(split["time.gpu"], rel=CLOSE)


def test_more_processors_never_slow_the_balanced_split():
    """With p-DP the speeds add up, whatever the kinds: two CPUs and two GPUs."""
    own = {"execution": "p-DP", "link_latency": 0.0, "link_energy_per_byte": 0.0, "link_overlap": "serial"}
    own |= {"regions.r0.flops": 1e12, "regions.r0.bytes": 1e11}
    names = ("one", "two", "three", "four")
    files = ("i7-2600k", "gtx-titan", "i3-2100t", "gtx-750")
    costs = {
        f"machine.{p}.{k}": v
        for p, file in zip(names, files, strict=True)
        for k, v in machines.get(f"{file}-tang2017").parameters.items()
    }
    found = [models.evaluate(flat(1, names[:n]), {**own, **costs}) for n in (2, 3, 4)]
    assert all(b["performance"] > a["performance"] for a, b in pairwise(found))
    alone = [
        max(1e12 * costs[f"machine.{p}.time_per_flop"], 1e11 * costs[f"machine.{p}.time_per_byte"])
        for p in names
    ]
    assert found[2]["performance"] == pytest.approx(1e12 * sum(1 / t for t in alone), rel=CLOSE)
    assert not any("category" in n or "gradient" in n or "guideline" in n for n in found[1])


def test_too_little_to_share_is_refused():
    expand = models.get("partition").expand
    assert expand is not None
    with pytest.raises(ValueError, match="at least two machines"):
        expand(Parts({"regions": (Row("a"),)}, ("cpu",)))
    with pytest.raises(ValueError, match="at least one under regions"):
        expand(Parts({}, PAIR))
    with pytest.raises(ValueError, match="evaluate what its expand"):
        models.evaluate(models.get("partition"), {})
