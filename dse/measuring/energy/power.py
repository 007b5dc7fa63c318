"""Power that the user states, or that a meter outside the machine has written to a file."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from dse.fitting import FittingError
from dse.fitting.reading import Column, read
from dse.measuring.energy.meters import Log
from dse.measuring.errors import MeasuringError
from dse.measuring.runs import Run
from dse.quantities import UnitError, to_si

_COLUMNS = (
    Column("time", "s", ("timestamp", "start"), required=True, text=True),
    Column("power", "W", ("watts",), required=True),
)


def stated(power: str) -> float | str:
    """Return watts where ``power`` is a quantity such as "65 W", else the name of a file.

    Raises MeasuringError where it is neither.
    """
    if Path(power).is_file():
        return power
    try:
        watts = to_si(power, "W")
    except UnitError as problem:
        wrong = f"--power {power}: there is no such file, and it is not a power such as 65 W: {problem}"
        raise MeasuringError(wrong) from None
    if not 0 < watts < float("inf"):
        raise MeasuringError(f"--power {power}: a power is more than 0 W")
    return watts


def logged(path: str) -> Log:
    """Read a meter's file: CSV with columns time (seconds since 1970, or ISO 8601) and power [W].

    Raises MeasuringError with what is wrong.
    """
    try:
        found = read(path, _COLUMNS)
    except FittingError as problem:
        told = "\n".join(f"  {p}" for p in problem.problems)
        raise MeasuringError(f"{path} is not a record of power:\n{told}") from None
    times = [_moment(path, i, t) for i, t in enumerate(found.texts["time"], 1)]
    watts = found.numbers["power"].tolist()
    if any(b <= a for a, b in pairwise(times)):
        raise MeasuringError(f"{path}: the times do not rise from line to line")
    log = Log()
    for i, moment in enumerate(times):
        mean = 0.5 * (watts[i] + watts[i - 1]) if i else 0.0
        log.add(moment, mean * (moment - times[i - 1]) if i else 0.0)
    return log


def _moment(path: str, run: int, told: str) -> float:
    try:
        return float(told)
    except ValueError:
        pass
    try:
        moment = datetime.datetime.fromisoformat(told)
    except ValueError:
        wrong = f"{path}: the time of record {run} is {told!r}"
        raise MeasuringError(f"{wrong}, neither seconds since 1970 nor such as 2026-01-31T12:00:00") from None
    return moment.timestamp()


def with_energy(runs: Sequence[Run], log: Log, path: str) -> list[Run]:
    """Return the runs with the energy of each by a meter's record; raises MeasuringError where one is outside."""
    outside = [r for r in runs if not log.covers(r.start, r.start + r.time)]
    if outside:
        begun, ended = (
            datetime.datetime.fromtimestamp(t).astimezone().isoformat("T", "seconds")
            for t in (log.times[0], log.times[-1])
        )
        raise MeasuringError(
            f"{path} has the power from {begun} to {ended}, and {len(outside)} of {len(runs)} runs lie outside: "
            "record all the time, by a clock that agrees with this machine's"
        )
    return [replace(r, energy=log.between(r.start, r.start + r.time)) for r in runs]
