"""What may fail in how many samples: limits with a probability, and the quantile of an objective.

``probability = 0.95`` is meant in the world. A design that fails in 5 % of the samples it was chosen on fails in more
of the world, since it was chosen to fail just there. So the number of samples that may fail is the one that keeps the
probability with a confidence (``results.telling.estimates.may_fail``); with ``confidence = 0`` it is the plain
share.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dse.models.arithmetic import CannotTake
from formulations import evaluation
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.problem import Kind, formulate
from formulations.programs.program import is_linear
from formulations.uncertainty import robust
from formulations.uncertainty.measures import Quantile, Weighing, WorstAmong
from formulations.uncertainty.wanted import Wanted, left_out, missed
from formulations.uncertainty.worlds import Array, judged, of_values
from results.solution import Status
from results.telling import estimates
from scenarios.question import Decision, Question, combinations
from scenarios.uncertainty.drawing import draw
from scenarios.uncertainty.promises import Promise, promises
from solvers import designs, side_by_side
from solvers.robust.boxes import robust_boxes
from solvers.robust.masters import robust_geometric
from solvers.robust.masters.master import middle_design
from solvers.robust.masters.robust_geometric import Found

MOST_NAMES = 64
FEW_DECIDED = 2
"""Decided real numbers up to which boxes need no more time than sets of samples do."""
TRIES = 4
"""Sets of samples that are left out in turn, each what the best design of the one before misses most."""
FEW_SAMPLES = 16
"""Samples that tell whether an objective is the same in all of them."""
UNPROVED = (
    "the confidence is proved only for one probability, convex limits and an objective that is the same in every "
    "sample; here it is estimated by fresh samples"
)


Counted = tuple[Promise, int]
"""A promise with the number of samples in which it may fail."""


class Undecided(CannotTake):
    """No method here takes a question; the message says what of it, and what would be possible."""


class TooFew(ValueError):
    """There are fewer samples than a probability needs; the message says how many."""


def counted(question: Question, size: int) -> tuple[Counted, ...]:
    """Return what is promised with the number of ``size`` samples in which it may fail; raises TooFew."""
    return tuple((p, may_fail(question, p, size)) for p in promises(question))


def may_fail(question: Question, promise: Promise, size: int) -> int:
    """Return in how many of ``size`` samples these limits may fail.

    The decided real numbers count as Campi and Garatti have it. One decided number of discrete values beside d real
    ones makes 2 (d + 1) - 1 of them (the Helly number of such a set: Averkov and Weismantel, *Transversal numbers over
    subsets of linear spaces*, Adv. Geom. 12, 2012; Calafiore, *Random convex programs*, SIAM J. Optim. 20, 2010, has
    the count for it) where all limits and the objective are convex, more of them as many programs as they have
    combinations; whichever lets more fail. So do names.
    Raises TooFew where there are fewer samples than even none of which may fail.
    """
    p, sure = promise.probability, promise.confidence
    if sure <= 0.0:
        if size < estimates.samples_needed(p, 1, 0.0):
            raise TooFew(_few(promise, size, estimates.samples_needed(p, 1, 0.0)))
        return estimates.plainly(size, p)
    real, names, values = _sizes_of_decisions(question)
    ways = [(real, names * math.prod(values))]
    if len(values) == 1 and _convex(question):
        ways.append((2 * (real + 1) - 1, names))
    found = [estimates.may_fail(size, p, d, sure, choices) for d, choices in ways]
    best = max((k for k in found if k is not None), default=None)
    if best is None:
        needed = min(estimates.samples_needed(p, d, sure, choices) for d, choices in ways)
        raise TooFew(_few(promise, size, needed))
    return best


def _few(promise: Promise, size: int, needed: int) -> str:
    what = " and ".join(promise.names)
    sure = f" with {100 * promise.confidence:g} % confidence" if promise.confidence else ""
    at = f"at limits.{promise.key}.probability = {promise.probability:g}"
    wanted = f"{what} holds with probability {promise.probability:g}{sure}"
    text = f"{at} {size} samples are too few to decide whether {wanted}"
    return (
        f"{text}: that takes {needed} at least; write samples = {needed} or more under [uncertain.sampling]"
    )


def _sizes_of_decisions(question: Question) -> tuple[int, int, list[int]]:
    """Return how many real numbers are decided, how many combinations of names, and how many values the others have."""
    real, names, values = 0, 1, []
    for d in question.decide:
        if d.choices is not None:
            names *= len(d.choices)
        elif d.values is not None:
            values.append(len(d.values))
        elif d.integer:
            values.append(_count_of_values(question, d))
        else:
            real += 1
    return real, names, values


def _convex(question: Question) -> bool:
    """Tell whether a question is a geometric program but for whole numbers and listed values, whatever is chosen."""
    alone = replace(question, uncertain=None, measure=None)
    try:
        problems = [formulate(q) for _, q in itertools.islice(combinations(alone), MOST_NAMES + 1)]
    except (NotPosynomial, CannotTake):
        return False
    return len(problems) <= MOST_NAMES and all(
        p.kind in (Kind.GP, Kind.MIGP) and not p.cases for p in problems
    )


def covered(question: Question) -> bool:
    """Tell whether what is counted is proved to keep its confidence.

    Each of finitely many designs may be looked at by itself, whatever it was chosen by. Else the theorem is for one
    promise, limits and an objective that are convex in logarithms, and an objective that is the same in every sample.
    """
    found = promises(question)
    real, _, values = _sizes_of_decisions(question)
    if not question.decide or (not real and (len(values) != 1 or not _convex(question))):
        return True
    if len(found) > 1:
        return False
    assert question.uncertain is not None, "only what is uncertain has samples"
    some = draw(question.uncertain, FEW_SAMPLES, method="random")
    try:
        posed = [
            robust.posed(of_values(q, some))
            for _, q in combinations(replace(question, uncertain=None, measure=None))
        ]
    except (NotPosynomial, CannotTake):
        return not question.objectives and is_linear(question)
    goals = [p.goal for p in posed if p.goal is not None]
    convex = all(r.denominator.is_monomial for p in posed for r in p.rows)
    convex &= all(robust.folded(g) is not None for g in goals)
    return convex and all(robust.certain(g.numerator) and robust.certain(g.denominator) for g in goals)


def _count_of_values(question: Question, d: Decision) -> int:
    box = evaluation.box(question, d.name)
    low = max(box.low, d.minimum or 0.0, 1.0)
    high = box.high if d.maximum is None else min(box.high, d.maximum)
    return max(math.floor(high) - math.ceil(low) + 1, 1)


def found(wanted: Wanted, *, tied: bool) -> Found:
    """Find the best design where limits may fail or a quantile is asked for; ``tied``: settle ties.

    With the samples that fail left out a question is one like any other, whose masters find a design. That no other
    samples make a better one is proved by sets of samples, one of which must hold, or by boxes of designs.
    Raises Undecided where equations are not for boxes.
    """
    real, _, others = _sizes_of_decisions(wanted.worlds.nominal)
    known, quantile = None, isinstance(wanted.measure, Quantile)
    by_sets = not others and real > (0 if quantile else FEW_DECIDED)
    if not quantile or (by_sets and _convex(wanted.worlds.nominal)):
        known = _failures_left_out(wanted, None, tied=tied)
    if known is not None and by_sets:
        known = robust_boxes.better(wanted, known, _one_set_must_hold(wanted, known))
        if known.outcome.status is Status.OPTIMAL:
            return known
    try:
        solved = robust_boxes.minimise(wanted, known=None if known is None else known.outcome.x)
    except (NotPosynomial, CannotTake) as refusal:
        raise Undecided(_undecided(wanted, str(refusal))) from None
    x = solved.outcome.x
    settled = not tied and solved.outcome.status is Status.OPTIMAL
    if x is not None and not settled and (known is None or not robust_boxes.as_good(wanted, known, solved)):
        known = _failures_left_out(wanted, x, tied=tied)
    return solved if known is None else robust_boxes.better(wanted, known, solved)


def _undecided(wanted: Wanted, why: str) -> str:
    """Say what of a question no method here takes, and what would be possible."""
    nominal = wanted.worlds.nominal
    what = [f"limits.{' and '.join(c.names)} with a probability" for c in wanted.chances]
    if isinstance(wanted.measure, Quantile):
        what.append(f"the quantile of {nominal.objectives[0].name}")
    decided = ", ".join(d.name for d in nominal.decide)
    return (
        f"{' and '.join(what)}, decided now over {decided}, is not treated here ({why}); possible are whole numbers or "
        f"listed values for what is decided ({designs.TRIED_TOGETHER} combinations at most), limits that hold in every "
        "sample, and a mean, CVaR or worst case as the measure"
    )


def _failures_left_out(wanted: Wanted, x: Mapping[str, float] | None, *, tied: bool) -> Found | None:
    """Find the best design without the samples missed most at ``x`` (None: any); None where masters find none.

    What limits are worth is then for these samples: relaxing one buys at least as much, since others may fail then.
    """
    names = [n for c in wanted.chances for n in c.names]
    several, goals = len(set(names)) < len(names), wanted.worlds.nominal.objectives
    if not goals or several:
        return None
    level = isinstance(wanted.measure, Quantile)
    best, before = None, None
    try:
        asked = robust.kept(robust.posed(wanted.worlds), wanted.kept)
        x = middle_design(asked) if x is None else x
        for _ in range(TRIES):
            out, measure = left_out(wanted, x, all_that_may=True), _without_exceptions(wanted, x)
            if (out, measure) == before:
                break
            before = out, measure
            again = robust_geometric.minimise(asked, measure, tied=tied and not level, left_out=out)
            if again.outcome.x is None or (best is not None and robust_boxes.as_good(wanted, best, again)):
                break
            best, x = again, again.outcome.x
    except (NotPosynomial, CannotTake):
        return None
    if best is None:
        return None
    words = "ties and sensitivities are for a fixed set of failing samples"
    if level:
        words = f"the design is best for the samples that lie within the level there; {robust_boxes.UNTIED}"
    weights = {key: (value, True) for key, (value, _) in best.elasticities.items()}
    outcome = replace(best.outcome, bound=None, certificate=words)
    return replace(best, outcome=outcome, elasticities=weights, left_out=left_out(wanted, x))


def _losses(wanted: Wanted, x: Mapping[str, float]) -> Array:
    """Return what a design comes to in each world that is measured, the greater the worse."""
    objective = judged(wanted.worlds, x).objective
    assert objective is not None, "only an objective has a measure"
    return np.asarray(np.nan_to_num(wanted.sign * objective, nan=np.inf))


def _without_exceptions(wanted: Wanted, x: Mapping[str, float]) -> Weighing:
    """The measure as masters take it: of a quantile the worst of the samples that lie within its level at ``x``."""
    if not isinstance(wanted.measure, Quantile):
        return wanted.measure
    order = _losses(wanted, x).argsort(kind="stable")
    return WorstAmong(0.0, tuple(sorted(order[: wanted.measure.place(order.size) + 1].tolist())))


def _one_set_must_hold(wanted: Wanted, known: Found) -> Found:
    """Bound the question: of samples of which k may fail, dealt into k + 1 sets, one set holds as a whole.

    So no design is better than the least of the optima for one set each. Samples are dealt there and back in the order
    in which they are missed, so that sets are alike. Of a quantile as many samples may lie beyond the level: of some
    set none does.
    """
    worlds, x = wanted.worlds, known.outcome.x
    assert x is not None, "masters found it"
    asked, every = robust.kept(robust.posed(worlds), wanted.kept), frozenset(range(worlds.size))
    nothing = {n: every for c in wanted.chances for n in c.names}
    solve = partial(robust_geometric.minimise, asked, tied=False)
    measure, bounds = wanted.measure, list[float]()
    ways: list[list[Callable[[], Found]]] = []
    if isinstance(measure, Quantile):
        losses = _losses(wanted, x)
        some = _dealt(losses, losses.size - measure.place(losses.size))
        ways.append(
            [partial(solve, WorstAmong(0.0, tuple(i.tolist())), left_out=nothing) for i in some if i.size]
        )
    else:
        for c in wanted.chances:
            some = _dealt(missed(worlds, c, x), c.may_fail + 1)
            outs = [nothing | dict.fromkeys(c.names, every - {*i.tolist()}) for i in some]
            ways.append([partial(solve, measure, left_out=out) for out in outs])
    for way in ways:
        there = [f.outcome.bound for f in side_by_side.run(way) if f.outcome.status is not Status.INFEASIBLE]
        bounds.append(min((-np.inf if b is None else wanted.sign * b for b in there), default=np.inf))
    words = "of samples dealt into one set more than may fail, one set must hold"
    return replace(known, outcome=replace(known.outcome, bound=wanted.sign * max(bounds), certificate=words))


def _dealt(order_by: Array, sets: int) -> list[NDArray[np.intp]]:
    """Deal samples into sets, there and back in the order in which they are missed."""
    order = order_by.argsort()[::-1]
    deal = np.arange(order.size) % (2 * sets)
    deal = np.minimum(deal, 2 * sets - 1 - deal)
    return [order[deal == k] for k in range(sets)]


def promise_words(asked: Sequence[Counted], size: int, *, proved: bool = True) -> str:
    """Say what is promised of the distributions, and what that comes to in the samples; ``proved``: see ``covered``."""
    words = []
    for p, k in asked:
        what = " and ".join(p.names)
        where = f", {100 * p.confidence:g} % confidence" if p.confidence else " in the samples"
        words.append(f"{what} with probability {p.probability:g}{where}: may fail in {k} of {size} samples")
    if not proved and any(p.confidence for p, _ in asked):
        words.append(UNPROVED)
    return "; ".join(words)
