"""Machine and model files named in a scenario: found beside it, and kept with the question, word for word.

A question's text names such a file as its author did, and ends with what the file held: a line with its SHA-256, and
the file itself in comments. So a question that was stored is whole: it can be read, continued and verified in another
folder and on another computer, and its hash says which machine or model was meant.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from dse import machines
from dse.system import files
from dse.system.files import Held
from scenarios.language.errors import Findings
from scenarios.language.parts import Place
from scenarios.language.shape import dotted
from scenarios.language.toml_text import to_toml

_MARK = "#|"
"""Begins each line of a file that is kept in a question's text."""
# what a file held when the question was asked: its path as a TOML string, its checksum, and the lines of it
_PIN = re.compile(
    r'^# (?:machine|model) file ("(?:[^"\\\n]|\\.)+"): sha256 ([0-9a-f]{64})[ \t]*(?:\n|\Z)((?:^#\|.*\n?)*)',
    re.MULTILINE,
)


def pins(text: str) -> list[tuple[str, str]]:
    """Return the machine and model files that a scenario's text pins: path and SHA-256 of each."""
    return sorted({(_unquoted(found[1]), found[2]) for found in _PIN.finditer(text)})


def pin_lines(text: str) -> str:
    """Return the lines of a scenario's text that pin machine and model files, with what these held."""
    return "".join(f"{found[0].rstrip(chr(10))}\n" for found in _PIN.finditer(text))


def held(text: str) -> dict[str, Held]:
    """Return the machine and model files that a scenario's text holds, by their paths."""
    found = {}
    for pin in _PIN.finditer(text):
        path, kept = _unquoted(pin[1]), _unmarked(pin[3])
        if kept is not None and Held(path, kept).sha256 == pin[2]:
            found[path] = Held(path, kept)
    return found


@lru_cache(maxsize=64)
def shown_names(*texts: str) -> Mapping[str, str]:
    """Return how people are shown the machine files that scenarios' texts hold, by their paths: by their titles.

    See ``dse.machines.shown_names``. A path under which two texts hold files with different titles is left out.
    """
    found: dict[str, machines.Machine] = {}
    apart = set()
    for file in (file for text in texts for file in held(text).values()):
        try:
            read = machines.get(file)
        except machines.MachineError:
            # a model file
            continue
        if found.setdefault(str(file), read).title != read.title:
            apart.add(str(file))
    return machines.shown_names(m for path, m in found.items() if path not in apart)


def pinned(
    data: dict[str, Any], folder: Path, text: str | None, findings: Findings, *, stored: bool = False
) -> tuple[dict[str, Any], str | None]:
    """Return a scenario's data and text with its machine and model files as they are now, and pinned.

    A path that is not absolute starts at ``folder`` and stays as it is written; an absolute one is shortened to what
    follows the folder, or to its last part. In the data the paths are ``Held``. The text ends with each file and its
    SHA-256. ``stored``: what the text holds of its files is what counts; otherwise a file that has changed since is
    noted as a mistake. Without such files all stays as it is.
    """
    written = paths_in(data)
    if not written:
        return data, text
    kept, before = held(text or ""), dict(pins(text or ""))
    found: dict[str, Held] = {}
    missing: dict[str, str] = {}
    names = _names_of_paths([p for p in written if not isinstance(p, Held)], folder)
    places = _model_places(data)
    for path in written:
        if isinstance(path, Held):
            found[path] = path
            continue
        name = names[path]
        read = kept.get(name) if stored else None
        if read is None:
            now = _held_file(folder / path, name)
            read = kept.get(name) if now is None else now
        if read is None:
            # whoever reads the machine or model says so, with its key
            missing[path] = str((folder / path).resolve())
            continue
        found[path] = read
        if before.get(name, read.sha256) != read.sha256:
            kind = _model_or_machine(path, places)
            wrong = f"{kind} file {path} has changed since this question was stored"
            right = f"bring the old file back, or take the lines out that pin it to {before[name][:16]}…"
            findings.add(places.get(path, kind), wrong, right)
    made = _replaced(data, lambda p: found.get(p) or missing.get(p, p))
    try:
        told = to_toml(made) if text is None else rewritten(text, names | missing, made)
    except TypeError:
        # whoever reads the data says what is wrong with it
        return made, text
    if not found:
        return made, told
    bare = _PIN.sub("", told).rstrip()
    # what looks like a pin inside a text of several lines stays
    told = bare if tomllib.loads(bare) == tomllib.loads(told) else to_toml(made)
    blocks = dict.fromkeys(_block(_model_or_machine(p, places), f) for p, f in found.items())
    return made, "\n".join([told, *blocks]) + "\n"


def _model_or_machine(path: str, places: Mapping[str, str]) -> str:
    return "model" if path in places else "machine"


def _block(kind: str, file: Held) -> str:
    """Write a file as the lines that pin it."""
    quoted = json.dumps(str(file), ensure_ascii=False)
    lines = (f"{_MARK} {line}" if line else _MARK for line in file.text.split("\n"))
    return "\n".join([f"# {kind} file {quoted}: sha256 {file.sha256}", *lines])


def _unmarked(lines: str) -> str | None:
    """Return what a file held from the lines of it in a text; None where there are none."""
    if not lines:
        return None
    return "\n".join(line[len(_MARK) :].removeprefix(" ") for line in lines.rstrip("\n").split("\n"))


def _unquoted(path: str) -> str:
    try:
        return str(json.loads(path))
    except ValueError:
        return path[1:-1]


def _held_file(path: Path, name: str) -> Held | None:
    try:
        return Held(name, files.text(path))
    except (OSError, UnicodeDecodeError):
        return None


def _names_of_paths(paths: Iterable[str], folder: Path) -> dict[str, str]:
    """Return how each path is called in the question: no name tells where the folder is, and no two are the same."""
    names = {p: p for p in paths if not Path(p).is_absolute()}
    top = folder.resolve()
    for path in paths:
        if path in names:
            continue
        whole = Path(path).resolve()
        below = whole.relative_to(top).parts if whole.is_relative_to(top) else whole.parts[-1:]
        last = len(below)
        while (name := "/".join(whole.parts[-last:])) in names.values() and last < len(whole.parts) - 1:
            last += 1
        names[path] = name
    return names


def _model_places(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the paths of model files, each with the key at which it is named first."""
    found: dict[str, str] = {}
    for place in _places_of_names(data):
        if place[0] in ("model", "models", "kernels"):
            _replaced(data, partial(_noted, found, dotted(place)), [place])
    return found


def _noted(found: dict[str, str], key: str, path: str) -> str:
    found.setdefault(path, key)
    return path


def rewritten(text: str, paths: Mapping[str, str], data: dict[str, Any]) -> str:
    """Return the text with other paths, whose data is ``data``; written anew where replacing strings is not enough."""
    for path, name in paths.items():
        for mark in "\"'" if path != name else "":
            text = text.replace(f"{mark}{path}{mark}", json.dumps(name, ensure_ascii=False))
    try:
        same = files.toml(text) == data
    except tomllib.TOMLDecodeError:
        same = False
    return text if same else to_toml(data)


def _places_of_names(data: Mapping[str, Any]) -> Iterator[Place]:
    """Go through the places where machines and models are named."""
    yield ("model",)
    yield ("machine",)
    named = data.get("models")
    for name in named if isinstance(named, Mapping) else ():
        yield "models", name
    kernels = data.get("kernels")
    for i, _ in enumerate(kernels if isinstance(kernels, list) else ()):
        yield "kernels", i, "model"
    decide = data.get("decide")
    for name in decide if isinstance(decide, Mapping) else ():
        if f"{name}.".startswith("machine."):
            yield "decide", name
    sweep = data.get("sweep")
    for axis in sweep if isinstance(sweep, Mapping) else ():
        yield "sweep", axis, "values"
        yield "sweep", axis, "paths"


def paths_in(data: Mapping[str, Any]) -> list[str]:
    """Return the paths of machine and model files that a scenario's data names, each once."""
    found: list[str] = []

    def note(path: str) -> str:
        found.append(path)
        return path

    _replaced(data, note)
    return list(dict.fromkeys(found))


def _replaced(
    data: Mapping[str, Any], change: Callable[[str], str], places: Iterable[Place] | None = None
) -> dict[str, Any]:
    """Return the data with every path of a machine or model file changed, or those at some ``places``."""
    made = dict(data)
    for place in _places_of_names(data) if places is None else places:
        _change_at(made, place, change)
    return made


def _change_at(table: Any, place: Place, change: Callable[[str], str]) -> None:
    key: Any
    key, *rest = place
    # what is not a table where one belongs is told of when the file is judged
    fits = isinstance(key, int) if isinstance(table, list) else isinstance(table, dict) and key in table
    if not fits:
        return
    if not rest:
        table[key] = _changed(table[key], change)
    elif isinstance(table[key], Mapping | list):
        table[key] = copy.copy(table[key])
        _change_at(table[key], tuple(rest), change)


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if machines.is_file(value):
        return change(value)
    if isinstance(value, Mapping):
        return {k: _changed(v, change) for k, v in value.items()}
    return [_changed(v, change) for v in value] if isinstance(value, list) else value
