"""The audit of a sweep: what was judged chunk by chunk, and a few points answered again by other means.

Which points is drawn by a generator whose seed is the scenario, so that the figures are the same however often a
sweep is interrupted. Solvers run in a process of its own, which can be ended where one of them does not come back.
"""

from __future__ import annotations

import contextlib
import json
import math
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

import results.stores.store
import scenarios
from dse.sweeping.checks.findings import EXAMPLES, Findings, Wrong
from dse.sweeping.points.chunk_work import Ready, read
from dse.sweeping.points.study import Study
from dse.system.processes import end_with_parent, environment
from dse.system.records import dataclass
from results.dataset import STATUS_CODES
from results.solution import Status
from scenarios import Grid
from scenarios.question import Question
from solvers import anchors
from solvers.answer import answer
from solvers.others.second_opinion import Opinion, ask

if TYPE_CHECKING:
    import xarray as xr

AUDITED_POINTS = 20
FEW_TO_AUDIT = 1000
"""Of smaller sweeps no points are solved again unless that is asked for: the solver's process alone takes seconds."""
AUDIT_SECONDS = 10.0
GRACE = 20.0
AUDIT_START = 60.0
SOLVERS_AGREE = 2e-6
"""Two optima, each within its gap (1e-6 and 1e-7) and its tolerances of limits (1e-8), may differ by so much."""
AUDIT_TOLERANCE = 1e-9
SOLVER = "SCIP through Pyomo"
ATTRIBUTE = results.stores.store.AUDIT
ENDED = "the process that was to answer ended"
AGREES = "agrees"
CUT_OFF = "cut_off"
"""Points whose process was ended by somebody else: the next run answers them."""

Place = tuple[int, ...]


def wanted(at: Ready, asked: int | None) -> int:
    """Return how many points are to be answered again, where ``asked`` leaves that open (None).

    Points that were solved one by one have had a proof and a re-evaluation each; those of a fast way are audited,
    unless there are so few of them that solving some again would take longer than the sweep.
    """
    points = math.prod(at.plan.shape)
    if "status" not in {v.name for v in at.plan.variables}:
        return 0
    if any(base.uncertain is not None for base in at.grid.bases.values()):
        # no other solver here decides for many worlds; every design was judged in all of them
        return 0
    if asked is not None:
        return min(asked, points)
    if at.path is None or (points < FEW_TO_AUDIT and at.grid.decided()):
        return 0
    return min(AUDITED_POINTS, points)


def drawn(at: Ready, count: int) -> list[Place]:
    """Draw the points to be answered again."""
    text = next(iter(at.grid.bases.values())).scenario_hash
    dice = np.random.default_rng(int(text[:16] or "0", 16))
    size = math.prod(at.plan.shape)
    chosen = np.unique(dice.integers(size, size=count)) if size > 10**6 else dice.permutation(size)[:count]
    return [tuple(int(i) for i in np.unravel_index(n, at.plan.shape)) for n in np.sort(chosen)]


@dataclass(frozen=True, slots=True)
class Again:
    """What came of answering points again.

    ``difference``: the largest, relative, of those that agree; ``cut_off``: how many of the undecided had their
    process ended before it could answer.
    """

    points: int = 0
    agree: int = 0
    undecided: int = 0
    differ: int = 0
    cut_off: int = 0
    difference: float = 0.0
    examples: tuple[Wrong, ...] = ()


def again(
    at: Ready, study: Study, dataset: xr.Dataset, places: Sequence[Place], ahead: Child | None = None
) -> Again:
    """Answer points again, and compare with what is stored; ``ahead``: the process that is at these points."""
    if any(base.uncertain is not None for base in at.grid.bases.values()):
        return Again()
    found = dict(zip(places, _stored(dataset, places), strict=True))
    opinions = [
        (place, opinion, *_compare(at, found[place], opinion))
        for place, opinion in _opinions(at, study, places, ahead)
    ]
    wrong = [
        Wrong(place, "objective", verdict) for place, _, verdict, _ in opinions if verdict not in {AGREES, ""}
    ]
    return Again(
        points=len(places),
        agree=sum(verdict == AGREES for _, _, verdict, _ in opinions),
        undecided=sum(verdict == "" for _, _, verdict, _ in opinions),
        differ=len(wrong),
        cut_off=sum(opinion.message == ENDED for _, opinion, *_ in opinions),
        difference=max((off for *_, verdict, off in opinions if verdict == AGREES), default=0.0),
        examples=tuple(wrong[:EXAMPLES]),
    )


def _stored(dataset: xr.Dataset, places: Sequence[Place]) -> list[dict[str, float]]:
    """Return the numbers at some points: each variable is read once, since a point costs the chunk that it is in."""
    import xarray as xr

    dims = dataset["status"].dims
    at = {d: xr.DataArray(np.array([p[k] for p in places], int), dims="place") for k, d in enumerate(dims)}
    numbers = [n for n, a in dataset.data_vars.items() if a.dims == dims and a.dtype.kind in "fi"]
    read = {str(n): dataset[n].isel(at).values for n in numbers}
    return [{n: float(values[k]) for n, values in read.items()} for k in range(len(places))]


def _compare(at: Ready, stored: Mapping[str, Any], opinion: Opinion) -> tuple[str, float]:
    """Return AGREES and by how much it differs, "" (nothing can be said) or what is wrong."""
    status = {code: s for s, code in STATUS_CODES.items()}.get(int(stored["status"]))
    told = opinion.status
    if status is None or told is Status.ERROR or status in {Status.ERROR, Status.UNBOUNDED}:
        return "", 0.0
    if opinion.metrics:
        return _audit_of_metrics(at, status, stored, opinion)
    if status is Status.INFEASIBLE:
        if told is Status.INFEASIBLE:
            return AGREES, 0.0
        return (f"{SOLVER} finds a design", 0.0) if told is not Status.EVALUATED else ("", 0.0)
    if told is Status.INFEASIBLE:
        # the stored design was judged to meet all limits: then this opinion is wrong, which says nothing of the design
        return "", 0.0
    if opinion.objective is None or math.isnan(stored.get("objective", math.nan)):
        return AGREES, 0.0
    return _compare_optima(at, status, stored, opinion)


def _compare_optima(
    at: Ready, status: Status, stored: Mapping[str, Any], opinion: Opinion
) -> tuple[str, float]:
    assert opinion.objective is not None, "it was looked at before"
    maximize = next(iter(at.grid.bases.values())).objectives[0].maximize
    ours = stored["objective"]
    allowed = SOLVERS_AGREE * abs(ours)
    better = (opinion.objective - ours) * (1 if maximize else -1)
    if abs(better) <= allowed:
        return AGREES, abs(better / ours) if ours else 0.0
    difference = abs(better / ours) if ours else math.inf
    if better > 0 and status is Status.OPTIMAL:
        return f"{SOLVER} finds a better design: {opinion.objective!r} instead of {ours!r}", difference
    bound = stored.get("bound", math.nan)
    beyond = (opinion.objective - bound) * (1 if maximize else -1)
    if better > 0 and beyond > allowed:
        return f"{SOLVER} finds a design beyond the bound: {opinion.objective!r}, not {bound!r}", difference
    return "", difference


def _audit_of_metrics(
    at: Ready, status: Status, stored: Mapping[str, Any], opinion: Opinion
) -> tuple[str, float]:
    largest = 0.0
    for variable in at.plan.variables:
        if variable.role != "metric" or variable.key not in opinion.metrics or variable.name not in stored:
            continue
        ours, theirs = stored[variable.name], opinion.metrics[variable.key]
        if ours == theirs or (math.isnan(ours) and math.isnan(theirs)):
            continue
        off = abs(ours - theirs) / max(abs(ours), abs(theirs))
        if not off <= AUDIT_TOLERANCE:
            return f"{variable.name} is {theirs!r} in plain floats, not {ours!r}", off
        largest = max(largest, off)
    if status is not opinion.status:
        return f"{opinion.status.value} in plain floats, not {status.value}", largest
    return AGREES, largest


def _question_at(grid: Grid, place: Place) -> Question:
    """Return the question at a place, its limits with numbers of their own."""
    return anchors.anchored(grid.question(place), lambda q: answer(q, neighbours=False)).question


def _opinions(
    at: Ready, study: Study, places: Sequence[Place], ahead: Child | None
) -> Iterator[tuple[Place, Opinion]]:
    """Answer each point again: here where nothing is decided, else in a process that can be ended."""
    if not at.grid.decided():
        for place in places:
            yield place, ask(_question_at(at.grid, place), AUDIT_SECONDS)
        return
    left, second = list(places), list[Place]()
    while left:
        child = ahead if ahead is not None and ahead.places == tuple(left) else None
        # one that has ended answers no more
        ahead = None
        for place, opinion in _of_child(at, study, tuple(left), child):
            if opinion.message == ENDED and place not in second:
                # somebody may have ended it; a point that does so itself does it twice
                second.append(place)
                break
            left.pop(0)
            yield place, opinion


@dataclass(frozen=True, slots=True)
class Child:
    """A process that answers ``places`` again, in this order; ``lines``: what it has said so far."""

    places: tuple[Place, ...]
    process: subprocess.Popen[bytes]
    lines: queue.SimpleQueue[bytes]

    def end(self) -> None:
        """End the process, whatever it is at."""
        self.process.kill()
        self.process.wait()


def _started(at: Ready, study: Study, places: tuple[Place, ...]) -> Child:
    """Start the process that answers points again."""
    import cloudpickle

    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "dse.sweeping.audits"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
        start_new_session=True,
    )
    assert process.stdin is not None, "a pipe was asked for"
    assert process.stdout is not None, "a pipe was asked for"
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    asked = cloudpickle.dumps((study, list(places), at.path is not None))
    talk = threading.Thread(target=_talk, args=(process.stdin, asked, process.stdout, lines), daemon=True)
    talk.name = "audit"
    talk.start()
    return Child(places, process, lines)


@contextlib.contextmanager
def beginning(at: Ready, study: Study, count: int) -> Iterator[Child | None]:
    """Let points be answered again while the sweep still computes; None where no process is needed for that.

    What is compared is what the sweep has in the end.
    """
    needed = count > 0 and at.grid.decided() and all(b.uncertain is None for b in at.grid.bases.values())
    child = _started(at, study, tuple(drawn(at, count))) if needed else None
    try:
        yield child
    finally:
        if child is not None:
            child.end()


def _of_child(
    at: Ready, study: Study, places: tuple[Place, ...], child: Child | None = None
) -> Iterator[tuple[Place, Opinion]]:
    """Ask one process for all points; where it stops answering, the point it was at has no opinion, and it ends."""
    child = child or _started(at, study, places)
    try:
        for number, place in enumerate(places):
            try:
                # of several choices each may take its time
                line = child.lines.get(
                    timeout=(AUDIT_START if number == 0 else 0) + 10 * AUDIT_SECONDS + GRACE
                )
                told = json.loads(line)
            except (queue.Empty, ValueError) as problem:
                late = isinstance(problem, queue.Empty)
                yield place, Opinion(Status.ERROR, message="no answer came in time" if late else ENDED)
                return
            yield place, Opinion(Status(told["status"]), told["objective"], told["metrics"], told["message"])
    finally:
        child.end()


def _talk(there: Any, asked: bytes, back: Any, lines: queue.SimpleQueue[bytes]) -> None:
    """Say what is asked, which waits until the process has started, and collect what it answers."""
    # whoever finds the pipe broken finds no answer either
    with contextlib.suppress(BrokenPipeError):
        there.write(asked)
        there.close()
    with back:
        for line in back:
            # solvers of others may print too
            if line.startswith(b"{"):
                lines.put(line)
    lines.put(b"")


def main() -> None:
    """Answer the points named on standard input, one line of JSON for each."""
    import pickle

    end_with_parent()
    study, places, at_once = pickle.loads(sys.stdin.buffer.read())
    grid = scenarios.grid(read(study))
    for place in places:
        question = _question_at(grid, tuple(place))
        opinion = ask(question, AUDIT_SECONDS)
        if opinion.status is Status.ERROR and at_once:
            # of what SCIP cannot be asked, the answer to this point by itself
            alone = answer(question, neighbours=False)
            opinion = Opinion(alone.status, alone.objective, message="by itself")
        sys.stdout.write("\n" + json.dumps(asdict(opinion)) + "\n")
        sys.stdout.flush()


def figures(notes: Iterable[Mapping[str, Any]], extra: Again | None) -> dict[str, Any]:
    """Put together what the audit of a sweep found, as values that JSON has.

    ``notes``: what was noted of each chunk (see ``dse.sweeping.points.study.Finished``).
    """
    whole = Findings()
    for note in notes:
        if "check" in note:
            whole.add(Findings.read(note["check"]))
    found: dict[str, Any] = {
        "points": whole.points,
        "wrong": whole.wrong,
        "largest_miss_of_a_limit": whole.limit,
        "largest_gap": whole.gap,
        "largest_difference": whole.difference,
        "bounds_proved_again": whole.proved,
        "bounds_tried": whole.proved + whole.unproved,
    }
    found |= {"not_run_again": whole.not_run} if whole.not_run else {}
    if extra is not None:
        found |= {
            "solved_again": extra.points,
            "agree": extra.agree,
            "undecided": extra.undecided,
            "differ": extra.differ,
            "largest_difference_solved_again": extra.difference,
        }
        # only where there are some: figures are the same however often a sweep was interrupted
        found |= {CUT_OFF: extra.cut_off} if extra.cut_off else {}
    examples = [*whole.examples, *(extra.examples if extra else ())]
    found["passed"] = whole.wrong == 0 and (extra is None or extra.differ == 0)
    found["examples"] = [[list(e.place), e.variable, e.what] for e in examples[:EXAMPLES]]
    return found


def finished(attributes: Mapping[str, Any]) -> bool:
    """Whether a store with these attributes has all its chunks, and a whole audit of them."""
    return ATTRIBUTE in attributes and not json.loads(attributes[ATTRIBUTE]).get(CUT_OFF)


def timed(
    at: Ready, study: Study, opened: Callable[[], xr.Dataset], count: int, ahead: Child | None = None
) -> tuple[Again | None, float]:
    """Answer so many points again (``ahead``: a process that is at some already); also how long that took."""
    if count == 0:
        return None, 0.0
    began = time.perf_counter()
    return again(at, study, opened(), drawn(at, count), ahead), time.perf_counter() - began


if __name__ == "__main__":
    main()
