"""Amounts of words that a question states in bytes: people are shown them in bytes, by the size of its words.

All numbers stay in words. What changes is the unit with which they are shown: that of ``dse.quantities.in_bytes``.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from dse.quantities import in_bytes
from results.telling.limits import base_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from results.telling.facts import Facts

BYTES_PER_WORD = "bytes_per_word"
"""Attribute of a variable in words that is shown in bytes; of one with a unit for each limit JSON, a size by limit."""
Answer = TypeVar("Answer", bound="Facts")


def as_asked(solution: Answer) -> Answer:
    """Return an answer with the units with which it is shown."""
    if not solution.bytes_per_word:
        return solution
    limits = {
        n: replace(state, unit=in_bytes(state.unit, solution.bytes_per_word.get(base_name(n))))
        for n, state in solution.limits.items()
    }
    return replace(solution, units={n: unit_of(solution, n) for n in solution.units}, limits=limits)


def unit_of(solution: Facts, name: str) -> str:
    """Return the unit with which one number of an answer is shown."""
    return in_bytes(solution.units.get(name, ""), solution.bytes_per_word.get(name))


def unit_of_array(attributes: Mapping[str, Any]) -> str:
    """Return the unit with which an array with these attributes is shown."""
    unit = str(attributes.get("units", ""))
    return in_bytes("" if unit == "1" else unit, attributes.get(BYTES_PER_WORD))


def units(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes that say with which unit an array is written and shown, for another one in that unit."""
    return {n: attributes[n] for n in ("units", BYTES_PER_WORD) if n in attributes}


def units_of_limits(attributes: Mapping[str, Any], units_by_limit: str) -> dict[str, str]:
    """Return the unit with which each limit is shown; ``units_by_limit``: the attribute that has the SI units."""
    sizes = json.loads(attributes.get(BYTES_PER_WORD, "{}"))
    told = json.loads(attributes.get(units_by_limit, "{}"))
    return {n: in_bytes("" if unit == "1" else unit, sizes.get(n)) for n, unit in told.items()}
