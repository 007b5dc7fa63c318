"""Searches side by side: each gets its own answers, in fewer calls of the kernel, and failures arrive whole."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import dse
from results.solution import Status
from scenarios.questions import question
from solvers import side_by_side
from solvers.answer import answer
from solvers.geometric.kernel import gp, gp_together
from solvers.geometric.kernel.gp_together import Programs


def program(random: np.random.Generator, variables: int, limits: int, count: int) -> Programs:
    """Programs that have designs: every term of a limit is below its share at a point in the box."""
    sizes = [int(random.integers(1, 4)) for _ in range(limits + 1)]
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    A = random.normal(size=(ptr[-1], variables))
    point = random.normal(size=(count, variables))
    share = np.repeat(sizes, sizes)
    logc = -point @ A.T - np.log(share) - random.uniform(0.0, 1.0, (count, ptr[-1]))
    low, high = np.full((count, variables), -5.0), np.full((count, variables), 5.0)
    fixed = random.random(variables) < 0.2
    low[:, fixed] = high[:, fixed] = point[:, fixed]
    return Programs(A, logc, ptr, low, high)


def alone(p: Programs) -> gp.Result:
    return gp.solve(p.A, p.logc, p.ptr, p.low, p.high)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many programs each call of the kernel takes."""
    found: list[int] = []
    solve = gp.solve

    def counted(A: Any, logc: Any, *rest: Any, **options: Any) -> gp.Result:
        found.append(len(logc))
        return solve(A, logc, *rest, **options)

    monkeypatch.setattr(gp, "solve", counted)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_programs_of_all_shapes_in_one_call_have_the_answers_that_they_have_alone(seed: int):
    """Padding and order of limits change nothing: value, bound and point are those of the program alone."""
    random = np.random.default_rng(seed)
    asked = [program(random, *map(int, random.integers(1, 5, 3))) for _ in range(4)]
    for p, found in zip(asked, gp_together.solve(asked), strict=True):
        apart = alone(p)
        assert found.status.tolist() == apart.status.tolist()
        # both are proved to 1e-9
        assert found.value == pytest.approx(apart.value, abs=3e-9)
        assert found.bound == pytest.approx(apart.bound, abs=3e-9)
        assert found.multipliers.shape == apart.multipliers.shape
        assert (gp.evaluate(p.A, p.logc, p.ptr, found.y)[:, 1:] <= 1e-9).all()
        proved = gp.lagrangian_bound(p.A, p.logc, p.ptr, p.low, p.high, found.y, found.multipliers)
        assert proved == pytest.approx(found.value, abs=3e-9)


def test_tasks_and_tasks_of_tasks_share_calls(calls: list[int]):
    random = np.random.default_rng(1)
    asked = [program(random, 3, 2, 2) for _ in range(6)]
    expected = [alone(p).value for p in asked]
    calls.clear()

    def one(p: Programs) -> Any:
        return side_by_side.solve(p.A, p.logc, p.ptr, p.low, p.high).value

    def several(ps: list[Programs]) -> list[Any]:
        return side_by_side.run([partial(one, p) for p in ps])

    told = [
        v
        for part in side_by_side.run([partial(several, asked[:2]), partial(several, asked[2:])])
        for v in part
    ]
    assert calls == [12]
    for a, b in zip(told, expected, strict=True):
        assert a == pytest.approx(b, abs=3e-9)


def test_one_task_runs_at_a_time_and_in_order():
    running: list[int] = []
    seen: list[tuple[int, int]] = []

    def task(i: int) -> int:
        p = program(np.random.default_rng(i), 2, 1, 1)
        for step in range(3):
            running.append(i)
            time.sleep(0.001)
            seen.append((step, i))
            assert running.pop() == i
            assert not running
            side_by_side.solve(p.A, p.logc, p.ptr, p.low, p.high)
        return i

    assert side_by_side.run([partial(task, i) for i in range(4)]) == [0, 1, 2, 3]
    assert seen == [(step, i) for step in range(3) for i in range(4)]


@pytest.mark.timeout(20)
def test_of_no_questions_there_are_no_answers():
    assert side_by_side.run_apart([]) == []


def test_the_first_failure_is_raised_once_all_have_ended():
    ended: list[str] = []

    def good() -> None:
        p = program(np.random.default_rng(0), 2, 1, 1)
        side_by_side.solve(p.A, p.logc, p.ptr, p.low, p.high)
        ended.append("good")

    def bad(text: str) -> None:
        raise ZeroDivisionError(text)

    with pytest.raises(ZeroDivisionError, match="first"):
        side_by_side.run([good, partial(bad, "first"), partial(bad, "second"), good])
    assert ended == ["good", "good"]


def test_a_failure_of_the_kernel_reaches_whoever_asked(monkeypatch: pytest.MonkeyPatch):
    def broken(*_: Any, **__: Any) -> Any:
        raise FloatingPointError("the kernel is broken")

    p = program(np.random.default_rng(0), 2, 1, 1)
    ask = partial(side_by_side.solve, p.A, p.logc, p.ptr, p.low, p.high)
    monkeypatch.setattr(gp, "solve", broken)
    with pytest.raises(FloatingPointError, match="broken"):
        side_by_side.run([ask, ask])


def test_an_interruption_ends_every_task(monkeypatch: pytest.MonkeyPatch):
    """What reaches the thread that asked (Ctrl-C) leaves no thread behind that waits for ever."""
    before = threading.active_count()
    interrupted = threading.Event()
    acquire = threading.Semaphore.acquire

    def task() -> None:
        p = program(np.random.default_rng(0), 2, 1, 1)
        for _ in range(1000):
            side_by_side.solve(p.A, p.logc, p.ptr, p.low, p.high)

    def interrupt(self: threading.Semaphore, *args: Any, **options: Any) -> bool:
        if threading.current_thread() is threading.main_thread() and not interrupted.is_set():
            interrupted.set()
            raise KeyboardInterrupt
        return acquire(self, *args, **options)

    monkeypatch.setattr(threading.Semaphore, "acquire", interrupt)
    with pytest.raises(KeyboardInterrupt):
        side_by_side.run([task, task, task])
    for _ in range(200):
        if threading.active_count() == before:
            break
        time.sleep(0.01)
    assert threading.active_count() == before


FEW = (
    "nbody_deadline matmul_least_time_power nbody_near_the_least_power strassen_least_time_power lu_deadline"
)


@pytest.mark.parametrize("name", FEW.split())
def test_a_question_takes_few_calls_of_the_kernel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Search, ties, ranges and next changes together: at most 25 calls, on any machine."""
    calls = []
    inner = gp_together.solve_apart

    def counted(asked: list[list[Programs]]) -> list[list[gp.Result]]:
        calls.extend(map(len, asked))
        return inner(asked)

    monkeypatch.setattr(gp_together, "solve_apart", counted)
    assert dse.solve(dse.load(name)).status == "optimal"
    assert 0 < len(calls) <= 25


def test_a_question_has_the_same_bits_beside_any_others(calls: list[int]) -> None:
    """Questions of one model and of others, with and without designs, alone and in two orders."""
    names = "nbody_deadline nbody_least_time_power nbody_deadline_in_95_of_100_worlds nbody_mean_power_between_readings"
    every = [dse.load(name).model_dump(exclude_none=True, exclude_defaults=True) for name in names.split()]
    every += [
        {**asked, "given": {**asked["given"], "bodies": bodies}} for asked in every for bodies in (3e5, 3e7)
    ]
    tasks = [partial(answer, question(dse.Scenario(**asked)), neighbours=False) for asked in every]
    single = [side_by_side.run_apart([task])[0] for task in tasks]
    taken = len(calls)
    beside = side_by_side.run_apart(tasks)
    # limits that may fail and means of ratios have searches of their own, each with its own calls
    assert len(calls) - taken < 0.75 * taken
    behind = side_by_side.run_apart(tasks[::-1])[::-1]
    assert {s.status for s in single} == {Status.OPTIMAL, Status.INFEASIBLE}
    for one, two, three in zip(single, beside, behind, strict=True):
        # bit by bit: numbers are written with all their digits
        assert repr(replace(one, seconds=0.0)) == repr(replace(two, seconds=0.0))
        assert repr(replace(one, seconds=0.0)) == repr(replace(three, seconds=0.0))


def test_a_choice_is_formulated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best one too, of which the whole answer is told, and programs with farther ends for why others have none."""
    from formulations import problem
    from solvers import certain

    made: list[str] = []

    def counted(name: str, inner: Any) -> Any:
        return lambda *args, **options: made.append(name) or inner(*args, **options)

    monkeypatch.setattr(certain, "formulate", counted("formulated", certain.formulate))
    monkeypatch.setattr(problem, "_linear_problem", counted("built", problem._linear_problem))
    found = dse.solve(dse.load("station_longest_mttf_in_10_kw"))
    choices = len(found.alternatives)
    assert made.count("formulated") == choices
    # 8 formulated and 21 built before; one more of each without a design says that nothing beyond its ends is better
    none = sum(a.status is Status.INFEASIBLE for a in found.alternatives)
    assert made.count("built") <= 2 * choices + none + 1
