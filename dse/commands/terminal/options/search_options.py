"""Options of commands that may be answered by a sampler: one for each key of [search]."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import click

from dse.commands.terminal.door import complain
from dse.system.streams import INTERRUPTED
from scenarios.language.errors import ScenarioError

Command = TypeVar("Command", bound=Callable[..., int])
KEYS = ("sampler", "trials", "seed", "storage", "study", "workers", "compare")

_OPTIONS = (
    click.option(
        "--sampler", metavar="NAME", help="Search without proof: TPE, NSGA-II, NSGA-III, CMA-ES, random."
    ),
    click.option("--trials", type=int, help="Designs the sampler tries (default 2000)."),
    click.option("--seed", type=int, help="Seed of its random numbers (default 0)."),
    click.option(
        "--storage",
        metavar="FILE|URL",
        help="Keep its trials, and continue them: study.db, or postgresql://user@host/database.",
    ),
    click.option("--study", metavar="NAME", help='Name of the study in the storage (default "dse").'),
    click.option(
        "--workers",
        type=int,
        help="Processes that try designs at the same time (default 1); for trials of 0.05 s and more.",
    ),
    click.option(
        "--compare/--no-compare",
        default=None,
        help="Whether to report the distance from a certified method, if there is one (default: yes).",
    ),
)


def searching(command: Command) -> Command:
    """Give a command these options; it gets those that were used in ``search``, by the keys of [search]."""

    @functools.wraps(command)
    def run(**options: Any) -> int:
        search = {key: value for key in KEYS if (value := options.pop(key)) is not None}
        storage = search.get("storage")
        try:
            return command(**options, search=search)
        except KeyboardInterrupt:
            if not storage:
                raise
            complain(
                f"interrupted; {storage} keeps the trials that are done, and the same command goes on with them"
            )
            raise click.exceptions.Exit(INTERRUPTED) from None
        except ScenarioError as error:
            for problem in error.problems:
                key = problem.key.removeprefix("search.")
                if key in search and key != problem.key:
                    raise click.UsageError(f"--{key}: {problem.wrong}; {problem.right}") from None
            raise

    return cast("Command", functools.reduce(lambda done, option: option(done), reversed(_OPTIONS), run))
