"""What is inside designs, for a page: totals in parts, rooflines, and what one percent of each limit buys."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dse.system.records import dataclass
from results import axes, breakdowns, rooflines
from results.dataset import LIMIT, objectives

if TYPE_CHECKING:
    import xarray as xr

    from results.breakdowns import Breakdown
    from results.rooflines import Roofline
    from results.telling.facts import Facts

Array = np.ndarray[Any, Any]
INSIDE_DIGITS = 5
MOST_ROOFLINES = 60
NO_SHARE = 1e-9

Numbers = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Sum:
    """A total in parts: one number per design and part, in ``unit``."""

    title: str
    unit: str
    parts: Mapping[str, Numbers]


@dataclass(frozen=True, slots=True)
class Roof:
    """A machine's roofline: curves over the intensity, and which designs stand under it, and where."""

    name: str
    intensity: Numbers
    curves: Mapping[str, Numbers]
    designs: Sequence[int]
    at: Numbers
    reached: Mapping[str, Numbers]


@dataclass(frozen=True, slots=True)
class Insides:
    """All that; ``units``: of what rooflines show; ``rates``: by limit, percent of the objective per percent of it.

    ``nominal``: whether designs stand under rooflines at the nominal values of what is uncertain.
    """

    sums: tuple[Sum, ...] = ()
    roofs: tuple[Roof, ...] = ()
    units: Mapping[str, str] | None = None
    rates: Mapping[str, Numbers] | None = None
    nominal: bool = False


def of_solution(solution: Facts) -> Insides:
    """Look into an answer; its elasticities are told beside its limits."""
    sums = tuple(
        _sum_of_designs(b, slice(None))
        for b in _objectives_first(breakdowns.every(solution), [solution.objective_name])
    )
    roofs = rooflines.of_solution(solution)
    return Insides(sums, *_roofs(roofs, np.zeros(1, int)), nominal=any(r.nominal for r in roofs))


def of_dataset(dataset: xr.Dataset, kept: Array) -> Insides:
    """Look into the designs of a sweep or a front; ``kept``: the points that are on the page, by number."""
    sums = tuple(
        _sum_of_designs(b, kept)
        for b in _objectives_first(breakdowns.every(dataset), list(objectives(dataset)))
    )
    number = np.full(dataset["status"].size, -1)
    number[kept] = np.arange(kept.size)
    roofs = rooflines.of_dataset(dataset, MOST_ROOFLINES)
    nominal = any(r.nominal for r in roofs)
    return Insides(sums, *_roofs(roofs, number), _elasticities(dataset, kept), nominal)


def _objectives_first(found: Sequence[Breakdown], goals: Sequence[str]) -> list[Breakdown]:
    """Put what is optimised first."""
    return sorted(found, key=lambda b: goals.index(b.metric) if b.metric in goals else len(goals))


def _sum_of_designs(found: Breakdown, kept: Any) -> Sum:
    factor, unit = axes.prefix_of(found.total, found.unit)
    parts = {n: rounded(np.ravel(v)[kept] * factor) for n, v in found.parts.items()}
    return Sum(found.title, unit, parts)


def _roofs(found: Sequence[Roofline], number: Array) -> tuple[tuple[Roof, ...], Mapping[str, str]]:
    """Return rooflines in common units, ``number``: of each point its place on the page, -1: it is not there."""
    names = list(dict.fromkeys(n for r in found for n in r.curves))
    scales = {
        n: axes.prefix_of(
            np.concatenate([r.curves[n] for r in found if n in r.curves]), found[0].units.get(n, "")
        )
        for n in names
    }
    made = []
    for r in found:
        there = number[r.places] >= 0
        curves = {n: rounded(v * scales[n][0]) for n, v in r.curves.items()}
        reached = {n: rounded(v[there] * scales[n][0]) for n, v in r.reached.items()}
        designs = number[r.places][there].tolist()
        made.append(Roof(r.name, rounded(r.intensity), curves, designs, rounded(r.at[there]), reached))
    return tuple(made), {n: scales[n][1] for n in names}


def _elasticities(dataset: xr.Dataset, kept: Array) -> Mapping[str, Numbers]:
    """Return the elasticities of the limits that matter anywhere."""
    if "elasticity" not in dataset or LIMIT not in dataset:
        return {}
    dims = [str(d) for d in dataset["status"].dims]
    values = dataset["elasticity"].transpose(*dims, LIMIT).values.reshape(-1, dataset.sizes[LIMIT])[kept]
    names = [str(n) for n in dataset[LIMIT].values]
    return {
        n: rounded(v) for n, v in zip(names, values.T, strict=True) if np.nanmax(abs(v), initial=0) > NO_SHARE
    }


def rounded(values: ArrayLike, digits: int = INSIDE_DIGITS) -> list[float | None]:
    """Return numbers with as many digits as a page has of them, None where there is none."""
    return [float(f"{v:.{digits}g}") if math.isfinite(v) else None for v in np.ravel(values).tolist()]
