"""The one next thing to try after a command: a line at the end, on a terminal only."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence

# {0}: what the command was given; a name stands for itself, an option's value behind it: {-o}
NEXT: Mapping[str, str] = {
    "solve": "dse explain {0}",
    "explain": "dse solve {0}",
    "sweep": "dse report {-o} -o study.html",
    "evaluate": "dse report {-o} -o grid.html",
    "verify": "dse report {0} -o study.html",
    "front": "dse report {0} -o front.html",
    "compare": "dse explain {0}",
    "uncertainty": "dse uncertainty {0} --indices",
    "report": "dse scenarios",
    "export": "dse verify {0}",
    "diff": "dse compare {0} {1}",
    "measure": "dse machines ./{-o}",
    "fit": "dse machines ./{-o}",
    "reproduce": "dse reproduce {0} --rows",
    "models": "dse new {0}",
    "machines": "dse solve nbody_deadline --machine {0}",
    "workloads": "dse scenarios",
    "scenarios": "dse solve {0}",
    "new": "dse new {0} -o mine.toml",
    "schema": "dse check FILE",
}
"""By command; what has said its next step itself (`dse check`, `dse new -o`) is not here, or silent."""
BARE: Mapping[str, str] = {
    "models": "dse models nbody",
    "machines": "dse machines balanced",
    "scenarios": "dse solve nbody_deadline",
    "workloads": "dse scenarios",
    "reproduce": "dse reproduce demmel2013",
    "schema": "dse check FILE",
}
"""The same of a command that was given nothing."""
_SILENT = frozenset({"--json", "-h", "--help", "--status", "--indices", "--rows"})


def after(words: Sequence[str], valued: Sequence[str]) -> str:
    """Return the command to try after one of ``words``; empty where there is none.

    ``valued``: the options of the command that take a value, so that a value is not taken for an argument.
    """
    written = not {"-o", "--output"}.isdisjoint(words)
    # `dse new -o FILE` and `dse front` without a file say their next step themselves
    if not words or _SILENT & set(words) or (words[0], written) in {("new", True), ("front", False)}:
        return ""
    given, options = _split(words[1:], valued)
    template = ("" if given else BARE.get(words[0], "")) or NEXT.get(words[0], "")
    fields = {f"{{{i}}}": shlex.quote(g) for i, g in enumerate(given)} | {
        "{-o}": shlex.quote(options.get("-o", ""))
    }
    if "{-o}" in template and not options.get("-o"):
        return ""
    for field, value in fields.items():
        template = template.replace(field, value)
    return "" if "{" in template else template


def say(words: Sequence[str], valued: Sequence[str]) -> str:
    """Return the line that a terminal shows after a command; empty for a pipe or a file."""
    hint = after(words, valued) if sys.stdout.isatty() else ""
    return f"\nNext: {hint}" if hint else ""


def _split(words: Sequence[str], valued: Sequence[str]) -> tuple[list[str], dict[str, str]]:
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
