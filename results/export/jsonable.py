"""An answer as JSON: the shapes of the design, SI numbers, no NaN and no infinity."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from results.telling import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from results.solution import LimitState, Solution


def to_json(solution: Solution) -> dict[str, Any]:
    """Return the answer as plain dicts, lists, text, finite floats, booleans and None, for ``json.dumps``.

    Numbers that do not exist (the objective of an infeasible question, the slack of a limit unanswered) are None, and
    so are infinite ones: ``infinite`` lists the keys that lead to each of these, and its sign. ``units`` says in which
    SI unit each variable, metric and limit is; ``names`` what those numbers stand for that pick from a menu or say
    which case holds.
    """
    found: dict[str, Any] = {
        "title": solution.title,
        "status": solution.status.value,
        "objective": solution.objective,
        "objective_name": solution.objective_name,
        "maximize": solution.maximize,
        "bound": solution.bound,
        "gap": solution.gap,
        "variables": dict(solution.variables),
        "metrics": dict(solution.metrics),
        "limits": {name: _limit_as_data(state) for name, state in solution.limits.items()},
        "conflict": dict(solution.conflict),
        "conflicts": [list(names) for names in solution.conflicts],
        "ranges": {name: list(ends) for name, ends in solution.ranges.items()},
        "elasticities": dict(solution.parameters),
        "one_sided": list(solution.one_sided),
        "alternatives": [
            {
                "choice": dict(a.choice),
                "status": a.status.value,
                "objective": a.objective,
                "conflict": dict(a.conflict),
            }
            for a in solution.alternatives
        ],
        "certificate": solution.certificate,
        "solver": solution.solver,
        "seconds": solution.seconds,
        "message": solution.message,
        "runaway": solution.runaway,
        "held": dict(solution.held),
        "waived": list(solution.waived),
        "outside": dict(solution.outside),
        **({"fractions": list(solution.fractions)} if solution.fractions else {}),
        **({"left_out": solution.left_out} if solution.left_out else {}),
        **({"sources": dict(solution.sources)} if solution.sources else {}),
        "units": {name: state.unit for name, state in solution.limits.items()} | dict(solution.units),
        **({"bytes_per_word": dict(solution.bytes_per_word)} if solution.bytes_per_word else {}),
        "names": _named_numbers(solution),
        "scenario": solution.scenario,
        **({"tables": dict(solution.tables)} if solution.tables else {}),
    }
    if solution.next_best is not None:
        told = solution.next_best
        found["next_best"] = {"variables": dict(told.variables), "objective": told.objective}
    if solution.worlds:
        found |= {
            "measure": solution.measure,
            "sampling": solution.sampling,
            "worlds": solution.worlds,
            "world": solution.world,
            "spread": {name: list(ends) for name, ends in solution.spread.items()},
            "fresh": None if solution.fresh is None else solution.fresh.told(),
            **({"measures": dict(solution.measures)} if solution.measures else {}),
            **({"not_worst": list(solution.not_worst)} if solution.not_worst else {}),
        }
    endless = list(_infinite(found, ()))
    return {n: plain(value) for n, value in found.items()} | ({"infinite": endless} if endless else {})


def _infinite(value: Any, place: tuple[str | int, ...]) -> Iterator[list[str | int]]:
    """Go through the infinite numbers of nested data: the keys that lead to each, and "inf" or "-inf"."""
    if isinstance(value, dict):
        for name, v in value.items():
            yield from _infinite(v, (*place, str(name)))
    elif isinstance(value, list | tuple):
        for i, v in enumerate(value):
            yield from _infinite(v, (*place, i))
    elif isinstance(value, float) and math.isinf(value):
        yield [*place, str(float(value))]


def _limit_as_data(state: LimitState) -> dict[str, Any]:
    return {
        "value": state.value,
        "bound": state.bound,
        "side": state.side,
        "slack": state.slack,
        "binding": state.binding,
        "elasticity": state.elasticity,
        "one_sided": state.one_sided,
        "next_change": state.next_change,
        "next_objective": state.next_objective,
    } | ({} if state.share is None else {"share": state.share})


def _named_numbers(solution: Solution) -> dict[str, str]:
    numbers = {**solution.metrics, **solution.variables}
    return {name: text for name, v in numbers.items() if (text := words.named(solution, name, v))}


def plain(value: Any) -> Any:
    """Reduce a value to what JSON has: NumPy scalars become Python's, numbers not finite None."""
    if isinstance(value, dict):
        return {str(name): plain(v) for name, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if value is None or isinstance(value, str | bool | int):
        return value
    if hasattr(value, "item"):
        return plain(value.item())
    number = float(value)
    return number if math.isfinite(number) else None
