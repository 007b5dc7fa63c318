"""The table of limits of an answer: a row for each of the user's, and for each family of the model's own."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from results.telling import division, words

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from results.telling.facts import Facts, LimitState

OWN = "model's own"
# a family of fewer limits is shown limit by limit
FAMILY_LIMITS = 3


def rows(solution: Facts) -> tuple[tuple[str, ...], ...]:
    """Return a row per limit: its name, what was asked, what came out, its slack, the sensitivity.

    Of a family of the model's own limits ("housed.a", "housed.b", ...) those that are broken or worth something
    have rows of their own; one row tells of all the others.
    """
    alike = _families(solution)
    told: set[str] = set()
    found = []
    for name, state in solution.limits.items():
        family = _family(name)
        if name not in alike.get(family, {}):
            found.append(_limit_row(solution, name, state))
        elif family not in told:
            told.add(family)
            found.append(_row_of_limits_held(family, alike[family]))
    return tuple(found)


def by_family(names: Sequence[str], own: Collection[str]) -> list[str]:
    """Return names of limits, of a family of the model's ``own`` as many as have one row: "housed (28 limits)"."""
    counts = Counter(_family(n) for n in names if n in own and "." in n)
    found = {
        f"{_family(n)} ({k} limits)" if n in own and (k := counts[_family(n)]) >= FAMILY_LIMITS else n: None
        for n in names
    }
    return list(found)


def _families(solution: Facts) -> Mapping[str, Mapping[str, LimitState]]:
    """Return the limits of which nothing needs to be told one by one, by family."""
    found: dict[str, dict[str, LimitState]] = {}
    for name, state in solution.limits.items():
        holds = state.binding or state.slack >= 0
        if words.own(solution, name) and "." in name and holds and not words.buys(solution, state):
            found.setdefault(_family(name), {})[name] = state
    return {family: limits for family, limits in found.items() if len(limits) >= FAMILY_LIMITS}


def _family(name: str) -> str:
    return name.partition(".")[0]


def _row_of_limits_held(family: str, limits: Mapping[str, LimitState]) -> tuple[str, ...]:
    """Write one row for several limits that all hold."""
    most = words.percent(100 * max(state.value for state in limits.values()))
    binding = sum(state.binding for state in limits.values())
    slack = "all hold" + (f", {binding} binding" if binding else "")
    return f"{family} ({len(limits)} limits)", OWN, f"≤ {most} used", slack, ""


def _limit_row(solution: Facts, name: str, state: LimitState) -> tuple[str, ...]:
    divided = solution.divisions.get(name)
    if divided is not None and divided.known and words.own(solution, name):
        return name, OWN, *_divisor_and_verdict(state, divided), ""
    if words.own(solution, name):
        asked, reached = OWN, f"{words.percent(100 * state.value)} used"
    else:
        asked, reached = (
            words.bound(state),
            words.value(state.value, state.unit),
        )
    return (
        name,
        asked,
        reached,
        words.slack(state) + words.share(solution, state),
        words.buys(solution, state),
    )


def _divisor_and_verdict(state: LimitState, d: division.Division) -> tuple[str, str]:
    """Say what divides what, and whether it does; a limit that says nothing of this design (0 of it) has no slack."""
    if not state.value:
        return "does not apply", ""
    return division.reached(d), "holds" if d.holds else "violated"
