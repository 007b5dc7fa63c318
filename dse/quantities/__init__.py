"""Text with units <-> SI numbers, and what a named quantity is."""

from dse.quantities.quantity import LEAST_REPRESENTED, NEAR_ZERO, Quantity, near_zero
from dse.quantities.reading import (
    UnitError,
    dimension,
    examples,
    is_inverse,
    kind,
    si_unit,
    si_units,
    to_si,
    to_si_or_inverse,
    written_unit,
)
from dse.quantities.units import registry
from dse.quantities.writing import in_bytes, level_text, long_time, show, shown_unit, without_size
from dse.system.nouns import plural

__all__ = [
    "LEAST_REPRESENTED",
    "NEAR_ZERO",
    "Quantity",
    "UnitError",
    "dimension",
    "examples",
    "in_bytes",
    "is_inverse",
    "kind",
    "level_text",
    "long_time",
    "near_zero",
    "plural",
    "registry",
    "show",
    "shown_unit",
    "si_unit",
    "si_units",
    "to_si",
    "to_si_or_inverse",
    "without_size",
    "written_unit",
]
