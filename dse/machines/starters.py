"""Machine files to start from: the figures of a data sheet with comments, or those of a machine of the catalogue."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from dse.machines import catalogue, derivation, pages
from dse.machines.figures import FIGURES
from dse.machines.settings import QUANTITIES
from dse.machines.values import Value
from dse.quantities import show

# figures that most data sheets print, with a value in place of yours
_USUAL = {
    "peak_fp64": "30 TFLOPS",
    "peak_fp32": "60 TFLOPS",
    "memory_bandwidth": "3 TB/s",
    "memory_size": "80 GB",
    "thermal_design_power": "600 W",
}
# those that make more models possible
_MORE = {
    "peak_bf16": "1000 TFLOPS",
    "idle_power": "60 W",
    "node_bandwidth": "450 GB/s",
    "node_latency": "8 us",
    "network_bandwidth": "50 GB/s",
    "network_latency": "2 us",
    "processors_per_node": "8",
    "node_power": "10 kW",
    "price": "30000 USD",
}
_STARTER_DIGITS = 12
_STATED = "# Stated, since they do not follow from the figures; in place of a figure's parameter they count."
# how far a parameter may be from what its figures give, where the file keeps fewer digits
_DERIVED_AGREES = 1e-9
_ABOUT = (
    "# Parameters of the models follow from the figures when the file is read: `dse machines ./FILE` shows them.",
    "# A value may be a table: { value = …, evidence = …, source = …, interval = […, …], doubt = … }.",
)


def starter(like: str = "") -> str:
    """Return a machine file that can be used as it stands: of usual figures, or what the machine ``like`` has.

    Raises UnknownName and MachineError as ``catalogue.get`` does.
    """
    if like:
        return _of_machine(catalogue.get(like))
    lines = [
        *('title  = "My machine"', 'source = "data sheet"', 'evidence = "data sheet"', "year   = 2026", ""),
        *(*_ABOUT, "[figures]   # leave out what the data sheet does not say"),
        *(_with_meaning(f'{name} = "{value}"', name) for name, value in _USUAL.items()),
        *(_with_meaning(f'# {name} = "{value}"', name) for name, value in _MORE.items()),
    ]
    return "\n".join(lines) + "\n"


def _with_meaning(line: str, name: str) -> str:
    return f"{line:40}  # {FIGURES[name].meaning}"


def _of_machine(machine: catalogue.Machine) -> str:
    """Return a file with a machine's figures, and with those of its parameters that do not follow from them."""
    lines = [f"title  = {json.dumps(f'{machine.title}, changed', ensure_ascii=False)}"]
    lines += [f"source = {json.dumps(machine.source, ensure_ascii=False)}"]
    lines += [f"year   = {machine.year}"] if machine.year is not None else []
    lines += [f'rate   = "{machine.rate}"'] if machine.rate else []
    figures = {n: v for n, v in machine.figures.items() if n != "embodied_carbon"}
    lines += ["", *_ABOUT, "[figures]", *_starter_lines(figures)] if figures else []
    stated = _not_derived(machine, figures)
    about = [_STATED] if figures else []
    lines += ["", *about, "[parameters]", *_starter_lines(stated)] if stated else []
    for setting in machine.settings:
        lines += ["", "[[settings]]", *_setting_lines(setting)]
    return "\n".join(lines) + "\n"


def _not_derived(machine: catalogue.Machine, figures: Mapping[str, Value]) -> dict[str, Value]:
    """Return the parameters that a file with these figures has to state to be this machine."""
    every = pages.parameters(machine)
    priced = derivation.owned(figures)
    stated = {n: v for n, v in every.items() if v.evidence != "derived" and not _agrees(v, priced.get(n))}
    known = {n: float(v.value) for n, v in stated.items()}
    made = derivation.parameters(figures, machine.rate, known) | priced
    return {n: v for n, v in every.items() if n in stated or not _agrees(v, made.get(n))}


def _agrees(v: Value, made: Value | None) -> bool:
    """Whether a value is the derived one, with the same evidence, source and doubt."""
    if made is None or (v.evidence, v.source, v.doubt) != (made.evidence, made.source, made.doubt):
        return False
    return math.isclose(float(v.value), float(made.value), rel_tol=_DERIVED_AGREES)


def _starter_lines(values: Mapping[str, Value]) -> Iterable[str]:
    for name, v in values.items():
        said: dict[str, str | list[str]] = {"value": _starter_value(v.value, v.unit)}
        if v.interval is not None:
            said["interval"] = [_starter_value(end, v.unit) for end in v.interval]
        said |= {"evidence": v.evidence} if v.evidence else {}
        said |= {"source": v.source} | ({"doubt": v.doubt} if v.doubt else {})
        told = ", ".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in said.items())
        yield f"{name if name.replace('_', '').isalnum() else json.dumps(name)} = {{ {told} }}"


def _setting_lines(setting: Mapping[str, Any]) -> Iterable[str]:
    for key, value in setting.items():
        if key in QUANTITIES:
            yield f'{key} = "{value!r} {QUANTITIES[key].unit}"'
        elif isinstance(value, str | int):
            yield f"{key} = {json.dumps(value, ensure_ascii=False)}"


def _starter_value(value: float | str, unit: str) -> str:
    return value if isinstance(value, str) else show(value, unit, _STARTER_DIGITS)
