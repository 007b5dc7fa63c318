"""What ``dse fit --model posynomial`` takes beside the options of every fit."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from dse.commands.terminal.door import ANSWERED, NO_ANSWER, complain, folder_for
from dse.commands.terminal.options.numbers import FiniteRange
from dse.commands.terminal.printing import say, say_json
from dse.models.described.fitted import POSYNOMIAL
from dse.system.progress import reporting
from dse.system.records import dataclass

Command = TypeVar("Command", bound=Callable[..., Any])

_DECORATIONS = (
    click.option("--target", metavar="COLUMN", help='The column to fit, such as "latency = ms".'),
    click.option("--of", metavar="COLUMNS", help='What it is a function of, such as "m, n, k".'),
    click.option(
        "--form",
        metavar="FORM",
        help='posynomial (default), softmax, max, or written out: "a + b * m * n * k".',
    ),
    click.option(
        "--terms", type=click.IntRange(1, 40), help="How many terms (default: as held-out runs say)."
    ),
    click.option("--free", is_flag=True, help="Refine the exponents of a posynomial off the lattice."),
    click.option(
        "--group", metavar="COLUMNS", help='Hold out whole values of these columns, such as "n, k".'
    ),
    click.option(
        "--loss",
        type=click.Choice(["huber", "tukey", "squares", "error"]),
        help="Loss function (default: tukey); error: the mean error itself, which biases the model low.",
    ),
    click.option(
        "--coverage",
        type=FiniteRange(0, 1, min_open=True, max_open=True),
        help="Coverage of the prediction interval (0.9).",
    ),
    click.option("--hull", is_flag=True, help="Limit the model to the convex hull of the runs, too."),
    click.option(
        "--also",
        multiple=True,
        metavar="FORMULA",
        help='A derived metric: "performance [flop/s] = 2 * m * n * k / latency".',
    ),
)


def behaviour_options(command: Command) -> Command:
    """Give a command the options."""
    return functools.reduce(lambda done, option: option(done), reversed(_DECORATIONS), command)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be written: model file, picture, JSON; ``force``: over what is there, and whatever the error."""

    output: str | None
    plot: str | None
    force: bool
    as_json: bool


def refuse_behaviour(model: str, of_machines: Mapping[str, bool], options: Mapping[str, Any]) -> bool:
    """Whether a model is to be fitted, not a machine; raises UsageError for options that do not go with it."""
    given = [f"--{n.replace('_', '-')}" for n, value in options.items() if value]
    if model != POSYNOMIAL:
        if given:
            raise click.UsageError(f"{given[0]} is for --model {POSYNOMIAL}")
        return False
    others = [n for n, value in of_machines.items() if value]
    if others:
        raise click.UsageError(f"{others[0]} is not for --model {POSYNOMIAL}")
    lacking = [f"--{n}" for n in ("target", "of") if not options[n]]
    if lacking:
        raise click.UsageError(f"--model {POSYNOMIAL} needs {' and '.join(lacking)}, such as {_EXAMPLE}")
    return True


def fit_behaviour(
    data: str,
    name: str | None,
    folds: int | None,
    columns: Mapping[str, str],
    options: Mapping[str, Any],
    wanted: Wanted,
) -> int:
    """Fit what the options ask for, write and print it, and return the exit code; a terminal shows progress."""
    from dse import fitting

    given = {**options, "fold_count": folds, "name": name, "headers": columns}
    with reporting(None, "part") as progress:
        try:
            found = fitting.fit_behaviour(data, progress=progress, **{k: v for k, v in given.items() if v})
        except fitting.FittingError:
            raise
        except ValueError as problem:
            raise click.UsageError(str(problem)) from None
    return write_and_tell(found, wanted, "model")


def write_and_tell(found: Any, wanted: Wanted, kind: str) -> int:
    """Write and print a fit, and return the exit code; ``kind``: of file that it makes, "machine" or "model".

    Where it is not a model of the runs no such file is written without force, and why is said.
    """
    output = None if found.distrust and not wanted.force else wanted.output
    if output:
        folder_for(output)
        found.save(output, force=wanted.force)
    if wanted.plot:
        from results.plot import save

        folder_for(wanted.plot)
        save(found.plot(), wanted.plot)
    if wanted.as_json:
        say_json(found.record())
    else:
        say(str(found))
        for written in filter(None, (output, wanted.plot)):
            say(f"Wrote {written}")
        if output:
            path = output if "/" in output else f"./{output}"
            say(f'In a scenario: {kind} = "{path}"; to look at it: dse {kind}s {path}')
    if not found.distrust:
        return ANSWERED
    complain(f"dse: {found.distrust}{'' if wanted.force else f'; no {kind} file is written without --force'}")
    return ANSWERED if wanted.force else NO_ANSWER


_EXAMPLE = '--target "latency = ms" --of "m, n, k"'
