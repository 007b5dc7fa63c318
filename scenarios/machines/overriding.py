"""Another machine for a scenario: the question that is then asked, with a text that says so.

What is asked for outside of a file stands in the text all the same, so that a stored question is the one that was
answered.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dse.machines import is_file
from dse.models.model import MACHINE_PREFIX
from dse.system import files
from scenarios.language.errors import ScenarioError, meant, shown
from scenarios.language.toml_text import to_toml

KEY = "--machine"
_LINE = re.compile(r'^machine[ \t]*=[ \t]*("[^"\n]*"|\'[^\'\n]*\'|\{[^\n]*\})[ \t]*(#[^\n]*)?$', re.MULTILINE)


def on_machine(
    data: Mapping[str, Any], text: str | None, machine: str, file: str
) -> tuple[dict[str, Any], str | None]:
    """Return a scenario's data and text with another machine.

    ``machine``: the name of a machine, or the path of a machine file, which begins at the working directory; of a map
    of machines ENTRY=NAME, several with commas between. Raises ScenarioError where the file leaves no place for it.
    """
    told = (
        _path_of_machine(data, machine, file)
        if "=" not in machine
        else _overriding_entries(data, machine, file)
    )
    made = {**data, "machine": told}
    return made, None if text is None else _rewritten(text, made)


@contextmanager
def blamed(machine: str | None) -> Iterator[None]:
    """Let a mistake of the name of a machine stand at the option that named it, not at a key of the file."""
    try:
        yield
    except ScenarioError as error:
        if machine is None:
            raise
        entries = [part.partition("=")[0].strip() for part in machine.split(",") if "=" in part]
        named = {MACHINE_PREFIX + entry for entry in entries} or {"machine"}
        raise ScenarioError(p._replace(key=KEY) if p.key in named else p for p in error.problems) from None


def _path_of_machine(data: Mapping[str, Any], machine: str, file: str) -> str:
    own = data.get("machine")
    _elsewhere(data, "machine", file)
    if isinstance(own, Mapping) and (changed := [n for n in own if n != "base"]):
        if any(isinstance(v, Mapping) for v in own.values()) or "base" not in own:
            right = f'name the entry that changes: {KEY} "{changed[0]}=NAME"'
            raise _refused(
                file, f"machine is a table ({', '.join(changed)}), not the name of a machine", right
            )
        wrong = f"the file changes {', '.join(changed)} of its machine, which another machine would lose"
        raise _refused(file, wrong, f"take them out of the machine table, or leave {KEY} out")
    return _path(machine)


def _overriding_entries(data: Mapping[str, Any], machine: str, file: str) -> dict[str, Any]:
    own = data.get("machine")
    if not isinstance(own, Mapping) or "base" in own:
        wrong = f"{shown(machine)} names an entry of a map of machines, and this file has none"
        raise _refused(file, wrong, f"write {KEY} NAME")
    made = dict(own)
    for part in machine.split(","):
        entry, _, name = (x.strip() for x in part.partition("="))
        if entry not in own:
            raise _refused(file, f"the map of machines has no {shown(entry)}", meant(entry, own))
        _elsewhere(data, MACHINE_PREFIX + entry, file)
        made[entry] = _path(name)
    return made


def _elsewhere(data: Mapping[str, Any], name: str, file: str) -> None:
    """Refuse another machine where the file decides it or sweeps it."""
    decide, sweep = data.get("decide"), data.get("sweep")
    if isinstance(decide, Mapping) and name in decide and not isinstance(data.get(name), str):
        inner = decide[name]
        if isinstance(inner, Mapping) and "values" in inner:
            raise _refused(file, f"the {name} is decided here", f"leave {KEY} out")
    for axis in sweep.values() if isinstance(sweep, Mapping) else ():
        if not isinstance(axis, Mapping):
            continue
        together = [*(axis.get("paths") or ()), *(axis.get("columns") or ())]
        if {axis.get("path"), *together} & {name, f"{name}.base"}:
            raise _refused(file, f"the {name} is swept here", f"leave {KEY} out")


def _path(machine: str) -> str:
    return str(Path(machine).resolve()) if is_file(machine) else machine


def _refused(file: str, wrong: str, right: str) -> ScenarioError:
    return ScenarioError.of(file, KEY, wrong, right)


def _rewritten(text: str, data: Mapping[str, Any]) -> str:
    """Return the text with its line of the machine replaced, or one more; anew where that does not do."""
    machine = data["machine"]
    if isinstance(machine, str):
        name = json.dumps(machine, ensure_ascii=False)
        line = f"machine = {name}"
        told = _LINE.sub(
            lambda old: old[0] if old[1] == name else f"{line}   # in place of {old[1]}", text, count=1
        )
        for candidate in (told, f"{line}\n{text}"):
            try:
                if files.toml(candidate) == data:
                    return candidate
            except (tomllib.TOMLDecodeError, files.Unreadable):
                continue
    return to_toml(data)
