"""What differs between the worlds of two stores: how they were drawn, and how each uncertain number is distributed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.quantities import show
from results import flat
from results.axes import unit_of
from results.differing.differences import Row
from results.telling.estimates import quantile
from scenarios.uncertainty.chances import AXIS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import xarray as xr

_LINE = re.compile(r"^# worlds \d+ to \d+: (.+)$", re.MULTILINE)
"""The line that ``scenarios.uncertain.told_of`` writes into the text of worlds."""


def way(text: str) -> str | None:
    """Return how the worlds of a scenario's text were drawn: method, seed, correlation; None where it has none."""
    found = _LINE.search(text)
    return found and found[1]


def differences(first: xr.Dataset, second: xr.Dataset, section: str) -> Iterator[Row]:
    """Compare how worlds were drawn, then the numbers in the worlds that both have; nothing where either has none.

    Worlds with the same method, seed, correlation and uncertain numbers are the same draws. Where a number differs
    in them, its distribution does; elsewhere medians and 90 % intervals are told, and no cause.
    """
    ways = [w for d in (first, second) if (w := way(str(d.attrs.get("scenario", "")))) is not None]
    if len(ways) < 2 or any(AXIS not in d.dims for d in (first, second)):
        return
    alike = ways[0] == ways[1]
    if not alike:
        yield Row(section, "how samples were drawn", ways[0], ways[1], "", (ways[0], ways[1]))
    counts = first.sizes[AXIS], second.sizes[AXIS]
    both = min(counts)
    names = [tuple(flat.of_rows(d, AXIS)) for d in (first, second)]
    # Latin hypercubes of unlike sizes have no draws in common, nor have sequences in unlike dimensions
    alike &= names[0] == names[1] and (counts[0] == counts[1] or not ways[0].startswith("latin"))
    for name in names[0]:
        if name not in second.coords or first[name].dtype.kind != "f" or second[name].dtype.kind != "f":
            continue
        sides = first[name].values, second[name].values
        if np.array_equal(sides[0][:both], sides[1][:both]):
            continue
        note = "another distribution: the draws are the same" if alike else "the draws differ"
        told = [_values_text(x, unit_of(first[name])) for x in sides]
        yield Row(section, f"uncertain {name}", told[0], told[1], note, (told[0], told[1]))


def _values_text(values: Any, unit: str) -> str:
    low, median, high = (show(quantile(values, q), unit, 4) for q in (0.05, 0.5, 0.95))
    return f"median {median}, 90 % in {low} to {high}"
