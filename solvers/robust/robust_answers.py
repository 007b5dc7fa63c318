"""One design for many worlds: which way finds it, how it is judged in every world, and why there is none.

A question in N worlds (``formulations.uncertainty.worlds``) is answered by the first of these ways that takes it:

- few designs: every one judged in every world (``solvers.robust.searches.scan``);
- geometric programs: a master problem and cuts (``solvers.robust.masters.robust_geometric``);
- a mean of ratios of sums: branch and bound with secants (``solvers.robust.searches.robust_ratios``);
- sums over shares, counts and menus: a linear or mixed-integer master and cuts
  (``solvers.robust.masters.robust_program``);
- whole numbers in ratios of such sums: the best design of each world bounds that of all
  (``solvers.robust.searches.each_sample``);
- else boxes of designs, bounded in every world (``solvers.robust.boxes.robust_boxes``);
- where equations have no slopes a search without proof.

Whatever answers, the design is judged by the model's equations in plain floats in every world.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping

import numpy as np

from dse.quantities import plural
from dse.system.arrays import Array
from formulations import evaluation, failures
from formulations.row_keys import RowKey
from formulations.tolerances import BINDS, HOLDS
from formulations.uncertainty.measures import MEAN, WORST, Measured, Quantile, cvar
from formulations.uncertainty.wanted import Level
from formulations.uncertainty.worlds import SAMPLE, Judged, Worlds, judged, of_values
from results.solution import LimitState, Solution, Status
from results.telling.estimates import quantile
from results.wording import called_by_name, units_of
from scenarios.distributions import Measure
from scenarios.question import Question, large_are_good
from scenarios.sweep import undefined
from scenarios.uncertainty import uncertain_words
from solvers import beyond, choices
from solvers.certain import as_closed
from solvers.judgement import bound_of, disproves, relative_gap, without_design
from solvers.mechanisms.why import explained
from solvers.outcome import Outcome
from solvers.robust.asked import Asked, asked_farther, nothing_beyond, off_ends
from solvers.robust.explaining import robust_conflicts
from solvers.robust.masters import ends
from solvers.robust.masters.robust_geometric import Found
from solvers.robust.searches.chances import TooFew, Undecided
from solvers.robust.searches.robust_ways import found_by

TAILS = (0.05, 0.95)


def answered(asked: Asked, *, brief: bool = False, tied: bool = True) -> Solution:
    """Answer a question with at most one objective; ``brief``: without why there is no design.

    ``tied``: settle ties, and say what limits are worth; else any of the best designs is handed out.
    Never raises for a well-formed question: what goes wrong becomes status ``error`` with its message.
    """
    began = time.perf_counter()
    question = asked.worlds.nominal
    solution = guarded(question, lambda: _answered(asked, brief=brief, tied=tied))
    named = called_by_name(question, solution, units_of(question))
    # whether the model's range is left (``outside``) is told of the metrics shown: means, or nominal ones of a box
    return dataclasses.replace(
        named,
        measure=asked.words,
        worlds=asked.worlds.measured,
        measures={n: uncertain_words.named(m) for n, m in question.measures.items()},
        world=asked.worlds.word,
        seconds=time.perf_counter() - began,
    )


def guarded(question: Question, answer: Callable[[], Solution]) -> Solution:
    """Return what ``answer`` does; what goes wrong there becomes status ``error`` with its message."""
    try:
        with np.errstate(all="ignore"):
            return answer()
    except (TooFew, Undecided) as problem:
        # it names what of the question it is, which may be that of a point on an axis
        return Solution(Status.ERROR, message=str(problem), certificate="no design was looked for")
    except Exception as problem:
        text = failures.in_words(question, problem)
        return Solution(Status.ERROR, message=text, certificate="the solver failed")


def _answered(asked: Asked, *, brief: bool, tied: bool, kept: dict[int, Found] | None = None) -> Solution:
    """``kept``: what brief answers found of choices, by their questions' identity."""
    question = asked.worlds.nominal
    if choices.categorical(question):
        every, own = [w for _, w in asked.worlds.choices()], dict[int, Found]()
        level = Level() if question.objectives else None

        def of(q: Question) -> Asked:
            return dataclasses.replace(asked, worlds=next(w for w in every if w.nominal == q))

        def briefly(q: Question) -> Solution:
            beside = dataclasses.replace(of(q), level=level)
            solution = _answered(beside, brief=True, tied=False, kept=own)
            if level is not None and solution.objective is not None and solution.status in choices.GOOD:
                level.reach(solution.objective, question.sign)
            return solution

        return choices.best_of(
            question,
            briefly,
            lambda q: _answered(of(q), brief=brief, tied=tied, kept=own),
            None if brief else lambda q: robust_conflicts.why(of(q).wanted),
        )
    found = found_by(asked.wanted, tied=tied, known=None if kept is None else kept.get(id(question)))
    if kept is not None:
        kept[id(question)] = found
    if found.outcome.status in (Status.INFEASIBLE, Status.UNBOUNDED):
        found = asked_farther(asked, found, tied=tied)
    if ends.holds_whole(question):
        asked, found = off_ends(asked, found, tied=tied)
    if found.outcome.status is Status.INFEASIBLE and not nothing_beyond(asked, found):
        found = dataclasses.replace(found, outcome=Outcome(Status.ERROR, message=beyond.searched(question)))
    if found.outcome.x is None or found.outcome.status is Status.UNBOUNDED:
        why_none = None if brief else lambda: explained(robust_conflicts.why(asked.wanted))
        return without_design(question, found.outcome, why_none)
    return judged_answer(asked, found)


def judged_answer(asked: Asked, found: Found) -> Solution:
    """Judge a design in every world, in plain floats, and write it as an answer."""
    worlds, question, outcome = asked.worlds, asked.worlds.nominal, found.outcome
    x = dict(outcome.x or {})
    at = judged(worlds, x)
    objective = (
        None if at.objective is None else float(asked.measure.value(at.objective, maximize=question.sign < 0))
    )
    bound = outcome.bound
    if objective is not None and bound is not None and disproves(question, objective, bound):
        bound = None
    own = {m.name for m in question.model.limits}
    counted = {n: v[: worlds.measured] for n, v in at.metrics.items() if n not in own}
    # which case holds, or which entry of a menu it is, has no mean
    cases = {q.name for q in question.model.metrics if q.flags or q.menu}
    nominal = counted
    if worlds.word != SAMPLE:
        # of a box a mean over some of its worlds would say nothing
        alone = judged(of_values(worlds.nominal, {}, SAMPLE), x).metrics
        nominal = {n: v for n, v in alone.items() if n not in own}
    limits = {evaluation.label(k, at.ratios): _state(worlds, k, at, x, found) for k in at.ratios}
    nominal = {n: v for n, v in nominal.items() if n not in question.measures}
    every = worlds.with_caps_in_each()
    told_of = {
        n: measured_value(worlds, n, at.metrics[n], large_are_good=large_are_good(every, n))
        for n in question.measures
        if n in at.metrics
    }
    solution = Solution(
        outcome.status,
        objective=objective,
        bound=bound,
        gap=None if objective is None or bound is None else float(relative_gap(objective, bound)),
        variables=x,
        metrics={n: float(v.mean()) for n, v in nominal.items() if n not in cases or np.ptp(v) == 0}
        | told_of,
        spread={
            n: _tails(worlds, v)
            for n, v in counted.items()
            # in one world, or at one end of a number, a metric differs from the nominal one alone
            if n in nominal and (np.ptp(v) > 0 or not np.array_equal(v[0], nominal[n][0], equal_nan=True))
        },
        limits=limits,
        ranges=found.ranges,
        certificate=_certificate(worlds, found),
        solver=outcome.solver,
        message=outcome.message,
    )
    ratios = {k: at.counted(k, found.left_out) for k in at.ratios}
    # a limit without a value is broken
    judged_as = {k: np.nan_to_num(r, nan=np.inf) for k, r in ratios.items()}
    worst = max(((float(r.max()), k, int(r.argmax())) for k, r in judged_as.items()), default=None)
    if outcome.status is Status.EVALUATED:
        if worst is not None and not math.isfinite(worst[0]) and evaluation.beyond_floats(worlds.every, x):
            raise OverflowError
        if worst is not None and not worst[0] <= 1 + HOLDS:
            lost = dict.fromkeys(undefined.lost(question, at.metrics), math.nan)
            none = dataclasses.replace(solution, metrics={**solution.metrics, **lost})
            return _broken(asked, none, ratios)
        fault = failures.no_number(question, at.metrics)
        return dataclasses.replace(solution, status=Status.ERROR, message=fault) if fault else solution
    if worst is not None and not worst[0] <= 1 + HOLDS:
        text = f"re-evaluation: {_where(worlds, worst[1], worst[2])}, by {worst[0] - 1:.1e}"
        return dataclasses.replace(solution, status=Status.ERROR, message=text)
    if objective is not None and not math.isfinite(objective):
        text = f"{question.objectives[0].name} is infinite in some {worlds.word}"
        return dataclasses.replace(solution, status=Status.ERROR, message=text)
    if outcome.status in (Status.OPTIMAL, Status.FEASIBLE) and (at_end := ends.held(question, x)):
        if runaway := _runaway(asked, x, objective):
            text = f"{runaway} reaches the end of its search, up to which {asked.words.partition(';')[0]} improves"
            gone = Outcome(Status.UNBOUNDED, x, certificate=text, solver=outcome.solver, runaway=runaway)
            # ends of a search lie far above 1 or far below it
            gone = dataclasses.replace(gone, falls=x[runaway] < 1.0)
            return without_design(question, gone)
        text = f"{solution.certificate}; {at_end} {ends.NOT_ASKED}"
        return dataclasses.replace(solution, status=Status.FEASIBLE, bound=None, gap=None, certificate=text)
    return as_closed(question, solution, closed=solution.gap is not None and solution.gap <= question.gap)


def _runaway(asked: Asked, x: Mapping[str, float], objective: float | None) -> str:
    """Name a variable along which the measure improves as far as the search goes; empty where none is proved to."""
    question = asked.worlds.nominal
    if objective is None:
        return ""
    for name, worlds in ends.short_of(asked.worlds, x):
        if not asked.promised and ends.ended_by_limits(asked.worlds, x, name):
            continue
        best = found_by(dataclasses.replace(asked, worlds=worlds).wanted, tied=False).outcome
        if best.bound is not None and question.sign * (best.bound - objective) > question.gap * abs(
            objective
        ):
            return name
    return ""


def weighing(measure: Measure) -> Measured:
    """Return how a measure is worked out over worlds."""
    if measure.kind == "quantile":
        return Quantile(measure.level or 0.0)
    if measure.kind == "cvar":
        return cvar(measure.level or 0.0)
    return MEAN if measure.kind == "mean" else WORST


def measured_value(worlds: Worlds, name: str, values: Array, *, large_are_good: bool) -> float:
    """Return the measure of a metric that stands for one."""
    counted = np.broadcast_to(values, (worlds.size,))[: worlds.measured]
    return float(weighing(worlds.nominal.measures[name]).value(counted, maximize=large_are_good))


def _tails(worlds: Worlds, v: Array) -> tuple[float, float]:
    """Where nine tenths of the samples lie; of the worlds of a box all."""
    low, high = TAILS if worlds.word == SAMPLE else (0.0, 1.0)
    return quantile(v, low), quantile(v, high)


def _state(worlds: Worlds, key: RowKey, at: Judged, x: dict[str, float], found: Found) -> LimitState:
    """A limit in the world that comes nearest to breaking it, and the share of worlds in which it binds."""
    ratio = at.counted(key, found.left_out)
    i = int(np.nan_to_num(ratio, nan=np.inf).argmax())
    slack = 1.0 - float(ratio[i])
    share = float((np.abs(1.0 - ratio) <= BINDS).mean())
    elasticity, one_sided = found.elasticities.get(key, (None, False))
    if share == 0 and elasticity is not None:
        elasticity = 0.0
    question = worlds.nominal
    if key.side == "model":
        return LimitState(float(ratio[i]), 1.0, "max", "", slack, share > 0, share=share)
    given = worlds.at(i).given.get(key.name, math.nan)
    value = float(at.metrics[key.name][i]) if key.name in at.metrics else float(x.get(key.name, given))
    cap = next((c for c in worlds.caps if c.key == key), None)
    bound = bound_of(worlds.at(i), key) if cap is None else cap.end
    if cap is not None:
        value = float(cap.level(at.metrics[key.name][: worlds.measured]))
    elif key.name in question.measures:
        # a quantile is a limit that may fail, and its value is that of no sample
        value = measured_value(worlds, key.name, at.metrics[key.name], large_are_good=key.side == "min")
        slack = (bound - value if key.side == "max" else value - bound) / (abs(bound) or 1.0)
    unit = evaluation.quantity(question.model, key.name).unit
    return LimitState(
        value,
        float(bound),
        key.side,
        unit,
        slack,
        share > 0,
        elasticity,
        one_sided and share > 0,
        share=share,
    )


def _certificate(worlds: Worlds, found: Found) -> str:
    """Say what proves the answer, and that every world was judged."""
    count = worlds.words
    needed = sorted({i for places in found.needed.values() for i in places})
    text = found.outcome.certificate
    if found.cuts > 1:
        text += f"; {found.cuts} cuts of the measure"
    if needed:
        text += f"; limits of {len(needed)} of {plural(worlds.size, 'sample')} were needed"
    text += f"; evaluated in plain floats in {count}"
    limited = worlds.nominal.limits or worlds.caps
    if found.unweighed and not found.elasticities and worlds.nominal.objectives and limited:
        text += f"; no sensitivities: {found.unweighed}"
    return text


def _where(worlds: Worlds, key: RowKey, i: int) -> str:
    """Say where a limit is broken: in which world most, or, of a limit on a measure, over all of them."""
    if all(c.key != key for c in worlds.caps):
        return f"{key.name} is broken most in {worlds.word} {i}"
    measure = worlds.nominal.measures.get(key.name)
    of = "taken" if measure is None else uncertain_words.named(measure)
    return f"{key.name}, {of} over all {worlds.words}, is broken"


def _broken(asked: Asked, solution: Solution, ratios: Mapping[RowKey, Array]) -> Solution:
    """Nothing was decided, and a limit is broken in some world."""
    worlds, question = asked.worlds, asked.worlds.nominal
    broken = {k: int(r.argmax()) for k, r in ratios.items() if not float(r.max()) <= 1 + HOLDS}
    own = {m.name for m in question.model.limits}
    would = {
        k.name: float(ratios[k][i]) if k.name in own else solution.limits[evaluation.label(k, ratios)].value
        for k, i in broken.items()
    }
    # of what may fail the value that does is not that of the worst sample
    told = explained(robust_conflicts.why(asked.wanted)) if asked.promised else None
    text = "; ".join(_where(worlds, k, i) for k, i in broken.items())
    return dataclasses.replace(
        solution,
        status=Status.INFEASIBLE,
        # where several are broken no value of one of them would do
        conflict=(would if len(would) == 1 else dict.fromkeys(would))
        if told is None
        else told.feasible_values,
        conflicts=tuple((n,) for n in would) if told is None else told.minimal,
        certificate=f"evaluated; {text}",
    )
