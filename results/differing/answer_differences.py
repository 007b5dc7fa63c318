"""What differs between two answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from results.differing.differences import Row, both, compared, each
from results.export.jsonable import to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from results.solution import Solution

ANSWER, VALUES, PROVENANCE = "answer", "values", "provenance"
# how an answer was found; time and title make no difference, the question is compared by what it means
HOW = ("certificate", "solver", "message")
RATIOS = ("slack", "elasticity")


def differences(first: Solution, second: Solution, tolerance: float) -> Iterator[Row]:
    """Compare two answers: status, objective, design, metrics, limits, conflicts, and how they were found.

    Numbers within ``tolerance`` (relative) are the same; of gaps, elasticities and slacks, which are ratios,
    within ``tolerance`` as such. Time taken and titles make no difference.
    """
    one, other = to_json(first), to_json(second)
    units = {**other["units"], **one["units"]}
    goal = one["objective_name"] or other["objective_name"]
    for key in ("status", "objective_name", "maximize", "runaway", "waived", "conflicts", "one_sided"):
        yield from compared(ANSWER, key, one[key], other[key], tolerance)
    for key in ("objective", "bound"):
        yield from compared(ANSWER, key, one[key], other[key], tolerance, units.get(goal, ""))
    yield from compared(ANSWER, "gap", one["gap"], other["gap"], tolerance, floor=tolerance)
    for key in ("variables", "metrics"):
        yield from each(VALUES, one[key], other[key], tolerance, units)
    yield from _limit_differences(one["limits"], other["limits"], tolerance, units, goal)
    yield from each(ANSWER, one["conflict"], other["conflict"], tolerance, units, "conflict.")
    ends = both(_range_ends, one, other)
    of_ends = {n: units.get(n.rpartition(".")[0], "") for told in ends for n in told}
    yield from each(VALUES, *ends, tolerance, of_ends, "ranges.")
    yield from each(
        VALUES, one["elasticities"], other["elasticities"], tolerance, None, "elasticity of ", tolerance
    )
    choices = both(_alternatives_by_choice, one, other)
    for name in dict.fromkeys((*choices[0], *choices[1])):
        sides = [_flat_alternative(c.get(name)) for c in choices]
        of = {
            n: units.get(goal if n == "objective" else n.removeprefix("conflict."), "")
            for s in sides
            for n in s
        }
        yield from each(ANSWER, sides[0], sides[1], tolerance, of, f"{name}: ")
    for key in HOW:
        yield from compared(PROVENANCE, key, one[key], other[key], tolerance)


def _range_ends(told: Mapping[str, Any]) -> dict[str, Any]:
    return {
        f"{name}.{side}": end
        for name, pair in told["ranges"].items()
        for side, end in zip(("low", "high"), pair, strict=True)
    }


def _alternatives_by_choice(told: Mapping[str, Any]) -> dict[str, Any]:
    return {", ".join(a["choice"].values()): a for a in told["alternatives"]}


def _flat_alternative(alternative: Mapping[str, Any] | None) -> dict[str, Any]:
    if alternative is None:
        return {}
    told = {k: v for k, v in alternative.items() if k not in {"choice", "conflict"}}
    return told | {f"conflict.{n}": v for n, v in alternative["conflict"].items()}


def _limit_differences(
    first: Mapping[str, Any], second: Mapping[str, Any], tolerance: float, units: Mapping[str, str], goal: str
) -> Iterator[Row]:
    for name in dict.fromkeys((*first, *second)):
        one, other = first.get(name, {}), second.get(name, {})
        for key in dict.fromkeys((*one, *other)):
            of = {"value": name, "bound": name, "next_change": name, "next_objective": goal}
            unit = units.get(of.get(key, ""), "")
            floor = tolerance if key in RATIOS else 0.0
            what = f"limits.{name}.{key}"
            yield from compared(VALUES, what, one.get(key), other.get(key), tolerance, unit, floor)
