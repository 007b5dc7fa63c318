"""Exact fronts of linear and mixed-integer programs, against brute force of its own arithmetic."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from oracle_fronts import Processor, Region, least_energy, placements, schedules, systems, undominated

from dse.models.model import Model
from dse.models.partitions.partition import PARTITION
from dse.models.platforms.blocks import BLOCKS
from dse.models.platforms.dvfs import DVFS
from dse.models.shared.structure import Parts, Row
from results.solution import Solution
from scenarios.question import Decision, Limit, Objective, Question
from solvers.fronts import program_front
from solvers.fronts.envelope import at_level
from solvers.fronts.front_points import solution
from solvers.fronts.program_front import ProgramFront

ENERGY_TIME = (Objective("energy"), Objective("time"))
NAMES = ("time_per_flop", "time_per_byte", "energy_per_flop", "energy_per_byte", "constant_power")
CLOSE = 1e-8


def question(model: Model, given: dict[str, Any], limits: Sequence[Limit] = ()) -> Question:
    """A question that decides what the model leaves open."""
    given = {q.name: q.default for q in model.inputs if q.default is not None} | given
    texts = {n: v for n, v in given.items() if isinstance(v, str)}
    unused = model.unused(texts) if model.unused else ()
    decide = []
    for u in model.unknowns:
        if u.name in unused:
            continue
        q = next(q for q in model.inputs if q.name == u.name)
        menu = tuple(float(k + 1) for k in range(len(q.menu))) or None
        decide.append(Decision(u.name, integer=u.integer, values=menu))
    return Question(model, given, tuple(decide), ENERGY_TIME, tuple(limits))


def partition(processors: list[Processor], regions: list[Region], limits: Sequence[Limit] = ()) -> Question:
    labels = tuple(f"p{k}" for k in range(len(processors)))
    rows = tuple(
        Row(f"r{i}", {"divisible": not whole}, {}, frozenset({"flops", "bytes"}))
        for i, (_, _, whole) in enumerate(regions)
    )
    given: dict[str, Any] = {}
    for i, (flops, data, _) in enumerate(regions):
        given |= {f"regions.r{i}.flops": flops, f"regions.r{i}.bytes": data}
    for label, numbers in zip(labels, processors, strict=True):
        given |= {f"machine.{label}.{n}": v for n, v in zip(NAMES, numbers, strict=True)}
    return question(PARTITION.expand(Parts({"regions": rows}, labels)), given, limits)


def instance(seed: int, processors: int, regions: int, whole: int) -> tuple[list[Processor], list[Region]]:
    """Processors that are fast or frugal, little constant power: fronts with many corners."""
    rng = np.random.default_rng(seed)
    machines = []
    for _ in range(processors):
        speed = float(np.exp(rng.uniform(-2, 1)))
        of = np.exp(rng.normal(size=4) * 0.5) * speed
        machines.append(
            (float(1e-11 / of[0]), float(5e-11 / of[1]), float(1e-10 * of[2]), float(4e-10 * of[3]), 0.3)
        )
    work = [
        (float(rng.uniform(1e11, 1e12)), float(rng.uniform(1e9, 2e11)), i < whole) for i in range(regions)
    ]
    return machines, work


def lookup(found: ProgramFront, limit: float) -> Solution | None:
    """The answer for the best first objective with the second no worse than a limit, and what is proved there."""
    b = found.senses[1].coordinate(limit)
    b += 1e-12 * abs(b)
    for piece in found.pieces:
        if piece.right.b <= b:
            at = piece.left if piece.left.b <= b else at_level(piece.left, piece.right, b)
            return replace(solution(found, at), bound=found.bound(at, found.senses[1].coordinate(limit)))
    return None


def front(asked: Question) -> ProgramFront | None:
    every = program_front.owners(asked)
    return (program_front.enumerated(every) or program_front.searched(every)) if every else None


def found_for(asked: Question) -> ProgramFront:
    found = front(asked)
    assert found is not None
    assert found.complete
    return found


def objectives(found: ProgramFront) -> np.ndarray:
    at = [solution(found, p.vertex).metrics for p in program_front.points(found)]
    return np.array([[x["energy"], x["time"]] for x in at])


def check_against_oracle(found: ProgramFront, machines: list[Processor], work: list[Region]) -> None:
    """Look-ups at, between and beyond the points have the least energy there is; every point is undominated."""
    at = objectives(found)
    assert (np.diff(at[:, 0]) > 0).all()
    assert (np.diff(at[:, 1]) < 0).all()
    # nothing is proven nearer to a step than 1e-8, and the oracle takes deadlines to be met within 1e-7
    wide = at[:-1, 1] > at[1:, 1] * (1 + 1e-6)
    between = ((at[1:, 1] + at[:-1, 1]) / 2)[wide]
    levels = at[np.append(True, wide), 1] * (1 + 1e-9)
    for deadline in (*levels, *between, 2 * at[0, 1], at[-1, 1] * (1 - 1e-6)):
        expected = least_energy(machines, work, float(deadline))
        answer = lookup(found, float(deadline))
        if answer is None:
            assert expected == np.inf
            continue
        assert answer.objective == pytest.approx(expected, rel=CLOSE)
        assert answer.metrics["time"] <= deadline * (1 + CLOSE)
        assert answer.status == "optimal"
        assert answer.bound is not None
        assert answer.bound <= expected * (1 + CLOSE)
    for energy, time in at:
        assert energy <= least_energy(machines, work, time * (1 - 1e-5)) * (1 + CLOSE)


@pytest.mark.parametrize(
    ("seed", "processors", "regions"), [(1, 2, 1), (37, 2, 4), (34, 2, 6), (19, 3, 3), (21, 3, 5)]
)
def test_divisible_regions_have_all_breakpoints(seed: int, processors: int, regions: int):
    machines, work = instance(seed, processors, regions, 0)
    found = found_for(partition(machines, work))
    assert found.kind == "exact: breakpoints"
    check_against_oracle(found, machines, work)
    points = program_front.points(found)
    assert all(p.joined for p in points[:-1])
    at = objectives(found)
    slopes = np.diff(at[:, 1]) / np.diff(at[:, 0])
    assert (np.diff(slopes) > 0).all(), "every point but the ends is a corner of a convex front"


@pytest.mark.parametrize(
    ("seed", "processors", "regions", "whole"),
    [(31, 2, 4, 2), (19, 3, 3, 2), (10, 2, 5, 3)],
)
def test_some_whole_regions_give_a_union_of_segments(seed: int, processors: int, regions: int, whole: int):
    machines, work = instance(seed, processors, regions, whole)
    found = found_for(partition(machines, work))
    check_against_oracle(found, machines, work)
    straight = [p for p in program_front.points(found) if p.joined]
    assert straight, "nothing is divided on this front"
    # half way along a segment the front is as straight as it says, and not below
    for piece in found.pieces:
        if not piece.single:
            energy, time = (piece.left.a + piece.right.a) / 2, (piece.left.b + piece.right.b) / 2
            assert least_energy(machines, work, time) == pytest.approx(energy, rel=CLOSE)


def whole_front(machines: list[Processor], work: list[Region]) -> np.ndarray:
    every = []
    for at in placements(work, len(machines)):
        on = [[work[i] for i in at if at[i] == k] for k in range(len(machines))]
        time = max(
            max(tf * sum(r[0] for r in rs), tb * sum(r[1] for r in rs))
            for (tf, tb, *_), rs in zip(machines, on, strict=True)
        )
        energy = sum(
            ef * r[0] + eb * r[1] for (_, _, ef, eb, _), rs in zip(machines, on, strict=True) for r in rs
        )
        every.append((energy + time * sum(m[4] for m in machines), time))
    return undominated(np.array(every))


@pytest.mark.parametrize(("seed", "processors", "regions"), [(20, 2, 1), (11, 2, 6), (22, 3, 4)])
def test_whole_regions_have_the_complete_set(seed: int, processors: int, regions: int):
    machines, work = instance(seed, processors, regions, regions)
    asked = partition(machines, work)
    expected = whole_front(machines, work)
    found = found_for(asked)
    assert found.kind == "complete non-dominated set"
    np.testing.assert_allclose(objectives(found), expected, rtol=1e-10)
    # the same set where combinations are too many to be gone through
    solved = program_front.searched(program_front.owners(asked))
    assert solved is not None
    assert solved.complete
    np.testing.assert_allclose(objectives(solved), expected, rtol=1e-9)


def test_a_search_that_is_stopped_says_so():
    machines, work = instance(4, 2, 8, 8)
    stopped = program_front.searched(program_front.owners(partition(machines, work)), 3)
    assert stopped is not None
    assert not stopped.complete
    assert stopped.kind == "certified points; the set is not complete"
    assert "more of them may belong" in stopped.method
    expected = whole_front(machines, work)
    for energy, time in objectives(stopped):
        assert (np.abs(expected / [energy, time] - 1).max(axis=1) < 1e-9).any()


def test_limits_cut_the_front():
    machines, work = instance(39, 2, 5, 4)
    free = objectives(found_for(partition(machines, work)))
    deadline, budget = (float(np.quantile(free[:, k], 0.6)) for k in (1, 0))
    limits = (Limit("time", maximum=deadline), Limit("energy", maximum=budget))
    found = found_for(partition(machines, work, limits))
    at = objectives(found)
    assert at[0, 0] == pytest.approx(least_energy(machines, work, deadline), rel=CLOSE)
    assert at[-1, 0] <= budget * (1 + CLOSE)
    tighter = least_energy(machines, work, float(at[-1, 1]) * (1 - 1e-4))
    assert tighter >= at[-1, 0] * (1 - CLOSE)


def test_a_power_cap_is_no_epigraph_of_time():
    """Waiting does not count: the time in power is the longest of the processors, whatever the front would like."""
    machines, work = instance(34, 2, 3, 0)
    machines = [(*m[:4], 5.0) for m in machines]
    free = found_for(partition(machines, work))
    powers = [solution(free, p.vertex).metrics["power"] for p in program_front.points(free)]
    cap = (min(powers) + max(powers)) / 2
    found = found_for(partition(machines, work, [Limit("power", maximum=cap)]))
    for point in program_front.points(found):
        answer = solution(found, point.vertex)
        assert answer.status == "optimal"
        assert answer.metrics["power"] <= cap * (1 + CLOSE)
    # designs on a grid within the cap better no point
    at = objectives(found)
    for shares in np.stack(np.meshgrid(*[np.linspace(0, 1, 21)] * 3), -1).reshape(-1, 3):
        on = np.array([[s, 1 - s] for s in shares])
        flops, data = (sum(r[k] * on[i] for i, r in enumerate(work)) for k in (0, 1))
        time = max(max(m[0] * flops[k], m[1] * data[k]) for k, m in enumerate(machines))
        energy = sum(m[2] * flops[k] + m[3] * data[k] for k, m in enumerate(machines)) + 10.0 * time
        if energy / time <= cap:
            assert not ((at * (1 - 1e-7) > [energy, time]).all(axis=1)).any()


def test_one_design_may_be_the_whole_front():
    machines, work = instance(1, 2, 3, 0)
    frugal = (1e-13, 1e-13, 1e-13, 1e-13, 0.1)
    found = found_for(partition([machines[0], frugal], [(f, b, True) for f, b, _ in work]))
    assert len(found.pieces) == 1
    assert found.pieces[0].single


def test_nothing_within_the_limits_is_an_empty_front():
    machines, work = instance(11, 2, 4, 4)
    found = front(partition(machines, work, [Limit("time", maximum=1e-9)]))
    assert found is not None
    assert not found.pieces


def test_blocks_have_the_complete_set_and_free_sharing_adds_segments():
    rng = np.random.default_rng(7)
    names = ("time_per_flop", "time_per_byte", "energy_per_flop", "energy_per_byte")
    blocks = [
        {
            n: float(s * np.exp(rng.normal() / 2))
            for n, s in zip(names, (1e-12, 4e-12, 3e-11, 3e-10), strict=True)
        }
        | {"constant_power": float(rng.uniform(5, 60)), "usable_power": float(rng.uniform(30, 150))}
        for _ in range(3)
    ]
    labels = ("a", "b", "c")
    given: dict[str, Any] = {"flops": 1e15, "bytes": 1e14}
    for label, b in zip(labels, blocks, strict=True):
        given |= {f"machine.{label}.{n}": v for n, v in b.items()}
    limits = (Limit("nameplate_power", maximum=600.0),)
    model = BLOCKS.expand(Parts({}, labels))
    found = found_for(question(model, given, limits))
    expected = undominated(systems(blocks, 1e15, 1e14, 600.0))
    assert len(expected) > 1
    np.testing.assert_allclose(objectives(found), expected, rtol=1e-9)
    free = found_for(question(model, given | {"sharing": "free"}, limits))
    for energy, time in expected:
        at = lookup(free, float(time) * (1 + 1e-9))
        assert at is not None
        assert at.objective is not None
        assert at.objective <= energy * (1 + CLOSE)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_settings_per_phase_have_the_complete_set(seed: int):
    rng = np.random.default_rng(seed)
    settings = tuple(f"s{k}" for k in range(4))
    times = rng.uniform(1, 5, (4, 4))
    given: dict[str, Any] = {"switch_time": 0.2, "switch_energy": 1.5}
    energies = np.zeros((4, 4))
    for k, s in enumerate(settings):
        price, constant = float(rng.uniform(1e-11, 1e-10)), float(rng.uniform(1, 6))
        given |= {f"machine.{s}.energy_per_flop": price, f"machine.{s}.constant_power": constant}
        for i in range(4):
            given |= {f"phases.f{i}.flops": 1e11 * (i + 1), f"phases.f{i}.times.{s}": float(times[i, k])}
            energies[i, k] = price * 1e11 * (i + 1) + constant * times[i, k]
    stated = frozenset({"flops", "times"})
    rows = tuple(Row(f"f{i}", stated=stated) for i in range(4))
    menu = tuple(
        {"name": s, "energy_per_flop": 1.0, "constant_power": 1.0, "core_frequency": 1.0} for s in settings
    )
    found = found_for(question(DVFS.expand(Parts({"phases": rows}, (), menu)), given))
    expected = undominated(schedules(times.tolist(), energies.tolist(), 0.2, 1.5))
    assert len(expected) > 3
    np.testing.assert_allclose(objectives(found), expected, rtol=1e-9)


def test_maximised_objectives_give_the_same_front_in_their_reciprocals():
    machines, work = instance(31, 2, 4, 2)
    asked = partition(machines, work)
    found = found_for(asked)
    most = found_for(
        replace(
            asked,
            objectives=(Objective("efficiency", maximize=True), Objective("performance", maximize=True)),
        )
    )
    assert not most.straight
    flops = sum(r[0] for r in work)
    at = [solution(most, p.vertex).metrics for p in program_front.points(most)]
    ours = np.array([[flops / x["efficiency"], flops / x["performance"]] for x in at])
    np.testing.assert_allclose(ours, objectives(found), rtol=1e-7)
    answer = lookup(most, flops / float(ours[1, 1]))
    assert answer is not None
    assert answer.objective == pytest.approx(flops / ours[1, 0], rel=CLOSE)
    assert answer.bound is not None
    assert answer.bound >= answer.objective * (1 - CLOSE)


def test_menus_count_what_limits_leave():
    machines, work = instance(23, 2, 5, 5)
    of = program_front.combinations_of(program_front.owners(partition(machines, work))[0].program)
    assert of is not None
    assert of.size == 32
    assert (
        program_front.combinations_of(program_front.owners(partition(machines, work))[0].program, 31) is None
    )


def test_slopes_at_breakpoints_are_those_of_the_segment_before():
    machines, work = instance(34, 2, 6, 0)
    found = found_for(partition(machines, work))
    points = program_front.points(found)
    assert len(points) > 2
    for p, q in itertools.pairwise(points):
        state = solution(found, q.vertex).limits["time"]
        slope = (p.vertex.a - q.vertex.a) / (p.vertex.b - q.vertex.b) * q.vertex.b / q.vertex.a
        assert state.elasticity == pytest.approx(slope, rel=1e-6)
        assert state.one_sided
