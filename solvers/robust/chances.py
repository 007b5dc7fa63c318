"""What may fail in how many samples: limits with a probability, and the quantile of an objective.

``probability = 0.95`` is meant in the world. A design that fails in 5 % of the samples it was chosen on fails in more
of the world, since it was chosen to fail just there. So the number of samples that may fail is the one that keeps the
probability with a confidence (``results.telling.estimates.may_fail``); with ``confidence = 0`` it is the plain
share.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

from dse.models.arithmetic import CannotTake
from formulations import evaluation
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.problem import Kind, formulate
from formulations.uncertainty import robust
from formulations.uncertainty.measures import Quantile, Weighing
from formulations.uncertainty.wanted import Wanted
from formulations.uncertainty.worlds import of_values
from results.solution import Status
from results.telling import estimates
from scenarios.question import Decision, Question, combinations
from scenarios.uncertainty.drawing import draw
from scenarios.uncertainty.promises import Promise, promises
from solvers import designs
from solvers.robust.boxes import robust_boxes
from solvers.robust.masters import robust_geometric
from solvers.robust.masters.robust_geometric import Found
from solvers.robust.promises import chance

MOST_NAMES = 64
FEW_DECIDED = 3
"""Decided quantities up to which boxes of designs are faster than sets of samples, unless these are few."""
FEW_SAMPLES = 16
"""Samples that tell whether an objective is the same in all of them."""
UNPROVED = (
    "the confidence is proved only for one probability and an objective that is the same in every sample; here it is "
    "estimated by fresh samples"
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
    promise, and an objective that is the same in every sample.
    """
    found = promises(question)
    real, _, values = _sizes_of_decisions(question)
    if not question.decide or (not real and (len(values) != 1 or not _convex(question))):
        return True
    if len(found) > 1:
        return False
    if not question.objectives:
        return True
    assert question.uncertain is not None, "only what is uncertain has samples"
    some = draw(question.uncertain, FEW_SAMPLES, method="random")
    try:
        goals = [
            robust.posed(of_values(q, some)).goal
            for _, q in combinations(replace(question, uncertain=None, measure=None))
        ]
    except (NotPosynomial, CannotTake):
        return False
    return all(g is not None and robust.certain(g.numerator) and robust.certain(g.denominator) for g in goals)


def _count_of_values(question: Question, d: Decision) -> int:
    box = evaluation.box(question, d.name)
    low = max(box.low, d.minimum or 0.0, 1.0)
    high = box.high if d.maximum is None else min(box.high, d.maximum)
    return max(math.floor(high) - math.ceil(low) + 1, 1)


def found(wanted: Wanted) -> Found:
    """Find the best design where limits may fail or a quantile is asked for.

    Raises Undecided where no method here takes it.
    """
    worlds = wanted.worlds
    few = len(worlds.nominal.decide) <= FEW_DECIDED
    try:
        solved = chance.minimise(wanted, easily=few)
    except chance.Hard:
        solved = robust_boxes.minimise(wanted)
        if not solved.closed(worlds.nominal):
            solved = robust_boxes.better(wanted, solved, chance.minimise(wanted))
    except (NotPosynomial, CannotTake) as refusal:
        try:
            return robust_boxes.minimise(wanted)
        except (NotPosynomial, CannotTake) as other:
            raise Undecided(_undecided(wanted, f"{refusal}; {other}")) from None
    if wanted.kept is not None or solved.outcome.x is None or not worlds.nominal.objectives:
        return solved
    if isinstance(wanted.measure, Quantile):
        return replace(solved, unweighed="which samples lie above the level changes with a limit")
    if len({n for c in wanted.chances for n in c.names}) < sum(len(c.names) for c in wanted.chances):
        return replace(solved, unweighed="a limit stands in two probabilities")
    return _settled_and_weighed(robust.posed(worlds), wanted.measure, solved)


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


def _settled_and_weighed(asked: robust.Posed, measure: Weighing, found: Found) -> Found:
    """Settle ties and say what limits are worth, with the samples that fail left as they are.

    Relaxing a limit buys at least as much as it does for these samples, since others may then be left out.
    """
    outcome = found.outcome
    try:
        again = robust_geometric.minimise(asked, measure, left_out=found.left_out)
    except (NotPosynomial, CannotTake) as refusal:
        return replace(found, unweighed=str(refusal))
    other = again.outcome
    if other.status is not Status.OPTIMAL or other.x is None or other.bound is None:
        return replace(found, unweighed=robust_geometric.UNKNOWN)
    words = f"{outcome.certificate}; ties and sensitivities are for a fixed set of failing samples"
    elasticities = {key: (value, True) for key, (value, _) in again.elasticities.items()}
    return replace(
        found,
        outcome=replace(outcome, x=other.x, certificate=words),
        elasticities=elasticities,
        ranges=again.ranges,
        unweighed=again.unweighed,
    )


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
