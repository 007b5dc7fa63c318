"""Where a category is decided, limits conflict if they do under every choice: against asking each choice by itself.

The brute force asks every subset of the limits of every choice alone, with the machine named in the question, so that
nothing of what joins the choices is used.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import points_alone
import pytest
from method_questions import FFT, NBODY, fft, nbody

import dse
import dse.machines as catalogue
import results.dataset
import scenarios
from formulations import handover
from results.dataset import CONFLICTING, STATUS_CODES
from results.solution import Status
from scenarios.question import Decision, Limit, Question
from solvers import feasible_values, paths
from solvers.answer import answer
from solvers.counting import tables
from solvers.geometric.points import geometric
from solvers.many_points import by_choice
from solvers.mechanisms import why
from solvers.mechanisms.conflicts import CAN_HOLD, CANNOT_HOLD, NOT_KNOWN, common_conflicts

Sets = set[frozenset[str]]
OWN = ("one_copy", "replication")


def family(r: np.random.Generator, names: list[str]) -> Sets:
    """Some sets of limits that conflict, none within another."""
    drawn = {frozenset(r.choice(names, size=r.integers(1, 4), replace=False).tolist()) for _ in range(3)}
    return {s for s in drawn if not any(t < s for t in drawn)}


def of(names: tuple[str, ...], clashes: Sets, **more: Any) -> why.Why:
    def met(points: Any, kept: Any) -> Any:
        sets = [frozenset(itertools.compress(names, row)) for row in kept]
        return np.array([CANNOT_HOLD if any(c <= s for c in clashes) else CAN_HOLD for s in sets])

    def values(points: Any, wanted: Any) -> Any:
        return {n: np.full(len(points), np.inf) for n in wanted}

    return why.Why(names, met, values, lambda _: nbody(), **more)


def minimal(names: list[str], conflicts: Callable[[frozenset[str]], bool]) -> Sets:
    """All minimal sets, by asking about every one."""
    every = [frozenset(s) for k in range(len(names) + 1) for s in itertools.combinations(names, k)]
    clash = {s for s in every if conflicts(s)}
    return {s for s in clash if not any(t < s for t in clash)}


@pytest.mark.parametrize("seed", range(40))
def test_minimal_sets_over_choices_are_those_of_every_subset(seed: int):
    """Two to four choices, some of which know a limit that others do not."""
    r = np.random.default_rng(seed)
    names = list("abcdef")[: r.integers(3, 7)]
    own = [[n for n in names if r.random() < 0.8] or names for _ in range(r.integers(2, 5))]
    clashes = [family(r, mine) if len(mine) > 2 else {frozenset(mine)} for mine in own]
    every = [of(tuple(mine), c) for mine, c in zip(own, clashes, strict=True)]
    joined = why.over_choices([why.remembered(w) if r.random() < 0.5 else w for w in every])
    found = why.explained(joined)
    wanted = minimal(sorted(set().union(*own)), lambda s: all(any(c <= s for c in f) for f in clashes))
    assert {frozenset(s) for s in found.minimal} == wanted
    assert found.every
    assert found.certain


def test_many_limits_get_one_minimal_set_and_what_is_in_its_way():
    """More than ten: a set that conflicts, and for each of its limits without a feasible value one without it."""
    names = tuple("abcdefghijkl")
    clashes: list[Sets] = [{frozenset("ab"), frozenset("l")}, {frozenset("bc"), frozenset("kl")}]
    found = why.explained(why.over_choices([of(names, f) for f in clashes]))
    assert not found.every
    sets = [frozenset(s) for s in found.minimal]
    assert set(sets) <= {frozenset("kl"), frozenset("abc"), frozenset("bcl")}
    assert all(any(n not in s for s in sets) for n, value in found.feasible_values.items() if value is None)
    assert f"{len(sets)} minimal conflicts are named of perhaps several" in found.certificate


def test_whole_numbers_play_no_part_where_divisible_ones_do_not_help():
    names, alone = ("a", "b", "n"), frozenset("n")
    hard = of(names, {frozenset("ab"), frozenset("bn")}, whole=alone)
    soft = of(names, {frozenset("bn")}, whole=alone)
    assert why.explained(why.over_choices([hard, hard])).minimal == (("a", "b"),)
    # here whole numbers are what stands against b under one of them
    assert why.explained(why.over_choices([hard, soft])).minimal == (("b", "n"),)


def test_what_is_not_known_under_one_choice_is_open_unless_another_has_a_design():
    open_one = dataclasses.replace(
        of(("a", "b"), set()), met=lambda points, kept: np.full(len(kept), NOT_KNOWN)
    )
    clash = of(("a", "b"), {frozenset("a")})
    found = why.explained(why.over_choices([clash, open_one]))
    # that there is none is known: all that may be in conflict is named
    assert found.minimal == (("a", "b"),)
    assert not found.certain
    assert why.explained(why.over_choices([of(("a", "b"), set()), open_one])).certain


@pytest.mark.parametrize(
    ("low", "high", "values", "wanted"),
    [
        (None, 10.0, (12.0, 11.0), 11.0),
        (10.0, None, (5.0, 9.0), 9.0),
        # of both sides that counts for which less is given: a fifth down is less than a half up
        (10.0, 20.0, (30.0, 9.0), 9.0),
        (10.0, 20.0, (21.0, 9.0), 21.0),
        (None, 10.0, (math.inf, 12.0), 12.0),
        (None, 10.0, (math.inf, math.inf), math.inf),
        (None, 10.0, (math.nan, 12.0), math.nan),
    ],
)
def test_the_loosest_value_is_that_for_which_a_limit_gives_the_least(
    low: float | None, high: float | None, values: tuple[float, float], wanted: float
):
    q = nbody(time=(low, high))
    (found,) = why.loosest("time", [(q, np.array([v])) for v in values])
    assert found == pytest.approx(wanted, nan_ok=True)


def machines(r: np.random.Generator, base: dict[str, float], count: int) -> dict[str, dict[str, float]]:
    """Machines that are each better in something: faster ones that take more energy, and slower ones."""
    found = {}
    for k in range(count):
        speed, thrift = (float(10 ** r.uniform(-0.7, 0.7)) for _ in range(2))
        scale = {"time": speed, "ener": thrift, "memo": thrift, "leak": thrift}
        found[f"m{k}"] = {f"machine.{n}": v * scale.get(n[:4], 1.0) for n, v in base.items()}
    return found


def chosen(q: Question, every: dict[str, dict[str, float]]) -> Question:
    """The question with the machine decided among some."""
    given = {n: v for n, v in q.given.items() if not n.startswith("machine.")}
    choice = Decision("machine", choices=tuple(every))
    return dataclasses.replace(q, given=given, decide=(choice, *q.decide), machines=every)


def some_design(q: Question, every: dict[str, dict[str, float]]) -> bool:
    """Whether the question has a design on one of the machines, each asked by itself."""
    for numbers in every.values():
        alone = answer(dataclasses.replace(q, given={**q.given, **numbers}), neighbours=False, brief=True)
        assert alone.status in (Status.OPTIMAL, Status.INFEASIBLE)
        if alone.status is Status.OPTIMAL:
            return True
    return False


def without(q: Question, names: frozenset[str]) -> Question:
    """The question without these limits."""
    kept = tuple(x for x in q.limits if x.name not in names)
    free = tuple(dataclasses.replace(d, maximum=None) if d.name in names else d for d in q.decide)
    return dataclasses.replace(q, limits=kept, decide=free, waive=q.waive | (names & {*OWN}))


def drawn(kind: str, seed: int) -> tuple[Question, dict[str, dict[str, float]]]:
    """A question that is infeasible on two to four machines, and the machines."""
    r = np.random.default_rng(seed)
    base, make = (FFT, fft) if kind == "table" else (NBODY, nbody)
    every = machines(r, base, int(r.integers(2, 5)))
    if kind == "table":
        p = Decision("processors", values=tuple(2.0**k for k in range(0, 11, 2)))
        names, decide = ["time", "energy", "power"], {"p": p}
    else:
        p = Decision("processors", maximum=float(r.choice([64, 512])))
        names = ["time", "energy", "power"] if kind == "ratios of sums" else ["time", "energy"]
        decide = {"p": p}
    least = {n: answer(chosen(make(n, **decide), every), neighbours=False).objective or 0.0 for n in names}
    limits = {n: (None, least[n] * float(10 ** r.uniform(-0.15, 0.6))) for n in names}
    q = make("energy", **decide, **limits)
    # fewer subsets where each is a search
    return (dataclasses.replace(q, waive=frozenset(OWN)) if kind == "ratios of sums" else q), every


SEEDS = {"geometric": (0, 1, 2, 3), "table": (0, 1, 2, 3, 4, 5), "ratios of sums": (0, 1)}


@pytest.mark.parametrize(("kind", "seed"), [(k, s) for k, seeds in SEEDS.items() for s in seeds])
def test_conflicts_and_values_are_those_of_every_choice_asked_by_itself(kind: str, seed: int):
    q, every = drawn(kind, seed)
    found = answer(chosen(q, every), neighbours=False)
    feasible = some_design(q, every)
    assert (found.status is Status.OPTIMAL) == feasible
    if feasible:
        return
    names = [x.name for x in q.limits]
    told = {frozenset(s) for s in found.conflicts}
    if kind == "table":
        # the list of processors may be in conflict, too; the brute force does not give it up
        less = {s - {"processors"} for s in told}
        told = {s for s in less if not any(t < s for t in less)}
    else:
        names += ["processors", *(n for n in OWN if n not in q.waive)]
    assert told == minimal(names, lambda s: not some_design(without(q, frozenset(names) - s), every))
    for name in found.conflicts[0]:
        value = found.conflict[name]
        if value is None and name in names:
            assert not some_design(without(q, frozenset([name])), every)
        elif value is not None and name in names and name not in OWN:
            assert some_design(eased(q, name, value * (1 + 1e-7)), every)
            assert not some_design(eased(q, name, value * (1 - 1e-5)), every)


def eased(q: Question, name: str, value: float) -> Question:
    limits = tuple(Limit(x.name, x.minimum, value) if x.name == name else x for x in q.limits)
    decide = tuple(dataclasses.replace(d, maximum=value) if d.name == name else d for d in q.decide)
    return dataclasses.replace(q, limits=limits, decide=decide)


def test_the_questions_drawn_are_of_both_kinds():
    found = [some_design(*drawn(kind, s)) for kind in ("geometric", "table") for s in SEEDS[kind]]
    assert 2 <= sum(found) <= len(found) - 3


def swept(decide: dict[str, Any], **axes: Any) -> dict[str, Any]:
    return {
        "model": "nbody",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "decide": {"machine": {"values": ["balanced", "jaketown", "contrived"]}, **decide},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": 1}, "energy": {"max": 45}},
        "sweep": axes,
    }


WAYS: dict[str, tuple[dict[str, Any], Callable[[scenarios.Grid], Any]]] = {
    "table": (
        {"processors": {"values": [16, 64, 256]}, "memory": {"values": [1e3, 1e4, 1e5]}},
        tables.over,
    ),
    "geometric programs": (
        {"processors": {"max": 256}, "memory": {}},
        lambda grid: by_choice.way(grid, [geometric.way], paths.STRUCTURE).path,
    ),
}


@pytest.mark.parametrize("name", WAYS)
def test_a_sweep_stores_what_one_question_is_told(name: str):
    decide, way = WAYS[name]
    asked = swept(
        decide,
        t={"path": "limits.time.max", "values": [1e-3, 0.05, 5.0]},
        e={"path": "limits.energy.max", "values": [1.0, 30.0, 1e3]},
    )
    grid = scenarios.grid(dse.load(asked))
    plan, region = results.dataset.layout(grid), (slice(0, 3), slice(0, 3))
    with handover.collected() as tally:
        arrays, left = way(grid).solve(plan, region)
        feasible_values.complete(grid, plan, region, arrays, left)
    assert feasible_values.ALONE not in tally.reasons
    assert tally.reasons.get(by_choice.APART, 0) == left.sum()
    none = ~left & (arrays["status"] == STATUS_CODES[Status.INFEASIBLE])
    assert none.sum() >= 3
    assert left.sum() <= 2
    places = list(map(tuple, np.argwhere(none).tolist()))
    for place, alone in zip(places, points_alone.answers(grid, places), strict=True):
        stored = results.dataset.to_arrays(plan, [alone], (1, 1))
        assert ((arrays["binding"][place] == CONFLICTING) == (stored["binding"][0, 0] == CONFLICTING)).all()
        np.testing.assert_allclose(arrays["would_do"][place], stored["would_do"][0, 0], rtol=1e-6)


def test_what_choices_know_by_different_sets_is_asked_alone():
    """Of two choices with conflicts {a} and {b} neither set is one of the whole; with {a} and {a, b} the larger is."""
    a, b = np.array([True, False]), np.array([False, True])
    nowhere = np.ones(2, bool)
    which, apart = common_conflicts([np.array([a, a]), np.array([b, a | b])], nowhere)
    assert apart.tolist() == [True, False]
    assert which[1] == 1


def test_machines_that_fail_for_different_reasons_are_told_together():
    """One machine is too slow where another one needs too much energy: both limits are in the conflict."""
    asked = {
        "model": "lu",
        "given": {"order": 8192},
        "decide": {
            "processors": {"max": 65536},
            "memory": {},
            "machine": {"values": ["balanced", "jaketown", "h100-sxm"]},
        },
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": 0.1}, "energy": {"max": 1.0}},
        "sweep": {
            "e": {"path": "limits.energy.max", "values": np.geomspace(0.9, 9.0, 7).tolist()},
            "t": {"path": "limits.time.max", "values": np.geomspace(3e-5, 0.03, 9).tolist()},
        },
    }
    grid = scenarios.grid(dse.load(asked))
    plan, region = results.dataset.layout(grid), (slice(0, 7), slice(0, 9))
    way = by_choice.way(grid, [geometric.way], paths.STRUCTURE).path
    assert way is not None
    arrays, left = way.solve(plan, region)
    assert not left.any()
    clash = arrays["binding"] == CONFLICTING
    several = np.argwhere(clash.sum(axis=2) > 1)
    assert len(several) > 4
    for place in map(tuple, several[::2].tolist()):
        alone = answer(grid.question(place), neighbours=False)
        named = {n for n, k in zip(plan.limits, clash[place], strict=True) if k}
        assert named in [set(one) for one in alone.conflicts]
        told = dict(zip(plan.limits, arrays["would_do"][place], strict=True))
        for name in named:
            # infinite where no value of this limit alone would do
            assert told[name] == pytest.approx(alone.conflict[name] or math.inf, rel=1e-6)


def test_a_value_left_open_is_sought_under_every_choice():
    """The loosest of those that each choice alone is told."""
    asked = swept({"processors": {"max": 256}, "memory": {}})
    asked.pop("sweep")
    asked["limits"] = {"time": {"max": 1e-3}, "energy": {"max": 1e3}}
    question = scenarios.grid(dse.load(asked)).question(())
    told = feasible_values.at(question, ("time", "processors"))
    alone = [feasible_values.at(q, ("time",))["time"] for _, q in scenarios.question.combinations(question)]
    assert told["time"] == min(v for v in alone if not math.isnan(v))


def test_where_no_machine_is_fast_enough_no_machine_s_numbers_are_the_answer() -> None:
    """Nothing but the machine is decided: each alternative tells its own energy, the answer none, as in a sweep."""
    asked = {
        "model": "roofline",
        "given": {"flops": 1e12, "bytes": 1e11},
        "decide": {"machine": {"values": ["gtx-750-tang2017", "gtx-titan-tang2017"]}},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": "1 us"}},
    }
    alone = dse.solve(dse.load(asked))
    grid = dse.sweep(dse.load({**asked, "sweep": {"n": {"path": "given.flops", "values": [1e12, 2e12]}}}))
    assert alone.status is Status.INFEASIBLE
    assert (grid["status"] == STATUS_CODES[Status.INFEASIBLE]).all()
    assert alone.objective is None
    assert not alone.metrics
    assert np.isnan(grid["objective"]).all()
    assert np.isnan(grid["energy"]).all()
    assert alone.conflict == pytest.approx({"time": float(grid["would_do"][0].max())})
    assert [round(a.objective or 0, 3) for a in alone.alternatives] == [126.06, 102.622]


@pytest.mark.parametrize(("limit", "nearest"), [("share >= 5", max), ("share <= 0.001", min)])
def test_of_several_machines_the_value_nearest_to_a_list_is_told(limit: str, nearest: Any):
    """Below a list the largest value that does, above it the least: the slower machine's, or the faster one's."""
    names = ["gtx-titan-choi2014", "arndale-gpu-choi2014"]
    per_flop = [catalogue.get(n).parameters["time_per_flop"] * 1e12 for n in names]
    _, sign, end = limit.split()
    found = dse.solve(
        {
            "model": "roofline",
            "given": {"flops": 1e12, "intensity": 4},
            "decide": {"machine": {"values": names}, "width": {"values": [20, 40]}},
            "define": {"share": "machine.time_per_flop / (1 ps/flop) / width"},
            "objective": {"minimize": "time"},
            "limits": {"share": {"min" if sign == ">=" else "max": float(end)}},
        }
    )
    does = [p / float(end) for p in per_flop]
    assert found.conflicts == (("share", "width"),)
    assert found.conflict["width"] == pytest.approx(nearest(does), rel=1e-6)


def test_what_conflicts_under_each_choice_alone_is_named_alike_over_all_of_them():
    """A set of three was called minimal of which two conflict: choices were searched in smaller boxes than questions.

    8 processors are needed for the power of each, and they draw more than the limit on the power of all.
    """
    asked: dict[str, Any] = {
        "model": "transformer_inference",
        "machine": "dgx-h100-bf16",
        "given": {"layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "ffn": 14336, "gated": "on"}
        | {"vocabulary": 128256, "prompt": 100, "output": 250},
        "decide": {
            "tensor_parallel": {"powers_of": 2, "max": 8},
            "batch": {"min": 1, "max": 64, "integer": True},
        },
        "objective": {"minimize": "energy_per_token"},
        "limits": {"devices": {"max": 0.95}, "power": {"max": 534.83}, "power_per_device": {"max": 380.867}},
    }
    over_both = dse.solve(asked | {"decide": {**asked["decide"], "attention": {}}})
    assert over_both.conflicts == (("devices",), ("power", "power_per_device"))
    for choice in ("fused", "separate"):
        alone = dse.solve(asked | {"given": {**asked["given"], "attention": choice}})
        assert alone.conflicts == over_both.conflicts
