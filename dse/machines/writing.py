"""The part of a machine file that follows from its figures, written below a line that says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from dse.machines import catalogue, derivation
from dse.machines.values import Value
from dse.system import files

MARK = "# derived from the figures by `python -m dse.machines`: changes below are lost"
# digits of a derived number: more than any data sheet has
_DERIVED_DIGITS = 12


def completed(text: str, name: str = "machine") -> str:
    """Return a machine file's text with all that follows from its figures; what stood below the mark is replaced.

    The file's ``rate`` names the figure whose flops are meant. A parameter that stands above the mark is kept, and
    others follow from it. A file without figures, or without the mark and with
    parameters of its own, is returned as it is. Raises ValueError where the part above the mark is not a machine file.
    """
    head, mark, _ = text.partition(MARK)
    data = files.toml(head)
    if not {"figures", "figures_of"} & data.keys() or (not mark and "parameters" in data):
        return text
    head = head if mark else head.rstrip() + "\n\n"
    machine = catalogue.parse(name, head)
    stated = {n: machine.parameters[n] for n in data.get("parameters", {})}
    made = derivation.parameters(machine.figures, machine.rate, stated)
    carbon = derivation.embodied_carbon(machine.figures)
    lines = [] if carbon is None else list(_parameter_lines("figures.embodied_carbon", carbon))
    for parameter, value in made.items():
        lines += _parameter_lines(f"parameters.{parameter}", value)
    return f"{head}{MARK}\n" + "\n".join(lines) + "\n"


def _parameter_lines(key: str, value: Value) -> Iterator[str]:
    yield f"\n[{key}]"
    yield f"value = {_quoted_quantity(value.value, value.unit)}"
    if value.interval is not None:
        yield f"interval = [{', '.join(_quoted_quantity(end, value.unit) for end in value.interval)}]"
    yield f'evidence = "{value.evidence}"'
    yield f"source = {json.dumps(value.source)}"
    if value.doubt:
        yield f"doubt = {json.dumps(value.doubt)}"


def _quoted_quantity(value: float | str, unit: str) -> str:
    return f'"{f"{value:.{_DERIVED_DIGITS}g} {unit}".rstrip()}"'


def write(folder: Path) -> None:
    """Write the derived part of every machine file in ``folder`` anew."""
    for file in sorted(folder.glob("*.toml")):
        text = file.read_text(encoding="utf-8")
        made = completed(text, file.stem)
        if made != text:
            file.write_text(made, encoding="utf-8")
