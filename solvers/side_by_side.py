"""Searches side by side: each is written as if it were alone, and what they ask of the kernel goes there together.

A call of the kernel costs for 16 programs what it costs for one. So independent searches (choices, cases of a maximum,
ends of a range, trial values of limits) run as tasks: each runs until it needs geometric programs solved and then
waits; once all wait, one call answers all of them. Exactly one task runs at a time, in a fixed order, so that nothing
here depends on the clock. Tasks are threads only because a function cannot be left in the middle otherwise; tasks of
tasks join the same round.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar, copy_context
from dataclasses import field
from typing import Any, TypeVar, cast

from dse.system.arrays import Array, Indices
from dse.system.records import dataclass
from solvers.geometric.kernel import gp, gp_together
from solvers.geometric.kernel.gp_together import Programs

T = TypeVar("T")
PROGRAMS_IN_ONE_CALL = 2048
"""Programs in one call: beyond, calls cost what their rows cost, and only memory would be lost."""


class _Ended(BaseException):
    """The question was given up while this task was waiting."""


@dataclass(slots=True, eq=False)
class _Task:
    """Something that runs until it waits; ``turn`` is open while it may run, ``parent`` waits for its end.

    ``question``: what is asked for different ones is solved as if each were alone.
    """

    rounds: _Rounds
    run: Callable[[], Any]
    parent: _Task | None
    question: int = 0
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    children: int = 0
    value: Any = None
    failure: BaseException | None = None
    asked: list[Programs] = field(default_factory=list)
    found: list[gp.Result] = field(default_factory=list)

    def begin(self) -> None:
        context = copy_context()
        threading.Thread(target=context.run, args=(self._whole,), daemon=True).start()

    def _whole(self) -> None:
        self.turn.acquire()
        try:
            if not self.rounds.ended:
                _current.set(self)
                self.value = self.run()
        except BaseException as problem:
            self.failure = problem
        self.rounds.done(self)

    def wait(self) -> None:
        """Let others run until this task has its turn again."""
        self.rounds.next()
        if not self.rounds.ended:
            self.turn.acquire()
        if self.rounds.ended:
            raise _Ended


@dataclass(slots=True, eq=False)
class _Rounds:
    """The tasks of one question: those that can run, and those that wait for the kernel."""

    ready: deque[_Task] = field(default_factory=deque)
    waiting: list[_Task] = field(default_factory=list)
    ended: bool = False

    def next(self) -> None:
        """Hand the turn on; where nobody can run, solve what all wait for."""
        if self.ended:
            return
        if not self.ready and self.waiting:
            self.solve()
        if self.ready:
            self.ready.popleft().turn.release()

    def solve(self) -> None:
        now, self.waiting = self.waiting, []
        calls = _tasks_by_call(now)
        try:
            found = gp_together.solve_apart([[p for task in call for p in task.asked] for call in calls])
            for call, results in zip(calls, map(iter, found), strict=True):
                for task in call:
                    task.found = [next(results) for _ in task.asked]
        except BaseException as problem:
            for task in now:
                task.failure = problem
        self.ready.extend(now)

    def done(self, task: _Task) -> None:
        parent = task.parent
        assert parent is not None, "only tasks of others end here"
        parent.children -= 1
        if parent.children == 0:
            self.ready.append(parent)
        self.next()


_current: ContextVar[_Task | None] = ContextVar("_current", default=None)


def run(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Run tasks side by side; return what each returns, in order. The first failure, in order, is raised."""
    if len(tasks) <= 1:
        return [task() for task in tasks]
    here = _current.get()
    if here is None:
        return _run_outermost(tasks, [0] * len(tasks))
    return _run_tasks(here, tasks, [here.question] * len(tasks))


def run_apart(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Run questions side by side that know nothing of each other: each has the bits that it has with any others."""
    return _run_outermost(tasks, range(len(tasks))) if tasks else []


def _run_outermost(tasks: Sequence[Callable[[], T]], questions: Sequence[int]) -> list[T]:
    outermost = _Task(_Rounds(), lambda: None, None)
    try:
        return _run_tasks(outermost, tasks, questions)
    except BaseException:
        # an interruption reaches this thread alone: the others end where they wait
        outermost.rounds.ended = True
        for task in [*outermost.rounds.ready, *outermost.rounds.waiting]:
            task.turn.release()
        raise


def _run_tasks(parent: _Task, tasks: Sequence[Callable[[], T]], questions: Sequence[int]) -> list[T]:
    own = [_Task(parent.rounds, task, parent, k) for task, k in zip(tasks, questions, strict=True)]
    parent.children = len(own)
    parent.rounds.ready.extend(own)
    for task in own:
        task.begin()
    parent.wait()
    for task in own:
        if task.failure is not None:
            raise task.failure
    return [cast("T", task.value) for task in own]


def solve(
    A: Array, logc: Array, ptr: Indices, low: Array, high: Array, *, tol: float | None = None
) -> gp.Result:
    """Solve N geometric programs as ``gp.solve`` does, together with what the tasks beside this one ask for.

    ``tol`` is not used: all that are solved in one call have the usual tolerance.
    """
    return solve_all([Programs(A, logc, ptr, low, high)])[0]


def pause() -> None:
    """Let the tasks beside this one run for a while."""
    here = _current.get()
    if here is not None:
        here.rounds.ready.append(here)
        here.wait()


def solve_all(asked: list[Programs]) -> list[gp.Result]:
    """Solve groups of geometric programs, each of its own shape, in one call."""
    here = _current.get()
    if here is None:
        return gp_together.solve(asked)
    here.asked = asked
    here.rounds.waiting.append(here)
    here.wait()
    if here.failure is not None:
        problem, here.failure = here.failure, None
        raise problem
    return here.found


def _tasks_by_call(tasks: Sequence[_Task]) -> list[list[_Task]]:
    """The tasks of one call each, in order: of one question, and not too many programs."""
    parts: list[list[_Task]] = []
    rows = 0
    for task in sorted(tasks, key=lambda t: t.question):
        count = sum(len(p.logc) for p in task.asked)
        if not parts or parts[-1][0].question != task.question or rows + count > PROGRAMS_IN_ONE_CALL:
            parts.append([])
            rows = 0
        parts[-1].append(task)
        rows += count
    return parts
