"""Machines by name: found among the files of this package, read when first asked for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from dse.machines import settings
from dse.models import machine_parameters
from dse.names import UnknownName, unknown
from dse.quantities import to_si

_SUFFIX = ".toml"


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


def get(name: str) -> Machine:
    """Return the machine of that name, or of an alias: any run of the name's parts that only one machine has.

    "gtx480" is nvidia-gtx480; case, blanks and underscores do not matter. An exact name wins over an alias.
    Raises UnknownName (a KeyError) naming the candidates of an ambiguous alias, or what was probably meant.
    """
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
    text = files("dse.machines").joinpath(name + _SUFFIX).read_text(encoding="utf-8")
    data = tomllib.loads(text)
    known = machine_parameters()
    entries: dict[str, dict[str, Any]] = data.get("parameters", {})
    return Machine(
        name=name,
        title=data["title"],
        source=data["source"],
        parameters={k: to_si(e["value"], known[k].unit) for k, e in entries.items()},
        provenance={k: e["source"] for k, e in entries.items()},
        doubts={k: e["doubt"] for k, e in entries.items() if "doubt" in e},
        notes=data.get("notes", ""),
        settings=tuple(settings.read(entry) for entry in data.get("settings", ())),
    )
