"""Machines by name: found among the files of this package, read when first asked for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from dse.machines import settings
from dse.models import machine_parameters
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
def names() -> tuple[str, ...]:
    """Return the names of all machines, in alphabetical order, without reading any of them."""
    entries = files("dse.machines").iterdir()
    return tuple(sorted(e.name.removesuffix(_SUFFIX) for e in entries if e.name.endswith(_SUFFIX)))


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


def resolve(name: str) -> str:
    """Return the full name of a machine given by name or alias; raises UnknownName as ``get`` does."""
    plain = re.sub(r"[\s_-]+", "-", name.strip().lower())
    if plain in names():
        return plain
    candidates = [n for n in names() if f"-{plain}-" in f"-{n}-"] if plain else []
    if len(candidates) > 1:
        raise UnknownName(f"machine {name!r} is ambiguous: {', '.join(candidates)}")
    if not candidates:
        raise unknown("machine", name, names())
    return candidates[0]


@cache
def _read(name: str) -> Machine:
    return _parse(name, files("dse.machines").joinpath(name + _SUFFIX).read_text(encoding="utf-8"))


def _from_file(path: str) -> Machine:
    try:
        return _parse(path, Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise MachineError(f"machine file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise MachineError(f"machine file {path} is not UTF-8 text (byte {error.start})") from None
    except (ValueError, RecursionError) as error:
        raise MachineError(f"machine file {path}: {error}") from None


@lru_cache(maxsize=256)
def _parse(name: str, text: str) -> Machine:
    """Read a machine file's text; raises ValueError where it is none (TOML's and units' errors are such)."""
    data = tomllib.loads(text.removeprefix("\ufeff"))
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
    known = machine_parameters()
    if name not in known:
        raise ValueError(f"there is no machine parameter {name!r}{did_you_mean(name, known)}")
    if "value" not in entry:
        raise ValueError(f"parameter {name} has no value")
    return _inside(known[name], to_si(entry["value"], known[name].unit))


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
