"""The one next thing to try after a command: a line at the end, on a terminal only."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence

import click
from click.core import ParameterSource

# {0}: what the command was given; {-o}: the value of an option; [--machine]: an option as it was given, or nothing
NEXT: Mapping[str, str] = {
    "solve": "dse explain {0} [--machine]",
    "sweep": "dse report {-o} -o study.html",
    "evaluate": "dse report {-o} -o grid.html",
    "verify": "dse report {0} -o study.html",
    "front": "dse report {0} [--points] -o front.html",
    "compare": "dse explain {0} [--machine]",
    "uncertainty": "dse uncertainty {0} [--machine] [--design] --indices",
    "report": "dse scenarios",
    "export": "dse report {0} -o page.html",
    "measure": "dse machines ./{-o}",
    "fit": "dse machines ./{-o}",
    "reproduce": "dse reproduce {0} --rows",
    "models": "dse new {0}",
    "workloads": "dse scenarios",
    "schema": "dse check FILE",
}
"""By command; not of those whose next step depends on what they found: they call ``tell``."""
BARE: Mapping[str, str] = {
    "models": "dse models nbody",
    "machines": "dse machines balanced",
    "scenarios": "dse solve nbody_deadline",
    "workloads": "dse scenarios",
    "reproduce": "dse reproduce demmel2013",
    "schema": "dse check FILE",
}
"""The same of a command that was given nothing."""
UNWRITTEN: Mapping[str, str] = {
    "sweep": "study.zarr",
    "evaluate": "grid.zarr",
    "measure": "here.toml",
    "fit": "mine.toml",
}
"""Of a command that wrote no file: what the same command may write."""
_UNASKED = re.compile(r" \[--[a-z]+\]")
_TOLD = "dse.commands.terminal.hints"
_SILENT = frozenset({"--json", "-h", "--help", "--status", "--indices", "--rows"})


def after(words: Sequence[str], valued: Sequence[str]) -> str:
    """Return the command to try after one of ``words``; empty where there is none.

    ``valued``: the options of the command that take a value, so that a value is not taken for an argument.
    """
    if not words or _SILENT & set(words):
        return ""
    given, options = _arguments_and_options(words[1:], valued)
    template = ("" if given else BARE.get(words[0], "")) or NEXT.get(words[0], "")
    fields = {f"{{{i}}}": shlex.quote(g) for i, g in enumerate(given)} | {
        "{-o}": shlex.quote(options.get("-o", ""))
    }
    fields |= {f" [{name}]": f" {shlex.join([name, value])}" for name, value in options.items()}
    if "{-o}" in template and not options.get("-o"):
        return shlex.join(["dse", *words, "-o", UNWRITTEN[words[0]]]) if words[0] in UNWRITTEN else ""
    for field, value in fields.items():
        template = template.replace(field, value)
    return "" if "{" in template else _UNASKED.sub("", template)


def again(*left_out: str) -> list[str]:
    """Return the words after ``dse`` of the command that runs: all that it was given but what is ``left_out``.

    ``left_out``: names of its parameters. Commands are told with all that was asked, or they answer something else.
    """
    context = click.get_current_context()
    arguments, options = list[str](), list[str]()
    for parameter in context.command.params:
        name = str(parameter.name)
        if name in left_out or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params[name]
        each = [str(v) for v in (value if isinstance(value, tuple) else (value,))]
        if isinstance(parameter, click.Argument):
            arguments += each
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            options.append((parameter.opts if value else parameter.secondary_opts)[0])
        else:
            options += [word for v in each for word in (parameter.opts[0], v)]
    return [str(context.info_name), *arguments, *options]


def tell(words: Callable[[], Sequence[str]]) -> None:
    """Name the next step inside a command: the words after ``dse``, asked for only where they will be shown."""
    if context := click.get_current_context(silent=True):
        context.meta[_TOLD] = words


def told(context: click.Context) -> Callable[[], Sequence[str]] | None:
    """Return what a command told, if it did."""
    found: Callable[[], Sequence[str]] | None = context.meta.get(_TOLD)
    return found


def say(words: Sequence[str], valued: Sequence[str], known: Callable[[], Sequence[str]] | None = None) -> str:
    """Return the line that a terminal shows after a command; empty for a pipe or a file.

    ``known``: the next step as the command itself told it, which goes before the tables here.
    """
    if not sys.stdout.isatty() or _SILENT & set(words):
        return ""
    hint = shlex.join(["dse", *known()]) if known is not None else after(words, valued)
    return f"\nNext: {hint}" if hint else ""


def _arguments_and_options(words: Sequence[str], valued: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the arguments of a command, and the last value of each option."""
    given, options = list[str](), dict[str, str]()
    rest = iter(words)
    for word in rest:
        if word == "--output" or word in valued:
            options["-o" if word == "--output" else word] = next(rest, "")
        elif word.startswith("-") and "=" in word:
            name, _, value = word.partition("=")
            options["-o" if name == "--output" else name] = value
        elif not word.startswith("-"):
            given.append(word)
    return given, options
