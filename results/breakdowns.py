"""What totals are made of: time, energy, cost, cycles as sums of parts, by what their model declares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.system.records import dataclass
from formulations.evaluation import quantity
from results import designs_inside, flat
from results.dataset import objectives
from results.telling.facts import Facts
from scenarios.uncertainty.worst_cases import without_samples

if TYPE_CHECKING:
    import xarray as xr

    from dse.models.shared.sums import Sum
    from results.designs_inside import Designs
    from scenarios.question import Question

Array = np.ndarray[Any, Any]
Key = tuple[str, str]
REST = "the rest"
# parts and total are sums of the same few numbers, rounded in another order
PARTS_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Breakdown:
    """A total and its parts, in the SI ``unit``.

    ``by``: what tells the parts apart; ``total``: one number per point, in the shape of the points (no dimension for
    an answer), NaN where there is none; ``parts``: by name the same of each part, 0 where it has none. What no
    declared part accounts for is "the rest". Parts that are nothing everywhere are left out. ``nominal``: it is that of
    the nominal numbers, as the metrics of a worst case are.
    """

    metric: str
    by: str
    unit: str
    total: Array
    parts: Mapping[str, Array]
    nominal: bool = False

    @property
    def title(self) -> str:
        """What is taken apart and how, in words."""
        at = " (nominal)" if self.nominal else ""
        return f"{self.metric.replace('_', ' ')} by {self.by}{at}"


def every(source: xr.Dataset | Facts) -> tuple[Breakdown, ...]:
    """Take apart all totals of an answer, or of each design of a sweep or a front, that its model declares.

    Empty where it declares none, where nothing is answered, and where the question can no longer be read.
    """
    if isinstance(source, Facts):
        design = designs_inside.of_solution(source)
        return _breakdowns_of([design], ()) if design is not None else ()
    shape = tuple(source.sizes[d] for d in flat.points(source))
    return _breakdowns_of(designs_inside.of_dataset(source), shape)


def breakdown(source: xr.Dataset | Facts, metric: str | None = None, by: str | None = None) -> Breakdown:
    """Take one total apart.

    ``metric``: which (default: the objective, if it has parts, else the first that has); ``by``: which of several
    ways. Raises ValueError where there is none, and says which there are.
    """
    ways = every(source)
    found = [b for b in ways if metric in {None, b.metric} and by in {None, b.by}]
    if not found:
        asked = f"{f' of {metric}' if metric else ''}{f' by {by}' if by else ''}"
        known = "; ".join(f"{b.metric} by {b.by}" for b in ways)
        raise ValueError(
            f"there is no breakdown{asked}: "
            + (f"there is {known}" if known else "the model declares no sums")
        )
    goals = [source.objective_name] if isinstance(source, Facts) else list(objectives(source))
    return next((b for goal in goals for b in found if b.metric == goal), found[0])


def _breakdowns_of(groups: Iterable[Designs], shape: tuple[int, ...]) -> tuple[Breakdown, ...]:
    totals: dict[Key, Array] = {}
    parts: dict[Key, dict[str, Array]] = {}
    units: dict[str, str] = {}
    nominal = False
    for group in groups:
        nominal = nominal or without_samples(group.question)
        for asked in group.question.model.sums:
            total = group.number(asked.metric)
            if total is None or not _holds_of_means(group.question, asked):
                continue
            key = asked.metric, asked.by
            units[asked.metric] = quantity(group.question.model, asked.metric).unit
            totals.setdefault(key, np.full(shape, np.nan)).flat[group.places] = total
            for name, values in _terms(group, asked).items():
                parts.setdefault(key, {}).setdefault(name, np.zeros(shape)).flat[group.places] = values
    found = (Breakdown(*key, units[key[0]], t, _there(t, parts[key]), nominal) for key, t in totals.items())
    return tuple(b for b in found if len(b.parts) > 1)


def _holds_of_means(question: Question, asked: Sum) -> bool:
    """Whether means over samples add up as numbers do: no product of two metrics, and none with what is uncertain.

    Of a worst case metrics are nominal, which add up.
    """
    if question.uncertain is None or without_samples(question):
        return True
    uncertain, metrics = question.uncertain.marginals, {q.name for q in question.model.metrics}
    return all(
        not any(f in uncertain for f in term.factors) and sum(f in metrics for f in term.factors) <= 1
        for term in asked.terms
    )


def _terms(group: Designs, asked: Sum) -> dict[str, Array]:
    """Return every term for each design; one of which a factor is not stated is nothing."""
    found = {}
    for term in asked.terms:
        factors = [group.number(name) for name in term.factors]
        product = 1.0 if all(f is not None for f in factors) else 0.0
        for factor in factors:
            product = product * (0.0 if factor is None else factor)
        found[term.name] = np.broadcast_to(product, group.places.shape)
    return found


def _there(total: Array, parts: Mapping[str, Array]) -> dict[str, Array]:
    """Return the parts that are anywhere more than nothing, and what is left of the total."""
    with np.errstate(invalid="ignore"):
        rest = total - sum(parts.values())
        rest = np.where(np.abs(rest) <= PARTS_ROUNDING * np.abs(total), 0.0, rest)
    known = np.isfinite(total)
    every_part = {n: np.where(known, v, np.nan) for n, v in {**parts, REST: rest}.items()}
    return {n: v for n, v in every_part.items() if np.any(v[known] != 0)}
