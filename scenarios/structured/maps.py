"""The machines of a structured question: names in a map of machines, or the settings of the only one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dse import machines
from dse.machines import settings as menu
from dse.models.model import MACHINE_PREFIX, Model
from dse.models.shared.structure import Structure
from dse.quantities import NEAR_ZERO, UnitError, near_zero
from scenarios.language.errors import Findings, meant, shown
from scenarios.language.schema import Shape
from scenarios.machines.machine_tables import known
from scenarios.structured.labels import is_label

Settings = tuple[Mapping[str, Any], ...]
EXAMPLE = 'machine = { cpu = "i7-2600k", gpu = "gtx-titan-tang2017" }'


def entries(
    shape: Shape, model: Model, structure: Structure, swept: Mapping[str, str], findings: Findings
) -> tuple[str, ...] | None:
    """Return the names of the map's entries: those in the file, then those under [decide].

    ``swept``: what axes change, by the keys at which it stands. None, and every mistake noted, where they are not
    clear.
    """
    what, own = structure.machines, {q.name for q in model.machine}
    spec = {} if shape.machine is None else shape.machine
    if isinstance(spec, str) or "base" in spec or own.intersection(spec):
        wrong = f"{model.name} runs on a map of machines, one for each {what}, not on a single machine"
        findings.add("machine", wrong, f"write {EXAMPLE}")
        return None
    found = [name for name, value in spec.items() if _is_entry_of_map(findings, name, value, what)]
    sound = len(found) == len(spec)
    for name in shape.decide:
        if _names_one(findings, f"decide.{name}", name, own, found, what):
            entry = name.removeprefix(MACHINE_PREFIX)
            sound &= is_label(findings, f"decide.{name}", entry, what)
            found += [entry] if entry not in found else []
    for key, path in swept.items():
        entry = path.removeprefix(MACHINE_PREFIX).removesuffix(".base")
        if _names_one(findings, key, path.removesuffix(".base"), own, found, what) and entry not in found:
            findings.add(key, f"the map of machines has no {what} {shown(entry)}", meant(entry, found))
    if sound and len(found) < structure.least:
        has = f"names only {', '.join(found)}" if found else "is not there"
        wrong = f"{model.name} needs at least {structure.least} machines, and the map of them {has}"
        findings.missing("machine", wrong, f"write {EXAMPLE}")
        return None
    return tuple(found) if sound else None


def _is_entry_of_map(findings: Findings, name: str, value: Any, what: str) -> bool:
    key = f"machine.{name}"
    if not is_label(findings, key, name, what):
        return False
    if not isinstance(value, str | dict):
        right = 'write a name such as "i7-2600k", or a table { base = "i7-2600k", … }'
        findings.add(key, f"{shown(value)} is not a machine", right)
        return False
    return True


def _names_one(
    findings: Findings, key: str, path: str, own: Collection[str], entries: Collection[str], what: str
) -> bool:
    """Whether a path means one whole entry of the map; paths that mean no single entry are noted."""
    head, _, entry = path.partition(".")
    if head != "machine" or "." in entry:
        return False
    one = next(iter(entries), "cpu")
    if not entry or entry in own:
        wrong = f"{path} is ambiguous: there is one machine for each {what}"
        findings.add(key, wrong, f'write "machine.{one}{"." * bool(entry)}{entry}"')
        return False
    return True


def settings(shape: Shape, model: Model, swept: Mapping[str, str], findings: Findings) -> Settings | None:
    """Return the settings of the only machine, each with a ``name``; None where it has none, which is noted."""
    asked = [key for key, p in swept.items() if p in ("machine", "machine.base")]
    for key in [*(["decide.machine"] if "machine" in shape.decide else []), *asked]:
        wrong = f"{model.name} takes its settings from one machine, which can be neither decided nor swept"
        findings.add(
            key, wrong, 'write machine = "jetson-tk1" at the top; ask about others in files of their own'
        )
    if "machine" in shape.decide or asked:
        return None
    found = _menu(shape.machine, findings, "machine")
    if found is not None and not found:
        what = shown(shape.machine) if isinstance(shape.machine, str) else "this machine"
        right = f"take one that has: {', '.join(_with_settings())}; or a machine file with [[settings]]"
        findings.add("machine", f"{what} has no settings to choose from, which {model.name} needs", right)
        return None
    if shape.machine is None:
        right = f"write machine = … at the top of the file; settings have {', '.join(_with_settings())}"
        findings.missing("machine", f"no machine is named, and {model.name} needs one with settings", right)
    return _named_settings(findings, found) if found is not None else None


def _with_settings() -> list[str]:
    return [m.name for m in machines.every() if m.settings]


def _menu(spec: Any, findings: Findings, key: str) -> Settings | None:
    """Return the settings of a machine: its own, or those of its base."""
    if spec is None:
        return None
    if isinstance(spec, Mapping) and "settings" in spec:
        return _settings_in_file(spec["settings"], findings, f"{key}.settings")
    if isinstance(spec, Mapping) and "base" not in spec:
        return ()
    name, place = (spec["base"], f"{key}.base") if isinstance(spec, Mapping) else (spec, key)
    return machines.get(name).settings if known(findings, place, name) else None


def _settings_in_file(value: Any, findings: Findings, key: str) -> Settings | None:
    """Read settings that stand in the file."""
    if not isinstance(value, list) or not all(isinstance(s, dict) for s in value):
        findings.add(key, "settings are a list of tables", "write [[machine.settings]] above each of them")
        return None
    found = [_checked_setting(s, findings, f"{key}[{i}]") for i, s in enumerate(value)]
    whole = [s for s in found if s is not None]
    return tuple(whole) if len(whole) == len(found) else None


def _checked_setting(entry: Mapping[str, Any], findings: Findings, key: str) -> Mapping[str, Any] | None:
    before = findings.count
    found: dict[str, Any] = {}
    for name, value in entry.items():
        q = menu.QUANTITIES.get(name)
        try:
            found |= menu.read({name: value})
        except UnitError as error:
            findings.add(f"{key}.{name}", str(error), "write a number, or text with a unit")
            continue
        if q is None and not (isinstance(value, str) and name in menu.KEYS):
            known_names = ["name", *menu.QUANTITIES]
            findings.unknown(f"{key}.{name}", "number of a setting", name, known_names)
        elif q is not None and near_zero(found[name]):
            findings.add(f"{key}.{name}", f"{shown(value)} {NEAR_ZERO[0]}", NEAR_ZERO[1])
        elif q is not None and not q.minimum <= found[name] <= q.maximum:
            findings.add(f"{key}.{name}", f"{found[name]:.12g} is out of range", f"{q.meaning}: at least 0")
    return found if findings.count == before else None


def _named_settings(findings: Findings, found: Settings) -> Settings | None:
    made = tuple({**s, "name": s.get("name", str(i + 1))} for i, s in enumerate(found))
    if not all(is_label(findings, "machine", s["name"], "setting") for s in made):
        return None
    names = [s["name"] for s in made]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        findings.add(
            "machine", f"the machine has two settings called {shown(twice)}", "give each its own name"
        )
        return None
    return made
