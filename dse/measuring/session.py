"""Measuring a machine from beginning to end, and what is found."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

from dse.measuring import costs as energies
from dse.measuring import figures as rates
from dse.measuring.conditions import Conditions, Watch
from dse.measuring.energy.meters import Meter, Unavailable
from dse.measuring.loops.repetition import Effort, repeat
from dse.measuring.runs import Run
from dse.system.progress import Report
from dse.system.records import dataclass


@dataclass(frozen=True)
class Measured:
    """A machine as measured.

    ``name``, ``what``: of the machine and of what was measured with; ``runs``: every repetition;
    ``conditions``: how the machine stood; ``meter``: what read the energy, empty where nothing did, and then
    ``unread`` says why; ``stated``: power in W that the user told instead; ``whole``: False where it was
    interrupted; ``notes``: what else the user should know.
    """

    name: str
    facts: dict[str, str]
    runs: Sequence[Run]
    conditions: Conditions
    date: str
    meter: str = ""
    unread: Sequence[str] = ()
    stated: float | None = None
    whole: bool = True
    notes: Sequence[str] = field(default=())

    @cached_property
    def threads(self) -> tuple[int, ...]:
        """The numbers of threads; the machine is that of the last."""
        return tuple(dict.fromkeys(r.threads for r in self.runs))

    def figures(self, threads: int) -> list[rates.Figure]:
        """Return all sustained rates for a number of threads."""
        return rates.find(self.runs, (*rates.PARAMETERS, *rates.BESIDE), threads)

    @cached_property
    def times(self) -> list[rates.Figure]:
        """The figures that are machine parameters."""
        return rates.find(self.runs, rates.PARAMETERS, self.threads[-1]) if self.runs else []

    @cached_property
    def _costs(self) -> tuple[list[energies.Cost], list[str]]:
        if self.runs and all(r.energy is not None for r in self.runs):
            return energies.fitted(self.runs, self.threads[-1], self.name)
        return (energies.stated(self.stated), []) if self.stated is not None else ([], [])

    @property
    def costs(self) -> list[energies.Cost]:
        """The parameters of energy and power."""
        return self._costs[0]

    @cached_property
    def misses(self) -> tuple[float, float, int]:
        """How far the roofline of the measured rates misses the measured times: mean, greatest, runs."""
        return energies.misses(self.runs, {f.name: f.value for f in self.times}, self.threads[-1])

    @property
    def remarks(self) -> list[str]:
        """What the user should know."""
        return [*self.notes, *self._costs[1]]

    @cached_property
    def against(self) -> list[str]:
        """What forbids to call the machine measured; empty where nothing does."""
        found = [] if self.whole else ["it was interrupted before its end"]
        found += self.conditions.against()
        for figure in self.times:
            if wrong := figure.against():
                found.append(f"{figure.name} ({figure.kernel}): {', '.join(wrong)}")
        return found


@dataclass(frozen=True, slots=True)
class Place:
    """Where is measured: a number of threads, what opens it, and what is made for it."""

    threads: int
    open: Callable[[], Any]
    plan: Sequence[Callable[[Any], Any]]


def measure(
    name: str,
    facts: dict[str, str],
    places: Sequence[Place],
    meter: Meter | None,
    effort: Effort,
    report: Report,
) -> Measured:
    """Time everything planned at all places; Ctrl-C or SIGTERM ends it early, with ``whole`` False and what there is.

    ``report`` is told how many of how many measurements are done.
    """
    runs: list[Run] = []
    notes: list[str] = []
    watch = Watch()
    done, total = 0, sum(len(p.plan) for p in places)
    begun, whole = time.monotonic(), True
    try:
        for place in places:
            with place.open() as team:
                for make in place.plan:
                    report(done, total)
                    task, before = make(team), len(runs)
                    share = effort.shared(time.monotonic() - begun, total - done)
                    try:
                        repeat(task, share, meter, runs.append)
                    except Unavailable as problem:
                        # what has no energy would not be of use beside what has
                        notes.append(f"the meter stopped at {task}, and no energy is known: {problem}")
                        meter = None
                        del runs[before:]
                        repeat(task, share, None, runs.append)
                    done += 1
        report(done, total)
    except KeyboardInterrupt:
        whole = False
    return Measured(
        name,
        facts,
        runs,
        watch.conditions(),
        datetime.datetime.now().astimezone().isoformat(" ", "minutes"),
        meter.name if meter else "",
        whole=whole,
        notes=notes,
    )
