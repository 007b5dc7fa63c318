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

import numpy as np

from dse.models.arithmetic import CannotTake
from formulations import evaluation
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.problem import Kind, formulate
from formulations.tolerances import HOLDS
from formulations.uncertainty import robust
from formulations.uncertainty.measures import WORST, Measured, Quantile, Weighing
from formulations.uncertainty.worlds import Worlds, judged, of_values
from results.solution import Status
from results.telling import estimates
from scenarios.question import Decision, Objective, Question, combinations
from scenarios.uncertainty.drawing import draw
from scenarios.uncertainty.promises import Promise, promises
from solvers import designs
from solvers.robust import chance_scan
from solvers.robust.boxes import box_tree, robust_boxes
from solvers.robust.boxes.box_lines import Wanted
from solvers.robust.masters import robust_geometric
from solvers.robust.masters.robust_geometric import DISCRETE, Found
from solvers.robust.promises import chance
from solvers.robust.promises.chance import Chance

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


def found(worlds: Worlds, measure: Measured, asked: Sequence[Counted], kept: frozenset[str] | None) -> Found:
    """Find the best design; ``asked``: each promise with the number of samples in which it may fail.

    ``kept``: names of the limits that count (None: all). Raises Undecided where no method here takes it.
    """
    chances = _chances(worlds, measure, asked)
    if chance_scan.few(worlds):
        return _found_from_chosen(chances, chance_scan.minimise(worlds, measure, chances, kept), DISCRETE)
    weighing = measure if isinstance(measure, Weighing) else None
    wanted = Wanted(worlds, measure, tuple(c for c in chances if c.names), kept)
    few = len(worlds.nominal.decide) <= FEW_DECIDED

    def of_samples(easily: bool) -> Found:
        return _found_from_chosen(
            chances, chance.minimise(robust.posed(worlds), chances, weighing, kept, easily=easily)
        )

    try:
        solved = of_samples(few)
    except chance.Hard:
        solved = robust_boxes.minimise(wanted)
        if not solved.closed(worlds.nominal):
            solved = robust_boxes.better(wanted, solved, of_samples(False))
    except (NotPosynomial, CannotTake) as refusal:
        try:
            return robust_boxes.minimise(wanted)
        except (NotPosynomial, CannotTake) as other:
            raise Undecided(_undecided(worlds, measure, asked, f"{refusal}; {other}")) from None
    if kept is not None or solved.outcome.x is None or not worlds.nominal.objectives:
        return solved
    if isinstance(measure, Quantile):
        return replace(solved, unweighed="which samples lie above the level changes with a limit")
    if len({n for c in chances for n in c.names}) < sum(len(c.names) for c in chances):
        return replace(solved, unweighed="a limit stands in two probabilities")
    return _settled_and_weighed(robust.posed(worlds), measure, solved)


def _undecided(worlds: Worlds, measure: Measured, asked: Sequence[Counted], why: str) -> str:
    """Say what of a question no method here takes, and what would be possible."""
    what = [f"limits.{' and '.join(p.names)} with a probability" for p, _ in asked]
    if isinstance(measure, Quantile):
        what.append(f"the quantile of {worlds.nominal.objectives[0].name}")
    decided = ", ".join(d.name for d in worlds.nominal.decide)
    return (
        f"{' and '.join(what)}, decided now over {decided}, is not treated here ({why}); possible are whole numbers or "
        f"listed values for what is decided ({designs.TRIED_TOGETHER} combinations at most), limits that hold in every "
        "sample, and a mean, CVaR or worst case as the measure"
    )


def _found_from_chosen(chances: Sequence[Chance], chosen: chance.Chosen, unweighed: str = "") -> Found:
    left_out: dict[str, frozenset[int]] = {}
    for c, out in zip(chances, chosen.left_out, strict=False):
        for name in c.names:
            left_out[name] = left_out.get(name, frozenset()) | out
    return Found(chosen.outcome, left_out=left_out, unweighed=unweighed)


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


def failing(worlds: Worlds, asked: Sequence[Counted]) -> dict[str, frozenset[int]]:
    """Return, where nothing is decided, of each limit the worlds in which it fails, if they are no more than may."""
    if not asked:
        return {}
    at = judged(worlds, {})
    found: dict[str, frozenset[int]] = {}
    for promise, most in asked:
        ratios = [r for k, r in at.ratios.items() if k.name in promise.names]
        fails = ~np.all([r <= 1.0 + HOLDS for r in ratios], axis=0)
        if np.count_nonzero(fails) <= most:
            out = frozenset(np.flatnonzero(fails).tolist())
            found |= {n: found.get(n, frozenset()) | out for n in promise.names}
    return found


def least_limit(worlds: Worlds, asked: Sequence[Counted], name: str, kept: frozenset[str]) -> float | None:
    """Return the least factor by which a limit would have to give so that the other ``kept`` ones leave a design."""
    chances = _chances(worlds, WORST, asked)
    if chance_scan.few(worlds):
        return chance_scan.least_limit(worlds, chances, name, kept)
    try:
        return chance.least_limit(robust.posed(worlds), chances, name, kept)
    except (NotPosynomial, CannotTake):
        return _least_quantile(worlds, chances, name, kept)


def _least_quantile(
    worlds: Worlds, chances: Sequence[Chance], name: str, kept: frozenset[str]
) -> float | None:
    """Return that factor where no geometric program tells it: from the least level that only so many worlds exceed."""
    own = [c for c in chances if name in c.names]
    limit = next((x for x in worlds.nominal.limits if x.name == name), None)
    end = None if limit is None else limit.maximum if limit.minimum is None else limit.minimum
    if limit is None or end is None or len(own) > 1 or any(len(c.names) > 1 for c in own):
        return None
    goal = (Objective(name, maximize=limit.maximum is None),)
    nominal, every = (replace(q, objectives=goal) for q in (worlds.nominal, worlds.every))
    level = 1.0 - sum(c.may_fail for c in own) / worlds.measured
    rest = tuple(c for c in chances if c.names and c not in own)
    wanted = Wanted(replace(worlds, nominal=nominal, every=every), Quantile(level), rest, kept - {name})
    found = robust_boxes.minimise(wanted)
    if not found.closed(nominal) or found.outcome.x is None:
        return None
    value = float(box_tree.statistics(wanted, found.outcome.x)[1][0])
    return value / end if limit.minimum is None else end / value


def _chances(worlds: Worlds, measure: Measured, asked: Sequence[Counted]) -> list[Chance]:
    chances = [Chance(p.names, k) for p, k in asked]
    if isinstance(measure, Quantile) and worlds.nominal.objectives:
        chances.append(Chance((), estimates.plainly(worlds.measured, measure.level)))
    return chances


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
