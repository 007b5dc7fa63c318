"""The machine of a scenario: a name, a base with changes, or a whole machine as a table."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from typing import Any

from dse import machines
from dse.machines import origins
from dse.models.model import MACHINE_PREFIX
from dse.names import UnknownName
from dse.quantities import examples
from scenarios.define.composed import optional_users
from scenarios.language.errors import Findings, meant, shown
from scenarios.language.reading import Reader

MachineSpec = str | Mapping[str, Any]
STATED, DEFAULT = "stated in the question", "the model's default"


def known(findings: Findings, key: str, name: Any) -> bool:
    """Whether ``name`` is a machine (or alias) of the catalogue, or a file; where not, note it at ``key``."""
    if not isinstance(name, str):
        findings.add(key, f"{shown(name)} is not a machine", f"write a name; {meant('', machines.names())}")
        return False
    try:
        machines.get(name)
    except UnknownName as error:
        if "no setting of" in str(error):
            findings.add(key, str(error), "write one of these behind the @")
            return False
        ambiguous = "ambiguous" in str(error)
        wrong = str(error) if ambiguous else f"there is no machine {shown(name)}"
        findings.add(key, wrong, "write one of these in full" if ambiguous else meant(name, machines.names()))
        return False
    except machines.MachineError as error:
        hint = "correct that file, or start a new one: dse new machine -o mine.toml"
        findings.add(key, str(error), "" if "name it under" in str(error) else hint)
        return False
    return True


def parameters(reader: Reader, key: str, spec: MachineSpec) -> dict[str, float] | None:
    """Return the machine's parameters that the model knows, SI, by name (without "machine.").

    None where the machine cannot be read; every mistake is noted under ``key``.
    """
    if isinstance(spec, str):
        if not known(reader.findings, key, spec):
            return None
        return {k: v for k, v in machines.get(spec).parameters.items() if k in reader.machine}
    if _is_map(reader, spec):
        one = "one machine" if not reader.prefix else f"one machine as {reader.prefix[:-1]}"
        wrong = f"{reader.model.name} runs on {one}, not on a map of machines"
        reader.findings.add(key, wrong, 'write machine = "jaketown", or { base = "jaketown", … }')
        return None
    base_known = "base" not in spec or known(reader.findings, f"{key}.base", spec["base"])
    merged = parameters(reader, key, spec["base"]) or {} if "base" in spec and base_known else {}
    apart = ("base", "settings") if reader.parts.settings else ("base",)
    own = {k: v for k, v in spec.items() if k not in apart and _takes(reader, f"{key}.{k}", k)}
    # the word size first: other entries may be in bytes
    for name in sorted(own, key=lambda n: n != "word_size"):
        q = reader.machine[name]
        value = reader.number(f"{key}.{name}", own[name], q, merged.get("word_size"), inverse=True)
        value = reader.inside(f"{key}.{name}", value, q, own[name], merged.get("word_size"))
        if value is not None:
            merged[name] = value
        else:
            reader.findings.broken.add(f"{key}.{name}")
    return merged if base_known else None


def sources(reader: Reader, spec: MachineSpec | None) -> dict[str, str]:
    """Return where the machine's parameters that the model knows come from, by their names in a question.

    Nothing for models whose answers do not say so. Machines that cannot be read are told of by ``parameters``.
    """
    if not reader.model.checked:
        return {}
    own = {} if isinstance(spec, str) or spec is None else dict(spec)
    base = spec if isinstance(spec, str) else own.pop("base", None)
    found = {n: DEFAULT for n, q in reader.machine.items() if q.default is not None}
    if isinstance(base, str):
        with contextlib.suppress(UnknownName, machines.MachineError):
            found |= origins.kinds(machines.get(base))
    found |= dict.fromkeys(own, STATED)
    return {MACHINE_PREFIX + n: kind for n, kind in found.items() if n in reader.machine}


def _is_map(reader: Reader, spec: Mapping[str, Any]) -> bool:
    """Whether a table names machines instead of parameters."""
    others = [v for k, v in spec.items() if k != "base" and k not in reader.machine]
    return any(isinstance(v, Mapping) or v in machines.names() or machines.is_file(v) for v in others)


def _takes(reader: Reader, key: str, name: str) -> bool:
    if name in reader.machine:
        return True
    kind = f"machine parameter of {reader.model.name}"
    reader.findings.unknown(key, kind, name, ["base", *reader.machine])
    reader.findings.broken.add(key)
    return False


def label(spec: MachineSpec | None) -> str:
    """Say what to call a machine in a message."""
    if isinstance(spec, str):
        return f"machine {shown(spec)}"
    return (
        "this machine"
        if not spec or "base" not in spec
        else f"machine {shown(spec['base'])}, as changed here,"
    )


def necessary(reader: Reader, chosen: Collection[str]) -> set[str]:
    """Return the parameters that a machine must have; ``chosen``: those that the question's choices ask for."""
    return {
        n
        for n, q in reader.machine.items()
        if f"{reader.prefix}{n}" in chosen or (not q.optional and q.default is None)
    }


def _beside(
    reader: Reader, spec: MachineSpec | None, found: Mapping[str, float], elsewhere: Collection[str]
) -> dict[str, str]:
    """Return the parameters that become necessary with those that the question itself states, each with one of these.

    A file of a machine may state what is of use to other models only.
    """
    if reader.model.beside is None:
        return {}
    own = {n.removeprefix(reader.prefix) for n in elsewhere if n.startswith(reader.prefix)}
    asking = own | (set() if spec is None or isinstance(spec, str) else set(spec))
    beside = reader.model.beside(
        {*found, *own, *(n for n, q in reader.machine.items() if q.default is not None)}
    )
    users = {n: [other for other in others if other in asking] for n, others in beside.items()}
    return {reader.prefix + n: of[0] for n, of in users.items() if of}


def _who(reader: Reader, lacking: Collection[str]) -> str:
    """Say what asks for parameters: the model, or the definitions that use what the model does without."""
    model = reader.model
    users = [optional_users(model, reader.prefix + n) for n in lacking]
    told = [f"define.{d}" for d in dict.fromkeys(d for some in users for d in some)]
    if not told:
        spared = model.spared if model.spared and set(lacking) <= {*model.spared.parameters} else None
        return f"{model.name} needs" + (f" for {spared.told}" if spared else "")
    return f"{' and '.join(told)} use{'s' * (len(told) == 1)}" + (
        "" if all(users) else f", or {model.name} needs"
    )


def complete(
    reader: Reader,
    key: str,
    spec: MachineSpec | None,
    found: Mapping[str, float],
    elsewhere: Collection[str],
    chosen: Mapping[str, str],
) -> None:
    """Note which parameters the model needs and the machine lacks.

    ``elsewhere``: those decided or swept; ``chosen``: those that the question's choices ask for, with these
    choices in words; both by the model's own names ("cpu.time_per_flop" in a map of machines).
    """
    prefix = reader.prefix
    chosen = {**chosen, **_beside(reader, spec, found, elsewhere)}
    wanted = necessary(reader, chosen).difference(found)
    wanted = {n for n in wanted if prefix + n not in elsewhere}
    lacking = [n for n in reader.machine if n in wanted and f"{key}.{n}" not in reader.findings.broken]
    if not lacking:
        return
    wrong = f"{label(spec)} has no {', '.join(lacking)}, which {_who(reader, lacking)}"
    reasons = dict.fromkeys(r for n in lacking if (r := chosen.get(prefix + n)))
    wrong += f" for {', or '.join(reasons)}" if reasons else ""
    decide = f'decide it: [decide] "machine.{prefix}{lacking[0]}" = {{ min = …, max = … }}'
    if key.startswith("decide."):
        each = ", ".join(f'"machine.{prefix}{n}" = "{examples(reader.machine[n].unit)[0]}"' for n in lacking)
        stated = f"state one value for all machines of the list: [define] {each}, with your own number"
        stated += ", or one for each in files of your own (dse new machine --like NAME)"
        reader.findings.add(key, wrong, f"take it off the list, or {stated}, or {decide}")
        return
    # a value on a list of the file, or in a line of a table
    if key.endswith("]") or "," in key:
        path = f'"machine.{prefix}base"'
        instead = f"and name the column for {path}" if "," in key else f"with path = {path}"
        right = f"take it out, or give a machine table that has what is missing, {instead}, or {decide}"
        reader.findings.add(key, wrong, right)
        return
    base = f'base = "{spec}", ' if isinstance(spec, str) else "base = …, " if spec and "base" in spec else ""
    supply = ", ".join(f'{n} = "{examples(reader.machine[n].unit)[0]}"' for n in lacking)
    supplied = f"supply what is missing, such as {key} = {{ {base}{supply} }}"
    yours = "with your own numbers in place of these placeholders"
    reader.findings.add(key, wrong, f"{supplied}, {yours}, or {decide}")
