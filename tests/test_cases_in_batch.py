"""The reference cases (tests/data/cases_*.csv) answered many at once: what a sweep's fast ways say of each of them.

Cases that differ in limits or in inputs only are points of one grid. What a fast way leaves over is solved by itself
in a sweep, and so are the cases that no fast way takes; each of these is named here with the reason.
"""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import choi_cases
import demmel_cases
import numpy as np
import pytest
from choi_cases import PLATFORMS, PROCESSORS, blocks, partition, settings

import dse
import results.dataset
import scenarios
from formulations.grids import batch
from results.dataset import STATUS_CODES, Arrays
from results.solution import Status
from solvers.counting import tables, whole
from solvers.geometric.points import geometric
from solvers.linear.points import linear
from solvers.many_points import blocks as many_blocks
from solvers.many_points import evaluated
from solvers.nonlinear.points import unstructured

DATA = Path(__file__).parent / "data"
EXACT = 1e-6
# an upper limit that says nothing: what everything decided may reach costs less
NOTHING = {"limits": 1e30, "processors": 1e15, "memory": 1e18}

LEAST = "a cap at the very least that the power can be: one design is left, and its multipliers have no end"
CHOICE = "a number is decided beside the machine, and the usable power is cut by it"
SINGLE = "multipliers that are not unique, or a limit about to bind: left to the path of a single question"
ALONE = {
    "nbody-33": LEAST,
    "mm25d-42": "whole numbers of halvings of three parameters",
    "e18": CHOICE,
}
LEFT = dict.fromkeys(["nbody-25", "nbody-41"], SINGLE)


@dataclass(frozen=True)
class Answered:
    """A grid answered at once: arrays of its dataset, and where points were left over."""

    arrays: Arrays
    left: np.ndarray


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answered | None]:
    """Answer a question with an axis for each path by the first fast way that takes it, however few points it has."""
    for way in (many_blocks, geometric, linear, tables, unstructured, whole):
        for fewest in ("FEWEST_COMPILED", "FEWEST_WHOLE"):
            monkeypatch.setattr(way, fewest, 1, raising=False)

    def answer(asked: Mapping[str, Any], axes: Mapping[str, Sequence[Any]]) -> Answered | None:
        sweep = {f"axis{i}": {"path": path, "values": list(v)} for i, (path, v) in enumerate(axes.items())}
        grid = scenarios.grid(dse.load({**asked, "sweep": sweep}))
        found = evaluated.way(grid).path
        if found is None and all(batch.structure(grid.question(i)) is not None for i in grid.kinds()):
            found = geometric.over(grid, compiled=False)
        for way in (tables.way, whole.way, linear.way, unstructured.way):
            if found is None:
                found = way(grid).path
        if found is None:
            return None
        return Answered(*found.solve(results.dataset.layout(grid), tuple(slice(0, n) for n in grid.shape)))

    return answer


# Demmel et al.: cases of one machine and problem differ in upper limits

Case = demmel_cases.Case


def alike(case: Case) -> str:
    """What cases share that are points of one grid."""
    asked = case.mapping
    decided = {name: {k: v for k, v in how.items() if k != "max"} for name, how in asked["decide"].items()}
    power = sorted(name for name in asked["limits"] if name.startswith("power"))
    least = asked["limits"].get("efficiency")
    same = [asked[k] for k in ("model", "machine", "given", "objective")]
    return json.dumps([*same, decided, power, least, asked.get("waive")])


def upper(case: Case, path: str) -> float:
    """An upper limit of a case, or one that says nothing."""
    section, name, _ = path.split(".")
    found = case.mapping[section].get(name, {}).get("max")
    return float(found) if found is not None else NOTHING.get(name, NOTHING["limits"])


def over_limits(cases: Sequence[Case]) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """The question that cases share, and an axis for every upper limit in which they differ, one at least."""
    asked = json.loads(json.dumps(cases[0].mapping))
    named = [f"limits.{n}.max" for n in dict.fromkeys(n for c in cases for n in c.mapping["limits"])]
    named += [f"decide.{n}.max" for n in ("processors", "memory") if n in asked["decide"]]
    paths = [p for p in named if p != "limits.efficiency.max"]
    axes = {p: sorted({upper(c, p) for c in cases}) for p in paths}
    axes = {p: v for p, v in axes.items() if len(v) > 1}
    if not axes:
        most = upper(cases[0], "limits.time.max")
        axes = {"limits.time.max": [most, 2 * most]}
    for path, values in axes.items():
        section, name, _ = path.split(".")
        asked[section].setdefault(name, {}).setdefault("max", values[-1])
    return asked, axes


GROUPS = [list(g) for _, g in itertools.groupby(sorted(demmel_cases.CASES, key=alike), key=alike)]


@pytest.mark.parametrize("cases", GROUPS, ids=lambda cases: cases[0].name)
def test_cases_of_demmel(cases: list[Case], together: Callable[..., Answered | None]):
    asked, axes = over_limits(cases)
    found = together(asked, axes)
    if found is None:
        assert {c.name for c in cases} <= ALONE.keys()
        return
    for case in cases:
        at = tuple(v.index(upper(case, p)) for p, v in axes.items())
        if found.left[at]:
            assert case.name in LEFT
            continue
        if case.conflicts:
            assert found.arrays["status"][at] == STATUS_CODES[Status.INFEASIBLE]
        else:
            assert found.arrays["status"][at] == STATUS_CODES[Status.OPTIMAL]
            assert found.arrays["objective"][at] == pytest.approx(case.objective, rel=EXACT)


# Choi, Tang: each case is the first point of a small grid

ROOFLINE = {
    r["id"]: (json.loads(r["inputs_json"]), json.loads(r["answer_json"]))
    for r in csv.DictReader((DATA / "cases_choi_peapaw_roofline.csv").open(encoding="utf-8"))
}
SYSTEMS = choi_cases.CASES
NAMES = [p.replace("_", "-") + "-choi2014" for p in PLATFORMS]
DOUBLE = [n for n in NAMES if n.rpartition("-")[0] not in {"nuc-gpu", "apu-gpu", "arndale-gpu"}]
Asked = tuple[dict[str, Any], dict[str, list[Any]]]


def cheapest(case: str, machines: list[str], precision: str) -> Asked:
    asked, _ = ROOFLINE[case]
    question = {
        "model": "roofline",
        "given": {"flops": asked["W"], "bytes": asked["Q"], "precision": precision},
        "decide": {"machine": {"values": machines}},
        "objective": {"minimize": "energy"},
    }
    return question, {"given.bytes": [asked["Q"], 1e15]}


def streaming(case: str) -> Asked:
    machine = ROOFLINE[case][0]["platform"].replace("_", "-") + "-choi2014"
    question = {"model": "roofline", "machine": machine, "given": {"flops": 0, "bytes": 1e12}}
    full = dse.solve(question).metrics["bandwidth"]
    question |= {"decide": {"throttle": {"max": 1000}}, "objective": {"maximize": "throttle"}}
    return question | {"limits": {"bandwidth": {"min": full}}}, {"limits.bandwidth.min": [full, full / 2]}


def capped(case: str) -> Asked:
    asked, _ = ROOFLINE[case]
    question = {
        "model": "roofline",
        "given": {"flops": 1e12, "intensity": asked["I"]},
        "decide": {"machine": {"values": NAMES}, "throttle": {"max": 1e6}},
        "objective": {"maximize": "performance"},
        "limits": {"peak_power": {"max": asked["P_W"]}},
    }
    return question, {"limits.peak_power.max": [asked["P_W"], 2 * asked["P_W"]]}


def mixed(case: str) -> Asked:
    """The mixes of blocks; over their budget."""
    asked, _ = SYSTEMS[case]
    limit = "nameplate_power" if case in {"a09", "a13", "b03"} else "block_power"
    names = {"a13": ["gtx_titan", "gtx680", "xeon_phi", "arndale_gpu", "nuc_gpu"]}
    names["b07"] = ["gtx_titan", "gtx680", "xeon_phi", "nuc_gpu", "arndale_gpu"]
    given = {"flops": asked["W"], "bytes": asked["Q"]} if "W" in asked else {"intensity": asked["I"]}
    given |= {"fixed_power": asked["P0_W"]} if "P0_W" in asked else {}
    goal = {"minimize": "energy"} if "W" in asked else {"maximize": "performance"}
    budget = asked.get("budget_W", asked.get("P_W"))
    limits = {limit: budget} | ({"time": asked["deadline_s"]} if "deadline_s" in asked else {})
    if case == "b11":
        given, limits = given | {"sharing": "free"}, limits | {"block_types": 1.0}
    return blocks(names.get(case, PLATFORMS), given, goal, **limits), {
        f"limits.{limit}.max": [budget, 2 * budget]
    }


def shared(case: str) -> Asked:
    """The partitions; over the bytes of the last region."""
    asked, wanted = SYSTEMS[case]
    question = partition(asked, "energy" if "energy_J" in wanted else "time")
    regions = question["given"]["regions"]
    moved = regions[-1]["bytes"]
    return question, {f"given.regions.{len(regions)}.bytes": [moved, 2 * moved]}


def placed(_: str) -> Asked:
    """Four of the cases are one grid: the same whole regions on four pairs of processors."""
    question = partition(SYSTEMS["c21"][0], "time", whole=True)
    return question, {
        "machine.cpu": [PROCESSORS["i7"], PROCESSORS["i3"]],
        "machine.gpu": [PROCESSORS["750"], PROCESSORS["Titan"]],
    }


def phased(case: str) -> Asked:
    """The settings of phases; over their limit."""
    asked, _ = SYSTEMS[case]
    if case == "d17":
        flops = asked["I"] * asked["b"]
        question = settings(
            {"phases_s_d_i_b": {"only": [flops, 0, 0, asked["b"]]}}, "energy", decide={"setting": {}}
        )
        return question, {"given.phases.only.flops": [flops, flops / 2]}
    if case == "d01":
        question = settings(asked, "energy", decide={"setting": {}}, limits={"time": {"max": 1e30}})
        return question, {"limits.time.max": [1e30, 1e29]}
    goal, limit, most = {
        "d05": ("energy", "time", asked.get("deadline_s")),
        "d09": ("time", "energy", asked.get("energy_budget_J")),
        "d13": ("time", "phase_power", 12.0),
    }[case]
    return settings(asked, goal, limits={limit: {"max": most}}), {f"limits.{limit}.max": [most, 2 * most]}


def first(make: Callable[..., Asked], case: str, *more: Any) -> Any:
    return pytest.param(make, case, more, id=case)


@pytest.mark.parametrize(
    ("make", "case", "more"),
    [
        first(cheapest, "a01", NAMES, "single"),
        first(cheapest, "a05", DOUBLE, "double"),
        first(streaming, "e10"),
        first(capped, "e18"),
        *(first(mixed, case) for case in ("a09", "a13", "b03", "b07", "b11")),
        *(first(shared, case) for case in ("c01", "c05", "c09", "c13", "c17", "c37")),
        *(first(phased, case) for case in ("d01", "d05", "d09", "d13", "d17")),
    ],
)
def test_cases_of_choi_and_tang(
    make: Callable[..., Asked], case: str, more: Any, together: Callable[..., Answered | None]
):
    found = together(*make(case, *more))
    assert (found is None) == (case in ALONE)
    if found is None:
        return
    wanted = (SYSTEMS | ROOFLINE)[case][1]
    names = ("least_energy_J", "energy_J", "speed_flop_per_s", "k", "time_s")
    names = ("time_s",) if case == "d13" else names  # its energy breaks ties
    goal = next(wanted[n] for n in names if n in wanted)
    place = (0,) * found.left.ndim
    assert found.left[place] == (case in LEFT)
    if case in LEFT:
        return
    assert found.arrays["status"][place] == STATUS_CODES[Status.OPTIMAL]
    assert found.arrays["objective"][place] == pytest.approx(goal, rel=EXACT)
    if "time_s" in wanted:
        assert found.arrays["time"][place] == pytest.approx(wanted["time_s"], rel=EXACT)


def test_whole_regions_on_four_pairs_of_processors(together: Callable[..., Answered | None]):
    cases = {(0, 0): "c21", (1, 1): "c25", (0, 1): "c29", (1, 0): "c33"}
    found = together(*placed(""))
    assert found is not None
    for place, case in cases.items():
        assert found.arrays["objective"][place] == pytest.approx(SYSTEMS[case][1]["time_s"], rel=EXACT)


def test_throttled_platforms_are_one_evaluation(together: Callable[..., Answered | None]):
    """Twelve platforms, three intensities, three throttles: what four cases are about."""
    question = {
        "model": "roofline",
        "machine": NAMES[0],
        "given": {"flops": 1e12, "intensity": 1, "throttle": 1},
    }
    intensities, throttles = [0.25, 2, 128], [1, 4, 8]
    axes = {"machine": NAMES, "given.intensity": intensities, "given.throttle": throttles}
    found = together(question, axes)
    assert found is not None
    assert not found.left.any()
    at = found.arrays
    for case in ("e02", "e22"):
        asked, wanted = ROOFLINE[case]
        i = NAMES.index(asked["platform"].replace("_", "-") + "-choi2014"), intensities.index(asked["I"])
        full, less = (*i, 0), (*i, throttles.index(asked["k"]))
        assert at["performance"][less] / at["performance"][full] == pytest.approx(
            wanted["relative_performance"], rel=EXACT
        )
        assert at["energy"][less] / at["energy"][full] == pytest.approx(wanted["relative_energy"], rel=EXACT)
        assert at["power"][less] == pytest.approx(wanted["power_W"], rel=EXACT)
        assert at["efficiency"][less] == pytest.approx(wanted["flop_per_J"], rel=EXACT)
    wanted = ROOFLINE["e06"][1]
    kept = at["performance"][:, 0, 2] / at["performance"][:, 0, 0]
    order = np.argsort(-kept)[:2]
    assert [PLATFORMS[i] for i in order] == [wanted["best"], wanted["second"]]
    assert kept[order] == pytest.approx([wanted["best_share"], wanted["second_share"]], rel=EXACT)
    wanted, nuc = ROOFLINE["e14"][1], NAMES.index("nuc-gpu-choi2014")
    assert at["balance_low"][nuc, 0, 0] == pytest.approx(wanted["B_minus"], rel=EXACT)
    assert at["balance"][nuc, 0, 0] == pytest.approx(wanted["B_tau"], rel=EXACT)
    assert np.isinf(at["balance_high"][nuc, 0, 0])


def test_every_case_is_asked_or_has_its_reason():
    """Both files of systems and of partitions hold the same questions of these."""
    asked = {c.name.partition("/")[0] for g in GROUPS for c in g}
    with (DATA / "cases_choi_peapaw_partition.csv").open(encoding="utf-8") as file:
        divided = {r["id"] for r in csv.DictReader(file)}
    assert divided <= SYSTEMS.keys()
    assert {name.partition("/")[0] for name in (*ALONE, *LEFT)} <= asked | SYSTEMS.keys() | ROOFLINE.keys()
    assert len(asked) == 35
    assert len(ALONE) + len(LEFT) < (len(asked) + len(SYSTEMS) + len(ROOFLINE)) / 2
