"""How the ``dse`` command ends: one clear message where it fails, and an exit code that scripts can trust."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from dse.commands.terminal import hints
from dse.commands.terminal.printing import say_json
from dse.measuring.errors import MeasuringError
from dse.names import UnknownName, did_you_mean
from dse.system import streams
from dse.system.processes import WorkersLost
from dse.system.streams import INTERRUPTED
from results.stores.files.trouble import NoRoom, StoreBusy, StoreDamaged, StoreError, StoreForbidden
from scenarios.language.errors import MOST_MISTAKES, ScenarioError
from solvers.others.solver_errors import SolverError

ANSWERED, EXIT_FAILED, WRONG, NO_ANSWER = 0, 1, 2, 3
DEBUG, JSON = "--debug", "--json"
_OUR_TROUBLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOMEM, errno.EMFILE})


class Door(click.Group):
    """A group of commands that return their exit code."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Run as the process itself, not within another program: where interrupted, it waits for no thread."""
        try:
            return super().__call__(*arguments, **options)
        except SystemExit as end:
            if end.code == INTERRUPTED:
                streams.leave()
            raise

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and exit: 0 answered, 3 no answer, 2 wrong question, 1 failed, 130 interrupted."""
        words = list(sys.argv[1:] if args is None else args)
        debug = DEBUG in words
        streams.prepare()
        code = self._run([w for w in words if w != DEBUG], prog_name or "dse", complete_var, debug, extra)
        if standalone_mode:
            # the answer is out: Ctrl-C now only ends what the interpreter tidies up
            streams.end_quietly()
            sys.exit(code)
        return code

    def _run(
        self, words: list[str], name: str, complete: str | None, debug: bool, extra: dict[str, Any]
    ) -> int:
        try:
            code = super().main(words, name, complete, standalone_mode=False, obj=words, **extra)
        except click.ClickException as problem:
            if JSON in words and _speaks_json(problem):
                print_mistakes(problem)
                return problem.exit_code
            told = io.StringIO()
            problem.show(told)
            complain(told.getvalue().rstrip("\n"))
            return problem.exit_code
        except (click.Abort, KeyboardInterrupt):
            complain("interrupted")
            return INTERRUPTED
        except Exception as problem:
            code = explain(problem, as_json=JSON in words)
            if code is None and debug:
                raise
            return EXIT_FAILED if code is None else code
        return code if isinstance(code, int) else ANSWERED

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, and end with the one next thing to try; an answer that there is no design has one too."""
        code = super().invoke(ctx)
        known = hints.told(ctx)
        if known is not None or code in {None, ANSWERED, NO_ANSWER}:
            self._hint(ctx.obj, known)
        return code

    def _hint(self, words: list[str], known: Callable[[], Sequence[str]] | None) -> None:
        """Name the next thing to try, where a person reads it."""
        command = self.commands.get(words[0])
        options = [p for p in command.params if isinstance(p, click.Option)] if command is not None else []
        valued = [name for p in options if not (p.is_flag or p.count) for name in p.opts]
        if hint := hints.say(words, valued, known):
            with contextlib.suppress(OSError):
                streams.put(streams.visible(hint), sys.stdout)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a command, or say which one was probably meant."""
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            ctx.fail(f"there is no command {args[0]!r}{did_you_mean(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with the whole first sentence of each."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, c.get_short_help_str(sys.maxsize)) for name, c in self.commands.items()]
            )

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which a user needs them."""
        return list(self.commands)


def print_mistakes(problem: Exception) -> None:
    """Print what is wrong with a question as JSON: each mistake of a scenario, or the one message of another error."""
    if not isinstance(problem, ScenarioError):
        wrong = problem.format_message() if isinstance(problem, click.ClickException) else str(problem)
        say_json({"ok": False, "problems": [{"file": "", "key": "", "wrong": wrong, "right": ""}]})
        return
    more = len(problem.problems) - MOST_MISTAKES
    told = {"ok": False, "problems": [p._asdict() for p in problem.problems[:MOST_MISTAKES]]}
    say_json(told | ({"more": more} if more > 0 else {}))


def _speaks_json(problem: click.ClickException) -> bool:
    """Whether the command that was called wrongly prints JSON if it is asked to."""
    called = (
        problem.ctx.command if isinstance(problem, click.UsageError) and problem.ctx is not None else None
    )
    return called is not None and any(JSON in p.opts for p in called.params)


def complain(message: str) -> None:
    """Print to standard error; nobody may be listening."""
    with contextlib.suppress(OSError):
        streams.put(streams.visible(message), sys.stderr)


def folder_for(output: str | Path) -> None:
    """Make the folder that an output goes to where there is none, and say so."""
    folder = Path(output).parent
    if "://" not in str(output) and not folder.exists():
        folder.mkdir(parents=True)
        complain(f"dse: there was no folder {folder}; it is made")


@contextlib.contextmanager
def filling(store: str | None) -> Iterator[None]:
    """Say how to go on where Ctrl-C ends the filling of a store; None: there is none to go on with."""
    try:
        yield
    except KeyboardInterrupt:
        # what Zarr had begun to read is not awaited any more, which is nobody's trouble
        warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
        if store is None:
            raise
        kept = "keeps what is done" if "://" in store or Path(store).exists() else "is not made yet"
        complain(f"interrupted; {store} {kept}, and the same command continues")
        raise click.exceptions.Exit(INTERRUPTED) from None


def warn_of_unfinished(source: str) -> None:
    """Say on standard error where a source is a sweep that is not finished: its results look like those of one."""
    from dse import api
    from dse.quantities import plural

    with contextlib.suppress(StoreError, OSError):
        told = api.status(source) if Path(source).is_dir() or "://" in source else {}
        if told.get("pending"):
            complain(
                f"dse: {source} is not finished: {told['pending']} of {plural(told['points'], 'point')} not computed"
            )


def draw(pictures: Iterable[str], kind: str, shown: Any, about: Mapping[str, Any]) -> None:
    """Draw a picture of a kind of ``results.plot`` into files; ``about``: the attributes of its dataset."""
    for picture in pictures:
        from results import plot

        folder_for(picture)
        plot.save(getattr(plot, kind)(shown), picture, about)


def explain(problem: Exception, *, as_json: bool = False) -> int | None:
    """Say in one message what went wrong, and return the exit code for it; None where nobody expected it.

    ``as_json``: what was asked wrongly is printed as JSON, as answers are.
    """
    from dse.fitting.errors import FittingError
    from dse.machines import MachineError
    from dse.models import ModelFileError, PluginError
    from dse.quantities import UnitError

    if isinstance(problem, StoreDamaged | StoreForbidden) and "results.stores.checked" in sys.modules:
        sys.modules["results.stores.checked"].settle()
    if isinstance(problem, NoRoom | StoreBusy | StoreDamaged | WorkersLost):
        complain(f"dse: {problem}")
        return EXIT_FAILED
    if isinstance(
        problem,
        FittingError
        | MachineError
        | MeasuringError
        | ModelFileError
        | PluginError
        | ScenarioError
        | SolverError
        | StoreError
        | UnitError
        | UnknownName,
    ):
        if as_json:
            print_mistakes(problem)
        else:
            complain(f"dse: {problem}")
        return WRONG
    if isinstance(problem, OSError) and problem.errno:
        where = f"{problem.filename}: " if problem.filename else ""
        complain(f"dse: {where}{os.strerror(problem.errno)}")
        return EXIT_FAILED if problem.errno in _OUR_TROUBLE else WRONG
    complain(f"dse: unexpected {type(problem).__name__}: {problem} (with {DEBUG} you see where)")
    return None
