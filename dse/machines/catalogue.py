"""Machines by name: found among the files of this package and of installed ones, read when first asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files as resources
from importlib.resources.abc import Traversable
from typing import Any

from dse import files
from dse.machines import settings
from dse.models import machine_parameter, machine_parameters, plugins
from dse.names import UnknownName, did_you_mean, unknown
from dse.quantities import Quantity, to_si

_SUFFIX = ".toml"


class MachineError(ValueError):
    """A machine file cannot be used; the message says which, and why."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A named record of machine parameters with its source.

    ``parameters`` are SI floats by name (without "machine."); what the source does not give is absent.
    ``provenance`` says where each value comes from, ``doubts`` what is doubtful about it, if anything.
    ``settings``: the menu of a machine that can be set (frequencies, voltages), each a mapping of texts
    ("name", "source", ...) and SI floats under the names of ``dse.machines.settings``; what is unknown is
    absent, and "doubts" maps a value's name to what is doubtful about it.
    """

    name: str
    title: str
    source: str
    parameters: Mapping[str, float]
    provenance: Mapping[str, str]
    doubts: Mapping[str, str]
    notes: str = ""
    settings: tuple[Mapping[str, Any], ...] = ()


@lru_cache(maxsize=1)
def _own() -> Mapping[str, Traversable]:
    """Return the files of this package by the names of their machines."""
    entries = {e.name: e for e in resources("dse.machines").iterdir() if e.name.endswith(_SUFFIX)}
    return {name.removesuffix(_SUFFIX): entries[name] for name in sorted(entries)}


def names() -> tuple[str, ...]:
    """Return the names of all machines, in alphabetical order, without reading any of them.

    Those of this package, and those that come with the models of installed packages.
    """
    return tuple(sorted({*_own(), *plugins.files("machines")}))


def is_file(name: object) -> bool:
    """Whether a machine is meant by the path of a file of its own, such as "./mine.toml"."""
    return isinstance(name, str) and name.endswith(_SUFFIX)


def get(name: str) -> Machine:
    """Return the machine of that name, of an alias, or of a file: a path that ends in ".toml".

    An alias is any run of a name's parts that only one machine has: "gtx480" is nvidia-gtx480; case, blanks
    and underscores do not matter. An exact name wins over an alias. Raises UnknownName (a KeyError) naming the
    candidates of an ambiguous alias, or what was probably meant; MachineError where a file cannot be read.
    """
    if is_file(name):
        return _from_file(name)
    return _read(resolve(name))


def every() -> Iterator[Machine]:
    """Go through the machines in alphabetical order; those of packages that cannot be read are left out."""
    for name in names():
        try:
            yield get(name)
        except MachineError:
            continue


def broken() -> tuple[str, ...]:
    """Return a message for each machine of a package that cannot be read, or whose name is one of ours."""
    found = []
    for name, file in plugins.files("machines").items():
        if name in _own():
            found.append(f"machine file {file}: dse has a machine called {name!r}, and that one is used")
            continue
        try:
            get(name)
        except MachineError as problem:
            found.append(str(problem))
    return tuple(found)


def resolve(name: str) -> str:
    """Return the full name of a machine given by name or alias; raises UnknownName as ``get`` does."""
    plain = re.sub(r"[\s_-]+", "-", name.strip().lower())
    if plain in _own() or plain in names():
        return plain
    # what a package brings does not change what a name meant without it
    candidates = _candidates(plain, _own()) or _candidates(plain, names())
    if len(candidates) > 1:
        raise UnknownName(f"machine {name!r} is ambiguous: {', '.join(candidates)}")
    if not candidates:
        raise unknown("machine", name, names())
    return candidates[0]


def _candidates(alias: str, among: Iterable[str]) -> list[str]:
    return [n for n in among if f"-{alias}-" in f"-{n}-"] if alias else []


@cache
def _read(name: str) -> Machine:
    if name in _own():
        return _parse(name, _own()[name].read_text(encoding="utf-8"))
    found = _from_file(str(plugins.files("machines")[name]))
    return replace(found, name=name, title=name if found.title == found.name else found.title)


def _from_file(path: str) -> Machine:
    try:
        return _parse(path, files.text(path))
    except OSError as error:
        raise MachineError(f"machine file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise MachineError(f"machine file {path} is not UTF-8 text (byte {error.start})") from None
    except ValueError as error:
        raise MachineError(f"machine file {path}: {error}") from None


@lru_cache(maxsize=256)
def _parse(name: str, text: str) -> Machine:
    """Read a machine file's text; raises ValueError where it is none (TOML's and units' errors are such)."""
    data = files.toml(text)
    stated = data.get("parameters", {})
    menu = data.get("settings", [])
    if not isinstance(stated, dict) or not isinstance(menu, list) or not (stated or menu):
        raise ValueError("it has no [parameters.NAME] tables with a value, and no [[settings]]")
    entries = {k: e if isinstance(e, dict) else {"value": e} for k, e in stated.items()}
    return Machine(
        name=name,
        title=str(data.get("title", name)),
        source=str(data.get("source", "")),
        parameters={k: _value(k, e) for k, e in entries.items()},
        provenance={k: str(e.get("source", "")) for k, e in entries.items()},
        doubts={k: str(e["doubt"]) for k, e in entries.items() if "doubt" in e},
        notes=str(data.get("notes", "")),
        settings=tuple(_setting(entry) for entry in menu),
    )


def _value(name: str, entry: Mapping[str, Any]) -> float:
    q = machine_parameter(name)
    if q is None:
        raise ValueError(f"there is no machine parameter {name!r}{did_you_mean(name, machine_parameters())}")
    if "value" not in entry:
        raise ValueError(f"parameter {name} has no value")
    return _inside(q, to_si(entry["value"], q.unit))


def _inside(q: Quantity, value: float) -> float:
    if not q.minimum <= value <= q.maximum:
        raise ValueError(
            f"{q.name} = {value:g} {q.unit} lies outside its domain {q.minimum:g} to {q.maximum:g}"
        )
    return value


def _setting(entry: Any) -> Mapping[str, Any]:
    if not isinstance(entry, dict):
        raise ValueError("settings are tables: write [[settings]]")  # noqa: TRY004
    found = settings.read(entry)
    for k in found.keys() & settings.QUANTITIES.keys():
        _inside(settings.QUANTITIES[k], found[k])
    return found
