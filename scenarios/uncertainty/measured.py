"""[objective.measures]: measures of metrics under names of their own, as definitions that are minimised or limited.

``tail_energy = { of = "energy", cvar = 0.9 }`` makes ``tail_energy`` a definition that is the energy in every world; by
what of its distribution it counts is kept beside it (``Question.measures``). So two measures of one metric are two
objectives, and a limit on one of them is not a limit in every world.
"""

from __future__ import annotations

import re

from scenarios.define.trees import LONGEST_QUOTED
from scenarios.distributions import Measure
from scenarios.language.errors import Findings, shown
from scenarios.language.schema import Goal, Judging, Shape

KEY = "objective.measures"
KINDS = ("measure", "quantile", "cvar")
EXAMPLE = 'tail_energy = { of = "energy", cvar = 0.9 }'
_ONE_OF = 'write measure = "mean" or "worst", or quantile = 0.95, or cvar = 0.9'


def with_measures(shape: Shape, findings: Findings) -> Shape:
    """Return the question with its measures as definitions; every mistake is noted.

    A measure beside several objectives is that of each of them that is a metric: under the name of the metric and the
    measure (``energy_mean``). A question without measures stays as it is.
    """
    goal = shape.objective
    if goal is None:
        return shape
    names = ranked(goal)
    common = measure_of(goal)
    if len(names) > 1 and common is not None:
        goal = _goal_with_measures(shape, goal, names)
    if not goal.measures:
        return shape
    define = dict(shape.define)
    for name, entry in goal.measures.items():
        key = f"{KEY}.{name}"
        findings.places[f"define.{name}"] = key
        if _sound(shape, goal, name, entry, findings):
            define[name] = entry.of if entry.of.isidentifier() else f"`{entry.of}`"
        else:
            findings.broken.update([f"define.{name}", "objective", f"limits.{name}"])
    return shape.model_copy(update={"define": define, "objective": goal})


def ranked(goal: Goal) -> tuple[str, ...]:
    """Return the names of what is minimised or maximised."""
    return (goal.minimize or ()) + (goal.maximize or ())


def measure_of(entry: Goal | Judging) -> Measure | None:
    """Return the measure that an entry states; None where it states none."""
    told = [n for n in KINDS if getattr(entry, n) is not None]
    if not told:
        return None
    of = entry.of if isinstance(entry, Judging) else ""
    if entry.measure is not None:
        return Measure(entry.measure, of=of)
    return Measure(told[0], getattr(entry, told[0]), of)


def measures_of(shape: Shape) -> dict[str, Measure]:
    """Return the measure behind each name of [objective.measures]."""
    goal = shape.objective
    entries = {} if goal is None else goal.measures
    return {n: m for n, entry in entries.items() if (m := measure_of(entry)) is not None}


def named(name: str, of: Measure) -> str:
    """Return what a metric with a measure is called: energy_mean, energy_q95, energy_cvar90."""
    plain = re.sub(r"\W", "_", name)
    if of.level is None:
        return f"{plain}_{of.kind}"
    level = f"{100 * of.level:.10g}".replace(".", "_")
    return f"{plain}_{'q' if of.kind == 'quantile' else of.kind}{level}"


def _goal_with_measures(shape: Shape, goal: Goal, names: tuple[str, ...]) -> Goal:
    """Return the objective with its one measure given to each metric that has none of its own."""
    common = measure_of(goal)
    assert common is not None, "there is one"
    told = {n: getattr(goal, n) for n in KINDS}
    called = {n: named(n, common) for n in names if n not in goal.measures and n not in shape.decide}
    more = {
        new: Judging(of=n, **{k: v for k, v in told.items() if v is not None}) for n, new in called.items()
    }
    way = "minimize" if goal.minimize is not None else "maximize"
    update = {way: tuple(called.get(n, n) for n in names), "measures": {**goal.measures, **more}}
    return goal.model_copy(update=update | dict.fromkeys(KINDS))


def _sound(shape: Shape, goal: Goal, name: str, entry: Judging, findings: Findings) -> bool:
    key, before = f"{KEY}.{name}", findings.count
    told = [n for n in KINDS if getattr(entry, n) is not None]
    limit = shape.limits.get(name)
    if len(told) > 1:
        findings.add(key, f"{' and '.join(told)} exclude each other", "keep one of them")
    elif not told:
        findings.missing(key, f"no measure of {entry.of or 'it'} is given", _ONE_OF)
    if not entry.of.strip():
        findings.missing(f"{key}.of", "no metric is named", f"write {EXAMPLE}")
    elif "`" in entry.of or len(entry.of.splitlines()) > 1 or len(entry.of) > LONGEST_QUOTED:
        findings.add(f"{key}.of", f"{shown(entry.of)} is not the name of a metric", f"write {EXAMPLE}")
    elif entry.of in goal.measures:
        findings.add(f"{key}.of", f"{entry.of} is a measure itself", "name the metric that it is of")
    elif entry.of in shape.decide or entry.of in shape.given:
        what = "decided" if entry.of in shape.decide else "given"
        right = f"name a metric; {entry.of} is the same in every sample where it is decided"
        findings.add(f"{key}.of", f"{entry.of} is {what}, and no metric", right)
    if name in shape.define:
        findings.add(key, f"{name} is defined already", "choose another name")
    if limit is not None and (limit.probability is not None or limit.worst or limit.within is not None):
        right = f"leave them out, or limit {entry.of} itself"
        findings.add(
            f"limits.{name}", f"{name} is a measure, which has no probability, worst or within", right
        )
    unread = any(findings.unreadable(f"objective.{way}") for way in ("minimize", "maximize"))
    if name not in ranked(goal) and limit is None and not (unread or _swept(shape, name)):
        right = f"list {shown(name)} under minimize, limit it, or leave it out"
        findings.add(key, f"{name} is neither an objective nor limited", right)
    return findings.count == before


def _swept(shape: Shape, name: str) -> bool:
    paths = {p for x in shape.sweep.values() for p in (x.path, *(x.paths or ()), *(x.columns or ()))}
    return any(p is not None and p.startswith(f"limits.{name}.") for p in paths)
