"""Options of commands whose questions another solver may answer, through Pyomo."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import click

from dse.commands.terminal.options.numbers import FiniteRange

Command = TypeVar("Command", bound=Callable[..., int])
SOLVER_HELP = "A solver of Pyomo that answers: scip, highs, ipopt, gurobi, ..."
MOST_SECONDS = 60.0
SECONDS_HELP = f"With --solver: how long it may take for each choice among names (default {MOST_SECONDS:g})."


def solving(command: Command) -> Command:
    """Give a command these options; it gets them as ``by``: ``solver`` and ``seconds``, empty where none is named."""

    @click.option("--solver", metavar="NAME", help=SOLVER_HELP)
    @click.option("--seconds", type=FiniteRange(0, min_open=True), help=SECONDS_HELP)
    @functools.wraps(command)
    def run(*, solver: str | None, seconds: float | None, **options: Any) -> int:
        if seconds is not None and solver is None:
            raise click.UsageError("--seconds says how long --solver may take: give that too")
        by = {} if solver is None else {"solver": solver, "seconds": seconds or MOST_SECONDS}
        return command(**options, by=by)

    return cast("Command", run)
