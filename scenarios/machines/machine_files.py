"""Machine and model files named in a scenario: found beside it, and pinned by what they held."""

from __future__ import annotations

import copy
import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from dse import files
from dse.machines import is_file
from scenarios.language.errors import Findings
from scenarios.language.parts import Place
from scenarios.language.shape import dotted
from scenarios.language.toml_text import to_toml

# a line of a scenario's text that says what a file held when the question was asked
_PIN = re.compile(r'^# (?:machine|model) file "(.+)": sha256 ([0-9a-f]{64})$', re.MULTILINE)


def pins(text: str) -> list[tuple[str, str]]:
    """Return the machine and model files that a scenario's text pins: path and SHA-256 of each."""
    return sorted(set(_PIN.findall(text)))


def pin_lines(text: str) -> str:
    """Return the lines of a scenario's text that pin machine and model files."""
    return "".join(f"{found[0]}\n" for found in _PIN.finditer(text))


def pinned(
    data: dict[str, Any], folder: Path, text: str | None, findings: Findings
) -> tuple[dict[str, Any], str | None]:
    """Return a scenario's data and text with its machine and model files as absolute paths, and pinned.

    A path that is not absolute starts at ``folder``.
    The text ends with the SHA-256 of each file, so that a stored question, and its hash, say which machine or
    model was meant; a file that has changed since is noted as a mistake. Without such files all stays as it is.
    """
    paths = {p: str((folder / p).resolve()) for p in _named(data)}
    if not paths:
        return data, text
    found = _replaced(data, lambda p: paths.get(p, p))
    try:
        told = to_toml(found) if text is None else rewritten(text, paths, found)
    except TypeError:
        # whoever reads the data says what is wrong with it
        return found, text
    before, places = dict(_PIN.findall(told)), _model_places(found)
    for path in dict.fromkeys(paths.values()):
        held = _digest(path)
        if held is None:
            continue
        kind = "model" if path in places else "machine"
        if path not in before:
            told = f'{told.rstrip()}\n# {kind} file "{path}": sha256 {held}\n'
        elif before[path] != held:
            wrong = f"{kind} file {path} has changed since this question was stored"
            right = f"bring the old file back, or take the line out that pins it to {before[path][:16]}…"
            findings.add(places.get(path, kind), wrong, right)
    return found, told


def _model_places(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the paths of model files, each with the key at which it is named first."""
    found: dict[str, str] = {}
    for place in _parts(data):
        if place[0] in ("model", "models", "kernels"):
            _replaced(data, partial(_noted, found, dotted(place)), [place])
    return found


def _noted(found: dict[str, str], key: str, path: str) -> str:
    found.setdefault(path, key)
    return path


def _digest(path: str) -> str | None:
    try:
        return hashlib.sha256(files.content(path)).hexdigest()
    except OSError:
        # whoever reads the machine or model says so, with its key
        return None


def rewritten(text: str, paths: Mapping[str, str], data: dict[str, Any]) -> str:
    """Return the text with other paths, whose data is ``data``; written anew where replacing strings is not enough."""
    for path, absolute in paths.items():
        for mark in "\"'":
            text = text.replace(f"{mark}{path}{mark}", json.dumps(absolute, ensure_ascii=False))
    try:
        same = files.toml(text) == data
    except tomllib.TOMLDecodeError:
        same = False
    return text if same else to_toml(data)


def _parts(data: Mapping[str, Any]) -> Iterator[Place]:
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


def _named(data: Mapping[str, Any]) -> list[str]:
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
    for place in _parts(data) if places is None else places:
        _change_at(made, place, change)
    return made


def _change_at(table: Any, place: Place, change: Callable[[str], str]) -> None:
    key: Any
    key, *rest = place
    # what is no table where one belongs is told of when the file is judged
    fits = isinstance(key, int) if isinstance(table, list) else isinstance(table, dict) and key in table
    if not fits:
        return
    if not rest:
        table[key] = _changed(table[key], change)
    elif isinstance(table[key], Mapping | list):
        table[key] = copy.copy(table[key])
        _change_at(table[key], tuple(rest), change)


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if is_file(value):
        return change(value)
    if isinstance(value, Mapping):
        return {k: _changed(v, change) for k, v in value.items()}
    return [_changed(v, change) for v in value] if isinstance(value, list) else value
