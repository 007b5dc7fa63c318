"""Machines by name: found among the files of this package and of installed ones, read when first asked for."""

from __future__ import annotations

import collections
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from dse.machines import derivation, fit_records, held, settings, values
from dse.machines.figures import FIGURES
from dse.machines.values import Value
from dse.models import machine_parameter, machine_parameters
from dse.models.described import plugins
from dse.models.described.fitted import KIND
from dse.names import UnknownName, did_you_mean, unknown
from dse.system import files
from dse.system.records import dataclass

K = TypeVar("K")
V = TypeVar("V")
_SUFFIX = ".toml"
FIGURES_OF = (
    'write figures_of = "NAME" to share the figures of a machine of the catalogue, with the same rate as its file '
    'where it has one (rate = "peak_bf16"), and what is yours under [parameters]'
)
_TEXTS = ("title", "source", "notes", "rate")
_KEYS = (
    *_TEXTS,
    *("evidence", "year"),
    *("parameters", "figures", "figures_of", "settings", "fit", "measured"),
)
"""What stands at the top of a machine file; ``fit`` and ``measured`` are records that no model reads."""
# what of it is tables: of which type, and what is told where it is something else
_PARTS: Mapping[str, tuple[type, str]] = {
    "parameters": (dict, "parameters are a table: write [parameters]"),
    "figures": (dict, "figures are a table: write [figures]"),
    "settings": (list, "settings are tables: write [[settings]]"),
}


class MachineError(ValueError):
    """A machine file cannot be used; the message says which, and why."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A named record of machine parameters with its source.

    ``parameters`` are SI floats by name (without "machine."); what the source does not give is absent.
    ``provenance`` says where each value comes from, ``doubts`` what is doubtful about it, if anything;
    ``evidence`` of which kind the source is (``dse.machines.values.EVIDENCE``), ``intervals`` between which ends
    (SI) a value lies whose source leaves it open. ``figures``: what data sheets print and no model takes as it
    is, by the names of ``dse.machines.figures``; parameters that a file does not state follow from its figures
    (``dse.machines.derivation``), with flops at the ``rate`` that it names. ``year``: when the machine came on the
    market, if stated. A price and an embodied carbon among the figures are parameters too.
    ``settings``: the menu of a machine that can be set (frequencies, voltages), each a mapping of texts
    ("name", "source", ...) and SI floats under the names of ``dse.machines.settings``; what is unknown is
    absent, and "doubts" maps a value's name to what is doubtful about it. ``confidence``: of a machine that was
    fitted, with which its intervals hold the value, and ``correlation`` of its estimates, by pairs of names.
    """

    name: str
    title: str
    source: str
    parameters: Mapping[str, float]
    provenance: Mapping[str, str]
    doubts: Mapping[str, str]
    notes: str = ""
    settings: tuple[Mapping[str, Any], ...] = ()
    evidence: Mapping[str, str] = field(default_factory=dict)
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    figures: Mapping[str, Value] = field(default_factory=dict)
    year: int | None = None
    rate: str = ""
    confidence: float | None = None
    correlation: tuple[tuple[str, str, float], ...] = ()


@lru_cache(maxsize=1)
def _packaged_machine_files() -> Mapping[str, Path]:
    """Return the files of this package by the names of their machines."""
    return {file.stem: file for file in sorted(Path(__file__).parent.glob(f"*{_SUFFIX}"))}


def names() -> tuple[str, ...]:
    """Return the names of all machines, in alphabetical order, without reading any of them.

    Those of this package, and those that come with the models of installed packages.
    """
    return tuple(sorted({*_packaged_machine_files(), *plugins.files("machines")}))


def own_names() -> tuple[str, ...]:
    """Return the names of the machines that come with dse, in alphabetical order."""
    return tuple(_packaged_machine_files())


def is_file(name: object) -> bool:
    """Whether a machine is meant by the path of a file of its own, such as "./mine.toml"."""
    return isinstance(name, str) and name.endswith(_SUFFIX)


def get(name: str) -> Machine:
    """Return the machine of that name, of an alias, or of a file: a path that ends in ".toml".

    An alias is any run of a name's parts that only one machine has: "gtx480" is nvidia-gtx480; case, blanks
    and underscores do not matter. An exact name wins over an alias. "jetson-tk1@852-924" is a machine of the
    catalogue held at one of its settings. Raises UnknownName (a KeyError) naming the candidates of an ambiguous
    alias, or what was probably meant; MachineError where a file cannot be read.
    """
    if is_file(name):
        return _from_file(name)
    whole, mark, setting = name.partition(held.MARK)
    return (
        _at_setting(_machine_of_catalogue(resolve(whole)), setting.strip())
        if mark
        else _machine_of_catalogue(resolve(name))
    )


def _at_setting(machine: Machine, setting: str) -> Machine:
    """Return the machine at the setting of that name; raises UnknownName where it has none such."""
    menu = {str(s["name"]): s for s in machine.settings}
    if setting not in menu:
        raise unknown(f"setting of {machine.name}", setting, menu or ["none"])
    found = held.values(machine.parameters, machine.doubts, menu[setting])
    return replace(
        machine,
        name=f"{machine.name}{held.MARK}{setting}",
        title=f"{machine.title}, at {setting}",
        parameters={n: float(v.value) for n, v in found.items()},
        provenance={n: v.source for n, v in found.items()},
        doubts={n: v.doubt for n, v in found.items() if v.doubt},
        settings=(),
        evidence={n: v.evidence for n, v in found.items()},
        intervals={},
    )


def every() -> Iterator[Machine]:
    """Go through the machines in alphabetical order; those of packages that cannot be read are left out."""
    for name in names():
        try:
            yield get(name)
        except MachineError:
            continue


def shown_names(machines: Iterable[Machine]) -> dict[str, str]:
    """Return how people are shown machines that are files, by their paths: by their titles.

    Where a title is that of another file too, or a machine of the catalogue is called so, the path's last part stands
    behind it in brackets, or the whole path where these are equal too. A file without a title is not among them.
    """
    found = {m.name: m for m in machines if is_file(m.name)}
    titles = {
        path: " ".join(m.title.split()) for path, m in found.items() if m.title.strip() not in ("", path)
    }
    taken = collections.Counter([*titles.values(), *names(), *found])
    shown = {p: t if taken[t] == 1 else f"{t} ({Path(p).name})" for p, t in titles.items()}
    alike = collections.Counter(shown.values())
    return {p: t if alike[t] == 1 else f"{titles[p]} ({p})" for p, t in shown.items()}


def broken() -> tuple[str, ...]:
    """Return a message for each machine of a package that cannot be read, or whose name is one of ours."""
    found = []
    for name, file in plugins.files("machines").items():
        if name in _packaged_machine_files():
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
    if plain in _packaged_machine_files() or plain in names():
        return plain
    # what a package brings does not change what a name meant without it
    candidates = _candidates(plain, _packaged_machine_files()) or _candidates(plain, names())
    if len(candidates) > 1:
        raise UnknownName(f"machine {name!r} is ambiguous: {', '.join(candidates)}")
    if not candidates:
        raise unknown("machine", name, names())
    return candidates[0]


def _candidates(alias: str, among: Iterable[str]) -> list[str]:
    return [n for n in among if f"-{alias}-" in f"-{n}-"] if alias else []


@cache
def _machine_of_catalogue(name: str) -> Machine:
    if name in _packaged_machine_files():
        return parse(name, _packaged_machine_files()[name].read_text(encoding="utf-8"))
    found = _from_file(str(plugins.files("machines")[name]))
    return replace(found, name=name, title=name if found.title == found.name else found.title)


def _from_file(path: str) -> Machine:
    try:
        return parse(path, path.text if isinstance(path, files.Held) else files.text(path))
    except OSError as error:
        raise MachineError(f"machine file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise MachineError(f"machine file {path} is not UTF-8 text (byte {error.start})") from None
    except ValueError as error:
        raise MachineError(f"machine file {path}: {error}") from None


@lru_cache(maxsize=256)
def parse(name: str, text: str) -> Machine:
    """Read a machine file's text; raises ValueError where it is none (TOML's and units' errors are such).

    What is wrong with its keys and values is told together.
    """
    data = files.toml(text)
    if data.get("kind") == KIND:
        raise ValueError("it is a fitted model: name it under model, not under machine")
    stated, menu = data.get("parameters", {}), data.get("settings", [])
    figures = data.get("figures", {})
    mistakes: list[str] = []
    _each(dict.fromkeys(data), lambda key, _: _refuse_unknown_key(key), mistakes)
    mistakes += [
        f"{key} = {data[key]!r} is not text; write it in quotes"
        for key in _TEXTS
        if not isinstance(data.get(key, ""), str)
    ]
    unlike = [told for part, (of, told) in _PARTS.items() if not isinstance(data.get(part, of()), of)]
    if not (unlike or stated or menu or figures or "figures_of" in data):
        unlike = ["it has no [parameters.NAME] tables with a value, no [figures] and no [[settings]]"]
    if unlike:
        raise ValueError(_together(mistakes + unlike))
    evidence, year, shown, fit = "", None, dict[str, Value](), dict[str, Any]()
    with _noted(mistakes):
        evidence = values.kind(data.get("evidence", ""))
    with _noted(mistakes):
        year = _year(data.get("year"))
    with _noted(mistakes):
        fit = fit_records.read(data.get("fit"))
    with _noted(mistakes):
        shown = _figures_of(data.get("figures_of"))
    shown |= _each(figures, lambda k, e: _figure_of_file(k, e, evidence), mistakes)
    rate = str(data.get("rate", ""))
    own = _parameters_of_file(stated, evidence, mistakes)
    settable = _each(dict(enumerate(menu)), _setting_of_file, mistakes)
    called = [str(s["name"]) for s in settable.values()]
    doubled = sorted({n for n in called if called.count(n) > 1})
    mistakes += [f"two settings are called {n!r}: give each a name of its own" for n in doubled]
    if mistakes:
        raise ValueError(_together(mistakes))
    derived = derivation.parameters(shown, rate, {k: float(v.value) for k, v in own.items()})
    found = derived | derivation.owned(shown) | own
    return Machine(
        name=name,
        title=str(data.get("title", name)),
        source=str(data.get("source", "")),
        parameters={k: float(v.value) for k, v in found.items()},
        provenance={k: v.source for k, v in found.items()},
        doubts={k: v.doubt for k, v in found.items() if v.doubt},
        notes=str(data.get("notes", "")),
        settings=tuple(settable.values()),
        evidence={k: v.evidence for k, v in found.items()},
        intervals={k: v.interval for k, v in found.items() if v.interval is not None},
        figures=shown,
        year=year,
        rate=rate,
        **fit,
    )


def _together(mistakes: list[str]) -> str:
    """Tell one mistake as it is, and several on lines of their own."""
    several = f"{len(mistakes)} mistakes" if len(mistakes) > 1 else ""
    return "\n      ".join(filter(None, [several, *mistakes]))


@contextmanager
def _noted(mistakes: list[str]) -> Iterator[None]:
    """Note what is wrong with a part of a file, and go on with the others."""
    try:
        yield
    except ValueError as error:
        mistakes.append(str(error))


def _each(entries: Mapping[K, Any], read: Callable[[K, Any], V], mistakes: list[str]) -> dict[K, V]:
    """Read the entries of a table; what is wrong with one of them is noted, and it is left out."""
    found: dict[K, V] = {}
    for key, entry in entries.items():
        with _noted(mistakes):
            found[key] = read(key, entry)
    return found


def _refuse_unknown_key(key: str) -> None:
    """Raise ValueError for a key at the top of a machine file that nothing reads."""
    if key in _KEYS:
        return
    if machine_parameter(key) is not None:
        raise ValueError(f"{key} is a machine parameter: write it under [parameters]")
    if key in FIGURES:
        raise ValueError(f"{key} is a figure of a data sheet: write it under [figures]")
    if key == "base":
        raise ValueError(f"a machine file has no 'base': {FIGURES_OF}")
    raise ValueError(f"a machine file has no {key!r}{did_you_mean(key, _KEYS)}; it has {', '.join(_KEYS)}")


def _parameters_of_file(stated: Mapping[str, Any], evidence: str, mistakes: list[str]) -> dict[str, Value]:
    """Read what a file states of parameters; sizes in bytes are counted in words of the size that it states too."""
    size = {k: e for k, e in stated.items() if k == "word_size"}
    own = _each(size, lambda k, e: _parameter(k, e, evidence), mistakes)
    # a size that cannot be read is told once, and not again of all that is counted in it
    words = float(own["word_size"].value) if own else (8.0 if size else None)
    rest = {k: e for k, e in stated.items() if k not in size}
    found = own | _each(rest, lambda k, e: _parameter(k, e, evidence, words), mistakes)
    return {k: found[k] for k in stated if k in found}


def _parameter(name: str, entry: Any, evidence: str, word_size: float | None = None) -> Value:
    q = machine_parameter(name)
    if q is None:
        raise ValueError(f"there is no machine parameter {name!r}{did_you_mean(name, machine_parameters())}")
    return values.read(q, entry, evidence, word_size)


def _figure_of_file(name: str, entry: Any, evidence: str) -> Value:
    if name not in FIGURES:
        raise ValueError(f"there is no figure {name!r}{did_you_mean(name, FIGURES)}")
    return values.read(FIGURES[name], entry, evidence)


def _figures_of(name: Any) -> dict[str, Value]:
    """Return the figures of another machine of the catalogue, which a file states instead of repeating them."""
    if name is None:
        return {}
    if not isinstance(name, str) or name not in _packaged_machine_files():
        raise ValueError(f"figures_of = {name!r} is not a machine of the catalogue, by its full name")
    return dict(_machine_of_catalogue(name).figures)


def _year(year: Any) -> int | None:
    if year is not None and (isinstance(year, bool) or not isinstance(year, int) or not 1900 <= year <= 2100):
        raise ValueError(f"year = {year!r} is not a year; write year = 2022")
    return year


def _setting_of_file(place: int, entry: Any) -> Mapping[str, Any]:
    """Read a setting; one without a name is called by its number, as among those that a question states."""
    if not isinstance(entry, dict):
        raise ValueError(_PARTS["settings"][1])  # noqa: TRY004
    strange = [k for k in entry if k not in settings.KEYS]
    if strange:
        near = did_you_mean(strange[0], settings.KEYS) or f"; a setting has {', '.join(settings.KEYS)}"
        raise ValueError(f"settings[{place}] has no {strange[0]!r}{near}")
    name = entry.get("name", str(place + 1))
    if not isinstance(name, str) or not name.strip():
        raise ValueError(
            f'settings[{place}]: name = {name!r} is no name; write a text, such as "{place + 1}"'
        )
    if not isinstance(entry.get("doubts", {}), dict):
        raise ValueError(f'settings[{place}]: doubts are a table: write doubts = {{ core_voltage = "…" }}')  # noqa: TRY004
    try:
        found = settings.read({"name": name} | entry)
    except ValueError as error:
        raise ValueError(f"settings[{place}]: {error}") from None
    for k in found.keys() & settings.QUANTITIES.keys():
        values.inside(settings.QUANTITIES[k], found[k])
    return found
