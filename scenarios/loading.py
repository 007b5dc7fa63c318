"""From a file, a library name or a mapping to a checked scenario."""

from __future__ import annotations

import errno
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dse.models.described.fitted import KIND
from dse.names import did_you_mean
from dse.system import files
from dse.system.streams import controls, visible
from scenarios.language import machine_files, shape
from scenarios.language import tables as table_files
from scenarios.language.errors import Findings, Problem, ScenarioError, shown
from scenarios.language.ready import library, ready
from scenarios.language.scenario import NAMELESS, Scenario, scenario
from scenarios.language.tables import Table
from scenarios.language.toml_text import plain
from scenarios.machines import overriding
from scenarios.questions import check

_TWICE = re.compile(r"Cannot declare \((.+)\) twice")
_RESULTS = frozenset({".zarr", ".nc", ".nc4"})
# what would be right, by what the reader of TOML says in small letters; a number with a unit is the usual slip
_UNIT = 'a number with a unit stands in quotes: "50 ms"'
_REPAIRS = {
    "invalid value": 'text stands in quotes: "nbody"; a number has digits on both sides of its point',
    "expected newline or end of document after a statement": f"each entry has a line of its own; {_UNIT}",
    "unclosed inline table": f"entries stand between braces, with commas between them; {_UNIT}",
    "unclosed array": f"values stand between brackets, with commas between them; {_UNIT}",
    "expected '=' after a key": "write key = value",
    "illegal character '\\n'": "close the quotes on the line on which they open",
    "invalid statement": "write key = value, or [table]",
}
# slips of which more is known than what the reader of TOML says: how the line goes on there, and what would be right
_SLIPS = (
    (re.compile(r"(true|false)\b", re.IGNORECASE), "true and false are written in small letters"),
    (re.compile(r"[“”„‟«»‘’‚]|[^\"'#]*[“”„‟«»‘’‚]"), 'quotes are straight: "nbody"'),
)
# three digits behind the comma may be thousands, too
_COMMA = re.compile(
    r"=\s*[+-]?(?:0,|[0-9]+,(?![0-9]{3}(?![0-9])))[0-9]+(?:[eE][+-]?[0-9]+)?(?=\s*(?:[},#]|$))"
)
_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)
MOST_OF_A_LINE = 80
MOST_IN_A_TABLE = 10_000
"""Of one table of a file; more have been written by a program."""
_SUFFIX = ".toml"
_WANTED = "give a path, or a name from the library: `dse scenarios` lists them"


def load(source: str | Path | Mapping[str, Any] | Scenario, machine: str | None = None) -> Scenario:
    """Read and check a scenario.

    ``source``: path of a TOML file, name of a library scenario, a mapping shaped like the file, or a scenario.
    ``machine``: another machine in place of the one named there, see ``scenarios.machines.overriding``. Raises
    ScenarioError with every mistake found.
    """
    if isinstance(source, Scenario):
        tables = source.tables.values()
        return source if machine is None else from_text(source.text, source.file, tables, machine=machine)
    if isinstance(source, Mapping):
        data = plain(source)
        if machine is not None:
            data, _ = overriding.on_machine(data, None, machine, NAMELESS)
        with overriding.blamed(machine):
            return _scenario_of(data, NAMELESS, None)
    if not isinstance(source, str | Path):
        raise TypeError(f"a scenario is a path or a mapping, not {type(source).__name__}")
    text, folder = _text_and_folder(source)
    return from_text(text, str(source), folder=folder, machine=machine)


def from_text(
    text: str,
    file: str = NAMELESS,
    tables: Iterable[Table] = (),
    folder: Path | None = None,
    machine: str | None = None,
) -> Scenario:
    """Read and check a scenario from a file's text; ``file`` names it in messages. Raises as ``load``.

    ``tables``: those of a stored question, which names them by their checksums; ``folder``: where the paths of tables,
    machine files and model files start (None: that of ``file``).
    """
    try:
        data = files.toml(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError([_syntax(str(error), text, file)]) from None
    except files.Unreadable as error:
        raise ScenarioError.of(
            file, f"line {error.line}" if error.line else "", error.wrong, error.right
        ) from None
    told: str | None = text
    if machine is not None:
        data, told = overriding.on_machine(data, text, machine, file)
    with overriding.blamed(machine):
        return _scenario_of(data, file, told, tables, folder)


def _scenario_of(
    data: dict[str, Any],
    file: str,
    text: str | None,
    tables: Iterable[Table] = (),
    folder: Path | None = None,
) -> Scenario:
    findings = Findings(file)
    other = _other_kind(data, file)
    if other:
        raise ScenarioError.of(file, "", *other)
    _few_entries(data, file)
    start = folder or (Path() if text is None else Path(file).parent)
    named = machine_files.paths_in(data)
    data, text = machine_files.pinned(data, start, text, findings, stored=folder is None)
    data, text, known = table_files.named(data, start, text, findings)
    known = {t.name: t for t in tables} | known
    _printable(data, findings)
    shaped = shape.check(data, findings)
    if shaped is not None:
        check(shaped, findings, known)
    if findings.problems:
        raise ScenarioError(findings.problems)
    named += [t.file for t in known.values() if t.file]
    return scenario(data, file, text, known, (file, *(str(start / path) for path in named)))


def _other_kind(data: Mapping[str, Any], file: str) -> tuple[str, str] | None:
    """Return what is wrong and what would be right where the file is a machine's or a fitted model's."""
    if "model" in data or "kernels" in data:
        return None
    path = file if file.startswith((".", "/")) else f"./{file}"
    if data.get("kind") == KIND:
        return "this is the file of a fitted model, not a scenario", f'write model = "{path}" in a scenario'
    if isinstance(data.get("parameters"), dict) or isinstance(data.get("figures"), dict):
        right = f'write machine = "{path}" in a scenario; `dse machines {path}` shows it'
        return "this is the file of a machine, not a scenario", right
    return None


def _few_entries(data: Mapping[str, Any], file: str) -> None:
    """Refuse a file with more entries than people write: their mistakes would be told after minutes, one by one."""
    many = {n: len(v) for n, v in data.items() if isinstance(v, dict | list)} | {"": len(data)}
    found = [
        Problem(file, name, f"there are {count} entries", f"keep to {MOST_IN_A_TABLE}: ask several questions")
        for name, count in many.items()
        if count > MOST_IN_A_TABLE
    ]
    if found:
        raise ScenarioError(found)


def _printable(data: dict[str, Any], findings: Findings) -> None:
    """Note texts with control characters: a terminal that shows them would obey them."""
    open_ones: list[tuple[str, Any]] = [("", data)]
    while open_ones:
        key, value = open_ones.pop()
        if isinstance(value, dict):
            for name, inner in value.items():
                below = f"{key}.{visible(str(name))}" if key else visible(str(name))
                open_ones += [(below, str(name))] if controls(str(name)) else [(below, inner)]
        elif isinstance(value, list):
            open_ones += [(f"{key}[{i}]", inner) for i, inner in enumerate(value)]
        elif isinstance(value, str) and controls(value):
            wrong = f"control characters stand in {visible(shown(value))}"
            findings.add(key, wrong, "leave them out: they are for terminals, and cannot be read")


def _text_and_folder(source: str | Path) -> tuple[str, Path]:
    """Return the text of a scenario, and the folder in which it stands."""
    path = Path(source)
    name = str(source)
    try:
        if not path.exists() and (file := ready(name)) is not None:
            return file.read_text(encoding="utf-8"), Path(str(file)).parent
        return files.text(path), path.parent
    except FileNotFoundError:
        near = did_you_mean(path.stem, library()).removeprefix("; ")
        wrong = "there is no such file"
        right = f"{near} " * bool(near) + _WANTED
        if Path(f"{name}{_SUFFIX}").is_file():
            right = f"did you mean '{name}{_SUFFIX}'?"
        elif name == "-":
            right = "standard input is /dev/stdin"
    except IsADirectoryError:
        if not name:
            raise ScenarioError.of('""', "", "no file is named", _WANTED) from None
        wrong, right = "this is a directory", "give the path of a scenario file (TOML)"
        if path.suffix in _RESULTS:
            right += f"; {_of_results(name, 'the results of a sweep are')}"
    except UnicodeDecodeError as error:
        wrong = f"the file is not UTF-8 text (byte {error.start})"
        right = "save it as UTF-8; a scenario is a TOML text file"
        if path.suffix in _RESULTS:
            wrong, right = (
                "this is no text, and a scenario is a TOML text file",
                _of_results(name, "results are"),
            )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        wrong, right = f"the file cannot be read: {reason}", "give the path of a readable file"
        if isinstance(error, OSError) and error.errno == errno.EOVERFLOW:
            right = "a scenario is a short text; long lists of numbers belong in a CSV table beside it"
    raise ScenarioError.of(name, "", wrong, right)


def _syntax(message: str, text: str, file: str) -> Problem:
    found = _PLACE.fullmatch(message)
    lines = text.splitlines() or [""]
    if found is None:
        return Problem(file, "", f"not valid TOML: {message}", "write lines such as key = value")
    line, column = int(found[2] or len(lines)), int(found[3] or len(lines[-1]) + 1)
    written = lines[line - 1] if line <= len(lines) else ""
    place = f"line {line}, column {column}"
    twice = _TWICE.fullmatch(found[1])
    if twice is not None:
        table = ".".join(re.findall(r"'([^']*)'", twice[1]))
        wrong = f"the table [{table}] stands in the file twice"
        return Problem(file, place, wrong, f"put all its entries under one [{table}]")
    if found[1] == "Cannot overwrite a value":
        wrong, right = "this key has a value already, higher up in the file", "keep one of the two"
        return Problem(file, place, wrong, f"{right}; {_reads(written)}")
    said = f"{found[1][:1].lower()}{found[1][1:]}"
    right = next((f"{words}; " for start, words in _REPAIRS.items() if said.startswith(start)), "")
    slip = _slip(written, column)
    if slip:
        right = f"{slip}; "
    if text.lstrip().startswith("{"):
        right = "this seems to be JSON, and a scenario is TOML: lines such as key = value; "
        if '"status"' in text and '"metrics"' in text:
            wrong = "this is an answer that `dse solve --json` printed, and no scenario"
            return Problem(file, "", wrong, _of_results(file, "it is"))
    return Problem(file, place, f"not valid TOML: {said}", f"{right}{_reads(written)}")


def _of_results(name: str, what: str) -> str:
    return f"{what} shown by `dse report {name}` and `dse export {name}`, and `dse diff` compares two"


def _slip(line: str, column: int) -> str:
    """Say what would be right at a place of a line where a usual slip stands; empty where none is seen."""
    for number in _COMMA.finditer(line):
        if number.start() < column <= number.end() + 2:
            return "decimals have a point, such as 0.05"
    return next((right for sign, right in _SLIPS if sign.match(line, column - 1)), "")


def _reads(line: str) -> str:
    return f"the line reads: {line if len(line) <= MOST_OF_A_LINE else line[:MOST_OF_A_LINE] + '…'}"
