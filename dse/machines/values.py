"""A value of a machine file: the number with its unit, where it comes from, and how far it may lie from the truth.

    [figures]
    thermal_design_power = { value = "700 W", evidence = "data sheet", source = "NVIDIA H100 data sheet, 2023" }

``interval`` states between which ends the true value lies, where the value itself is a choice between them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dse.names import did_you_mean
from dse.quantities import NEAR_ZERO, Quantity, UnitError, is_inverse, near_zero, to_si_or_inverse
from dse.system.records import dataclass

EVIDENCE = {
    "data sheet": "stated by the vendor",
    "measured": "measured by those whom the source names",
    "measured on a noisy machine": "measured while other programs ran beside it",
    "fitted to measurements": "a parameter of a model fitted to the runs that the source names",
    "stated": "stated by those who measured the other values",
    "published": "stated in the source, which does not say how it was found",
    "derived": "computed from other values by the formula in the source",
    "assumed": "chosen",
}


@dataclass(frozen=True, slots=True)
class Value:
    """What a machine file says of one quantity: ``value`` in SI (or text), and what is known about it.

    ``evidence`` is one of ``EVIDENCE``, empty where the file does not say; ``interval`` its ends in SI, absent
    where the source gives one number only.
    """

    value: float | str
    unit: str
    evidence: str = ""
    source: str = ""
    doubt: str = ""
    interval: tuple[float, float] | None = None


def read(q: Quantity, entry: Any, evidence: str = "", word_size: float | None = None) -> Value:
    """Read an entry of a machine file: a value as it stands, or a table with ``value`` and what is known of it.

    ``evidence``: what the file says of all its values; ``word_size``: bytes per word, for sizes told in
    bytes. Raises ValueError (UnitError among them) where the value cannot be read, lies outside the quantity's
    domain or its own interval, where the kind of evidence is unknown, or a key of the table.
    """
    table = entry if isinstance(entry, Mapping) else {"value": entry}
    if "value" not in table:
        raise ValueError(f"{q.name} has no value")
    strange = [key for key in table if key not in _SAID]
    if strange:
        raise ValueError(
            f"{q.name}: there is no {strange[0]!r}{did_you_mean(strange[0], _SAID)}; there are {', '.join(_SAID)}"
        )
    untold = [key for key in ("source", "doubt") if not isinstance(table.get(key, ""), str)]
    if untold:
        raise ValueError(f"{q.name}: {untold[0]} = {table[untold[0]]!r} is not text; write it in quotes")
    value = table["value"] if q.choices == TEXT else inside(q, _number(q, table["value"], word_size))
    if isinstance(value, str) and not value.strip():
        raise ValueError(f"{q.name} is empty; write a text, or leave it out")
    if not isinstance(value, str | float):
        raise ValueError(f"{q.name} = {value!r} is not text")  # noqa: TRY004
    return Value(
        value=value,
        unit=q.unit,
        evidence=kind(table.get("evidence", evidence), q.name),
        source=str(table.get("source", "")),
        doubt=str(table.get("doubt", "")),
        interval=_interval(q, table["interval"], value, word_size) if "interval" in table else None,
    )


# what can be said of a value
_SAID = ("value", "interval", "evidence", "source", "doubt", "spread", "median_uncertainty")
# the choices of a quantity that is any text
TEXT = ("text",)


def kind(evidence: Any, name: str = "") -> str:
    """Return the kind of evidence; raises ValueError for one that is not in ``EVIDENCE``. "" is none stated."""
    # a list or a table has no hash
    if evidence != "" and evidence not in list(EVIDENCE):
        where = f"evidence of {name}" if name else "evidence"
        near = did_you_mean(str(evidence), tuple(EVIDENCE)) or f"; there are: {', '.join(EVIDENCE)}"
        raise ValueError(f"{where} = {evidence!r} is not a kind of evidence{near}")
    return str(evidence)


def _number(q: Quantity, value: float | str, word_size: float | None) -> float:
    """Read a number, a rate as well as its reciprocal; the message of an UnitError names the quantity."""
    try:
        return to_si_or_inverse(value, q.unit, word_size)
    except UnitError as error:
        raise UnitError(f"{q.name}: {error}") from None


def inside(q: Quantity, value: float) -> float:
    """Return ``value`` (SI); raises ValueError where it lies outside the quantity's domain."""
    if not q.minimum <= value <= q.maximum:
        raise ValueError(
            f"{q.name} = {value:g} {q.unit} lies outside its domain {q.minimum:g} to {q.maximum:g}"
        )
    if near_zero(value):
        raise ValueError(f"{q.name} = {value:g} {q.unit} {'; '.join(NEAR_ZERO)}")
    return value


def _interval(q: Quantity, stated: Any, value: float | str, word_size: float | None) -> tuple[float, float]:
    if isinstance(value, str):
        raise ValueError(f"{q.name} is a text and has no interval")  # noqa: TRY004
    if not isinstance(stated, list) or len(stated) != 2:
        raise ValueError(f"interval of {q.name} = {stated!r} is not [least, greatest]")
    # the ends of rates are those of times in the other order
    ends = stated[::-1] if all(is_inverse(end, q.unit) for end in stated) else stated
    low, high = (inside(q, _number(q, end, word_size)) for end in ends)
    if low > high:
        right = f"[{', '.join(repr(end) for end in reversed(stated))}]"
        raise ValueError(f"interval of {q.name} = {stated!r} has its greatest end first; write {right}")
    if not low <= value <= high or math.isinf(high):
        raise ValueError(
            f"interval of {q.name}: its value {value:g} {q.unit} lies outside {low:g} to {high:g} {q.unit}"
        )
    return low, high
