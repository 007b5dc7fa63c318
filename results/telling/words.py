"""What an answer says, in plain words: the sentences that the terminal, the notebook and pictures share."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from dse.quantities import long_time, show, shown_unit
from dse.system.nouns import plural, several
from formulations.tolerances import NEXT_TO
from results.telling import division
from results.telling.facts import Facts, LimitState, NextBest, Status
from results.telling.limits import base_name
from scenarios.language.machine_files import shown_names

VALUE_DIGITS = 6
NOTHING = "—"
"""What stands in a cell of a table that has no value."""
MOST_VALUE_DIGITS = 12
NOTICEABLE = 5e-7
SIGNS = {"max": "≤", "min": "≥", "model": "≤"}


def status(solution: Facts) -> str:
    """Say in words what the status promises."""
    words = {
        Status.OPTIMAL: "optimal" + _within(solution.gap),
        Status.FEASIBLE: f"feasible: {_held_and_not_proved(solution)}",
        Status.INFEASIBLE: "infeasible: no design satisfies all limits",
        Status.UNBOUNDED: "unbounded: the objective keeps improving, no design is the best",
        Status.EVALUATED: "evaluated: nothing was left to decide",
        Status.ERROR: "error: no answer",
    }
    return words[solution.status]


def _held_and_not_proved(solution: Facts) -> str:
    """Say where all limits hold, and what is not proved: of a worst case that is seldom the optimality."""
    limits, goal, told = doubtful_limits(solution), solution.objective_name, ["all limits hold"]
    if limits:
        told[0] += f" in the {plural(solution.worlds, solution.world or 'case')} tried"
        verb = "holds" if len(limits) == 1 else "hold"
        told.append(f"that {' and '.join(limits)} {verb} in the whole box is not proved")
    others = [n for n in solution.not_worst if n not in limits and n != goal]
    told += [f"the worst {n} in the box is not proved" for n in others]
    if goal and not _only_the_box_is_open(solution):
        told.append("optimality is not proved")
    return "; ".join(told)


def doubtful_limits(solution: Facts) -> list[str]:
    """Return the limits of which it is not proved that they hold in the whole box of uncertain numbers."""
    return [n for n in solution.not_worst if n in solution.limits or f"{n}.min" in solution.limits]


def _only_the_box_is_open(solution: Facts) -> bool:
    """Tell whether the bound is the objective, as written, and only what is worst in the box is not proved."""
    if not solution.not_worst or solution.objective_name in solution.not_worst:
        return False
    ends = solution.objective, solution.bound
    return None not in ends and value(ends[0] or 0.0, "") == value(ends[1] or 0.0, "")


def _within(gap: float | None) -> str:
    if gap is None:
        return ""
    return ": optimality gap 0" if gap == 0 else f": optimality gap ≤ {_rounded_up(gap)}"


def _rounded_up(gap: float) -> str:
    """Write a gap with one digit (from 0.001 on with three), never smaller than it is."""
    return f"{float(f'{_outward(gap, 1 if gap < 1e-3 else 3, up=True):.3g}'):g}"


def value(amount: float | str, unit: str, digits: int = VALUE_DIGITS) -> str:
    """Write a number with its unit and a sensible prefix; names stay as they are."""
    return amount if isinstance(amount, str) else show(float(amount), unit, digits)


def end(solution: Facts, name: str, side: str) -> str:
    """Say which end of its domain holds a variable, and where that is."""
    which = "smallest" if side == "min" else "largest"
    return f"{name} is at the {which} value that the model allows ({metric(solution, name, solution.variables[name])})"


def metric(solution: Facts, name: str, amount: float | str, digits: int = VALUE_DIGITS) -> str:
    """Write a number by its name: the case it stands for, or the entry of a menu it picks, as such.

    A machine file is written by its title.
    """
    if isinstance(amount, str):
        return shown_names(solution.scenario).get(amount, amount)
    return named(solution, name, amount) or value(amount, solution.units.get(name, ""), digits)


def named(solution: Facts, name: str, amount: float | str) -> str:
    """Return the name of the case or of the entry of a menu that a number stands for; empty for any other number."""
    flags, menu = solution.flags.get(name, ()), solution.menus.get(name, ())
    if amount in range(len(flags)):
        return flags[int(amount)]
    return menu[int(amount) - 1] if amount in range(1, len(menu) + 1) else ""


def objective(solution: Facts) -> str:
    """Say what the objective is and how far it is proven."""
    if solution.objective is None:
        return ""
    unit = solution.units.get(solution.objective_name, "")
    text = value(solution.objective, unit)
    if solution.status is Status.FEASIBLE and solution.bound is not None:
        side = "at most" if solution.maximize else "at least"
        # beside an objective of 0 no gap is a share
        share = math.inf if solution.gap is None else solution.gap
        gap = f" (gap {100 * share:.3g} %)" if math.isfinite(share) else ""
        text += f"; proven: {side} {value(solution.bound, unit)}{gap}"
    return text


def next_best(solution: Facts, told: NextBest) -> str:
    """Say what the next better design loses, and by what it differs from the answer."""
    unit = solution.units.get(solution.objective_name, "")
    text, now = value(told.objective, unit), solution.objective
    if now and math.isfinite(told.objective / now):
        text += f", {100 * abs(told.objective / now - 1):.3g} % {'less' if told.objective < now else 'more'}"
    other = {n: v for n, v in told.variables.items() if v != solution.variables.get(n)}
    return (
        f"{text}: {', '.join(f'{n} {metric(solution, n, v)}' for n, v in other.items())}" if other else text
    )


def buys(solution: Facts, state: LimitState) -> str:
    """Write the sensitivity to a limit, d log(objective) / d log(limit), or where the answer next changes."""
    goal = solution.objective_name or "objective"
    if state.next_change is not None:
        then = (
            ""
            if state.next_objective is None
            else f": {goal} {_unit_value(solution, goal, state.next_objective)}"
        )
        # at a limit that binds, what is continuous beside them moves at once, and the objective with it
        what = "discrete values next change" if state.binding else "next change"
        return f"{what} at {_told_apart(state.next_change, state.bound, state.unit)}{then}"
    if state.elasticity is None or abs(state.elasticity) < NOTICEABLE:
        return ""
    mark = " (relaxing only)" if state.one_sided else ""
    return f"{state.elasticity:+.3g} %/%{mark}"


def _told_apart(amount: float, other: float, unit: str) -> str:
    """Write a number with as many digits as tell it from another one."""
    written = (value(amount, unit, digits) for digits in (VALUE_DIGITS, VALUE_DIGITS + 3, MOST_VALUE_DIGITS))
    return next(
        (text for text in written if text != value(other, unit)), value(amount, unit, MOST_VALUE_DIGITS)
    )


def share(solution: Facts, state: LimitState) -> str:
    """Say in how many samples, or vertices or cases of a box, a limit binds; empty if in none, or of one."""
    of = several(solution.world or "sample")
    return f" (binds in {percent(100 * state.share)} of {of})" if state.share and solution.worlds > 1 else ""


def percent(amount: float) -> str:
    """Write a percentage with three digits."""
    return f"{amount:.3g} %"


def _unit_value(solution: Facts, name: str, amount: float) -> str:
    return value(amount, solution.units.get(name, ""))


def conflict(solution: Facts) -> list[tuple[str, str]]:
    """Say of each conflicting limit for which value the problem is feasible, as (name, sentence).

    Of a limit that only another set has than the first no value alone does.
    """
    every = {n: None for names in solution.conflicts for n in names} if several_sets(solution) else {}
    needed = {**solution.conflict, **{n: None for n in every if n not in solution.conflict}}
    return [(name, _feasible_if(solution, name, value)) for name, value in needed.items()]


def several_sets(solution: Facts) -> bool:
    """Tell whether there are several sets of limits that conflict, of which one is of more than one limit."""
    return len(solution.conflicts) > 1 and any(len(names) > 1 for names in solution.conflicts)


def clashes(solution: Facts) -> list[str]:
    """Say of each set of limits that conflict that it does."""
    return [
        f"{' and '.join(names)} cannot hold together" if len(names) > 1 else f"{names[0]} cannot be met"
        for names in solution.conflicts
    ]


def why_infeasible(solution: Facts) -> str:
    """Say which limits conflict, and what each would have to be; "" where no limit is known to."""
    sets = clashes(solution)
    if solution.conflict and not sets:
        names = list(solution.conflict)
        sets = [f"{' and '.join(names)} cannot {'hold together' if len(names) > 1 else 'be met'}"]
    told = [f"{name}: {text}" for name, text in conflict(solution)]
    return ". ".join("; ".join(some) for some in (sets, told) if some)


def by_themselves(solution: Facts) -> bool:
    """Tell whether each limit of the conflict told fails alone, so that none of them clashes with another."""
    alone = {names[0] for names in solution.conflicts if len(names) == 1}
    return len(solution.conflict) == 1 or (bool(alone) and set(solution.conflict) <= alone)


def unless(solution: Facts, needed: Mapping[str, float | None], between: Collection[str] = ()) -> str:
    """Say of a choice without a design which of its limits would have to be what, each alone; else which conflict."""
    alone = [
        f"{name} may be {_unit_value(solution, name, amount)}"
        if name in between
        else _need(solution, name, amount)
        for name, amount in needed.items()
        if amount is not None
    ]
    # of the others no value alone does: a set without them conflicts, too
    if alone and all(alone):
        return f" unless {' or '.join(alone)}"
    if len(needed) == 1:
        return f": {next(iter(needed))} cannot be met"
    return f": {', '.join(needed)} cannot all be met" if needed else ""


def _need(solution: Facts, name: str, amount: float) -> str:
    """Say what one limit would have to be; nothing where its side is not known."""
    if name in solution.divisions:
        return f"{name} holds"
    state = solution.limits.get(name)
    if own(solution, name):
        return f"{name} {_outward(amount, 4, up=True):.4g} times as large"
    sides = [x for x in (state, solution.limits.get(f"{name}.min")) if x is not None]
    moved = [x for x in sides if (amount > x.bound) == (x.side == "max")]
    return f"{name} {SIGNS[moved[0].side]} {_generous_value(amount, moved[0])}" if len(moved) == 1 else ""


def _feasible_if(solution: Facts, name: str, needed: float | None) -> str:
    state = _limit_in_conflict(solution, name)
    unit = state.unit if state is not None else solution.units.get(name, "")
    shown = state is not None and not own(solution, name)
    asked = f" (asked: {_asked(solution, name, state)})" if state is not None and shown else ""
    said = f"{solution.meanings[name]}; " if name in solution.meanings and not shown else ""
    if own(solution, name) and name in solution.divisions:
        near = division.divides_if(solution.divisions[name])
        said += f"the model's own limit{f': {near}' if near else ''}"
        return said if needed is not None else f"{said}; {_no_value(solution, name)}"
    if needed is None:
        return f"{said}{_no_value(solution, name)}{asked}"
    if own(solution, name):
        return f"{said}the model's own limit, missed by a factor of {needed:.6g}"
    if state is None or name in solution.between:
        # another bound would not help
        return _undivided(solution, name, needed, unit)
    return f"{SIGNS[state.side]} {_generous_value(needed, state)}{asked}"


def _asked(solution: Facts, name: str, state: LimitState) -> str:
    """Say what was asked of a limit in conflict: of two ends both, since values may be possible on either side.

    A whole number may be any between its ends.
    """
    if name in solution.whole:
        return bound(state)
    ends = [x for x in (solution.limits.get(name), solution.limits.get(f"{name}.min")) if x is not None]
    if len(ends) == 2 and ends[0].bound == ends[1].bound:
        return f"= {value(state.bound, state.unit)}"
    return " and ".join(bound(x) for x in sorted(ends, key=lambda x: x is not state)) or bound(state)


def _undivided(solution: Facts, name: str, needed: float, unit: str) -> str:
    """Say that only whole numbers, or only some values, of a variable stand in the way."""
    fraction = name in solution.whole and not math.isclose(needed, round(needed), rel_tol=NEXT_TO)
    return f"{value(needed, unit)}, if {'fractions' if fraction else 'any value'} were allowed"


def _limit_in_conflict(solution: Facts, name: str) -> LimitState | None:
    """Return the limit meant by a name in a conflict: that side of it which fails."""
    upper, lower = solution.limits.get(name), solution.limits.get(f"{name}.min")
    needed = solution.conflict.get(name)
    if lower is not None and (upper is None or (needed is not None and needed < lower.bound)):
        return lower
    return upper


def own(solution: Facts, name: str) -> bool:
    """Tell whether a limit is the model's own: it limits no variable and no metric of the answer."""
    state = solution.limits.get(name)
    if state is not None and state.side == "model":
        return True
    return base_name(name) not in solution.units and base_name(name) not in solution.variables


def _no_value(solution: Facts, name: str) -> str:
    others = [names for names in solution.conflicts if name not in names]
    if not others:
        return "no value of it alone was found"
    return "no value of it alone: " + "; ".join(
        (f"{' and '.join(names)} also conflict" if len(names) > 1 else f"{names[0]} cannot be met either")
        for names in others[:3]
    )


def bound(state: LimitState) -> str:
    """Write what was asked of a limit: "≤ 10 s"."""
    return f"{SIGNS[state.side]} {value(state.bound, state.unit)}"


def _generous_value(needed: float, state: LimitState) -> str:
    """Write a feasible value so that it is still feasible when typed in: rounded to the generous side."""
    shown_in = long_time(needed) if state.unit == "s" else 1.0 / shown_unit(state.unit)[0]
    for digits in range(4, 16):
        text = value(
            shown_in * _outward(needed / shown_in, digits, up=state.side != "min"), state.unit, digits
        )
        if text != value(state.bound, state.unit, digits):
            return text
    return value(needed, state.unit, 17)


def _outward(number: float, digits: int, up: bool) -> float:
    if number == 0 or not math.isfinite(number):
        return number
    step = 10.0 ** (math.floor(math.log10(abs(number))) - digits + 1)
    # a hair of tolerance, so that 0.1 does not become 0.1001
    steps = number / step
    return step * (math.ceil(steps - 1e-9) if up else math.floor(steps + 1e-9))


def slack(state: LimitState) -> str:
    """Write the slack of a limit, relative to what was asked."""
    if math.isnan(state.slack):
        return ""
    if state.binding:
        return "binding"
    if state.slack > 0:
        return percent(100 * state.slack)
    return f"violated by {percent(-100 * state.slack)}"
