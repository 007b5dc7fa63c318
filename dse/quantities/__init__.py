"""Text with units <-> SI numbers, and what a named quantity is."""

from dse.quantities.kinds import FAILURES, FIT_PER_FAILURE_RATE
from dse.quantities.quantity import Quantity
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
from dse.quantities.writing import OF_ELECTRICITY, long_time, show

__all__ = [
    "FAILURES",
    "FIT_PER_FAILURE_RATE",
    "OF_ELECTRICITY",
    "Quantity",
    "UnitError",
    "dimension",
    "examples",
    "is_inverse",
    "kind",
    "long_time",
    "registry",
    "show",
    "si_unit",
    "si_units",
    "to_si",
    "to_si_or_inverse",
    "written_unit",
]
