"""Options of commands whose questions another solver may answer, through Pyomo."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import click

Command = TypeVar("Command", bound=Callable[..., int])
SOLVER_HELP = "Let a solver that Pyomo knows answer: scip, highs, ipopt, gurobi, ..."
SECONDS_HELP = "With --solver: how long it may take for each choice among names (default 60)."


def solving(command: Command) -> Command:
    """Give a command these options; it gets them as ``by``: ``solver`` and ``seconds``, empty where none is named."""

    @click.option("--solver", metavar="NAME", help=SOLVER_HELP)
    @click.option("--seconds", type=click.FloatRange(0, min_open=True), default=60.0, help=SECONDS_HELP)
    @functools.wraps(command)
    def run(*, solver: str | None, seconds: float, **options: Any) -> int:
        return command(**options, by={} if solver is None else {"solver": solver, "seconds": seconds})

    return cast("Command", run)
