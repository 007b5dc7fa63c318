"""What may fail in how many samples: limits with a probability, and the quantile of an objective.

``probability = 0.95`` is meant in the world. A design that fails in 5 % of the samples it was chosen on fails in more
of the world, since it was chosen to fail just there. So the number of samples that may fail is the one that keeps the
probability with a confidence (``results.telling.estimates.may_fail``); with ``confidence = 0`` it is the plain
share.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.quantities import level_text
from formulations import evaluation
from formulations.arithmetics.maxima import UP
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.problem import Kind, formulate
from formulations.programs.program import is_linear
from formulations.uncertainty import robust, world_cuts
from formulations.uncertainty.measures import Quantile
from formulations.uncertainty.wanted import Wanted, left_out
from formulations.uncertainty.world_cuts import Point
from formulations.uncertainty.worlds import of_values
from results.solution import Status
from results.telling import estimates
from scenarios.language.errors import ScenarioError
from scenarios.question import Decision, Question, combinations
from scenarios.uncertainty.drawing import box, draw
from scenarios.uncertainty.promises import (
    Promise,
    counts_of_decisions,
    promises,
    sizes_of_decisions,
    too_few,
)
from solvers import boxes, designs
from solvers.geometric.kernel import gp
from solvers.mechanisms import conflicts
from solvers.outcome import Outcome
from solvers.robust.boxes import robust_boxes
from solvers.robust.masters import at_points, failing, levels, program_chances, robust_geometric
from solvers.robust.masters.master import EASED
from solvers.robust.masters.robust_geometric import Found
from solvers.robust.searches import each_sample

MOST_NAMES = 64
FEW_SAMPLES = 16
"""Samples that tell whether an objective is the same in all of them."""
UNPROVED = (
    "the confidence is proved only for one probability, convex limits and an objective that is the same in every "
    "sample; here it is estimated by fresh samples"
)
SETTLED = "ties and sensitivities are for a fixed set of failing samples"


Counted = tuple[Promise, int]
"""A promise with the number of samples in which it may fail."""


class Undecided(CannotTake):
    """No method here takes a question; the message says what of it, and what would be possible."""


class TooFew(ValueError):
    """There are fewer samples than a promise needs: ``key`` of the file, what is ``wrong``, and what is ``right``."""

    def __init__(self, promise: Promise, size: int, needed: int) -> None:
        self.key, (self.wrong, self.right) = promise.at, too_few(promise, size, needed)
        super().__init__(f"{self.key}: {self.wrong}; {self.right}")


def counted(question: Question, size: int, convex: bool | None = None) -> tuple[Counted, ...]:
    """Return what is promised with the number of ``size`` samples in which it may fail; raises TooFew.

    ``convex``: see ``is_convex``, where it is known.
    """
    return tuple((p, may_fail(question, p, size, convex)) for p in promises(question))


def refuse_too_few(file: str, question: Question) -> None:
    """Raise ScenarioError where a question has fewer samples than what it promises of limits takes."""
    if question.uncertain is None or not any(p.confidence for p in promises(question)):
        return
    try:
        counted(question, question.uncertain.sampling.samples)
    except TooFew as few:
        raise ScenarioError.of(file, few.key, few.wrong, few.right) from None
    except (ArithmeticError, ValueError):
        # what is wrong there the answer tells
        return


def may_fail(question: Question, promise: Promise, size: int, convex: bool | None = None) -> int:
    """Return in how many of ``size`` samples these limits may fail: the most that a way to count what is decided lets.

    Raises TooFew where there are fewer samples than a confidence needs even where none may fail.
    """
    p, sure = promise.probability, promise.confidence
    if sure <= 0.0:
        # a file's own probability has samples enough; of a quantile that asks for all samples none may fail
        return estimates.plainly(size, p)
    ways = counts_of_decisions(
        question, _greatest(question), lambda: is_convex(question) if convex is None else convex
    )
    found = [estimates.may_fail(size, p, d, sure, choices) for d, choices in ways]
    best = max((k for k in found if k is not None), default=None)
    if best is None:
        needed = min(estimates.samples_needed(p, d, sure, choices) for d, choices in ways)
        raise TooFew(promise, size, needed)
    return best


def is_convex(question: Question) -> bool:
    """Tell whether a question is a geometric program but for whole numbers and listed values, whatever is chosen.

    Maxima that only have to be small enough are convex as well. They count where the theorem then is for the question:
    where it is not, each value counted by itself has a proof.
    """
    alone = replace(question, uncertain=None, measure=None)
    try:
        problems = [formulate(q) for _, q in itertools.islice(combinations(alone), MOST_NAMES + 1)]
    except (NotPosynomial, CannotTake):
        return False
    held_down = any(v.name.endswith(UP) for p in problems for c in p.cases for v in c.variables)
    if len(problems) > MOST_NAMES or held_down or any(p.kind not in (Kind.GP, Kind.MIGP) for p in problems):
        return False
    return not any(p.cases for p in problems) or _theorem_holds(question)


def covered(question: Question) -> bool:
    """Tell whether what is counted is proved to keep its confidence.

    Each of finitely many designs may be looked at by itself, whatever it was chosen by. Else the theorem is for one
    promise, limits and an objective that are convex in logarithms, and an objective that is the same in every sample.
    """
    real, _, values = sizes_of_decisions(question)
    if not question.decide or (not real and (len(values) != 1 or not is_convex(question))):
        return True
    return _theorem_holds(question)


def _theorem_holds(question: Question) -> bool:
    """Whether there is one promise, limits and objective are convex, and the objective is the same in all samples."""
    if len(promises(question)) > 1:
        return False
    some = draw(question.uncertainty, FEW_SAMPLES, method="random")
    try:
        posed = [
            robust.posed(of_values(q, some))
            for _, q in combinations(replace(question, uncertain=None, measure=None))
        ]
    except (NotPosynomial, CannotTake):
        return not question.objectives and is_linear(question)
    goals = [p.goal for p in posed if p.goal is not None]
    convex = all(r.denominator.is_monomial for p in posed for r in p.rows)
    convex &= all(world_cuts.folded(g) is not None for g in goals)
    return convex and all(
        world_cuts.certain(g.numerator) and world_cuts.certain(g.denominator) for g in goals
    )


def _greatest(question: Question) -> Callable[[str], float]:
    """The end of a decided number; of a whole one without an end what the model's own limits leave, if they do."""
    ends = {d.name: evaluation.box(question, d.name) for d in question.decide if d.choices is None}
    endless = any(
        d.integer and d.values is None and d.maximum is None and ends[d.name].searched[1]
        for d in question.decide
        if d.choices is None
    )
    left = _left_by_model(question) if endless else {}
    return lambda name: min(ends[name].high, left.get(name, math.inf))


def _left_by_model(question: Question) -> dict[str, float]:
    """The greatest values within the model's own limits, whatever the uncertain may be; empty where that is not known.

    No sample is needed for it, so that no value beyond is one that samples choose. User's limits play no part.
    """
    ends = box(question.uncertainty)
    # a search has ends of its own for what has none, and starts above 0
    if question.machines or not all(0.0 < low <= high < math.inf for low, high in ends.values()):
        return {}
    unsure = tuple(Decision(n, float(low), float(high)) for n, (low, high) in ends.items())
    given = {n: v for n, v in question.given.items() if n not in ends}
    spare = frozenset(x.name for x in question.model.limits if x.spare)
    asked = replace(
        question, uncertain=None, measure=None, joint=None, limits=(), objectives=(),
        given=given, decide=(*question.decide, *unsure), waive=question.waive | spare,
    )  # fmt: skip
    found: dict[str, float] = {}
    try:
        every = [q for _, q in itertools.islice(combinations(asked), MOST_NAMES + 1)]
        for q in every:
            where = boxes.space(q)
            kept = boxes.tighten(q, where)
            highs = where.low if kept is None else kept[1]
            for name, high in zip(where.names, highs.tolist(), strict=True):
                found[name] = max(found.get(name, 0.0), high)
    except (ArithmeticError, ValueError, LookupError):
        return {}
    return found if len(every) <= MOST_NAMES else {}


def found(wanted: Wanted, *, tied: bool) -> Found:
    """Find the best design where limits may fail or a quantile is asked for; ``tied``: settle ties.

    By a mixed-integer program where limits are affine, or from the best design of each sample, by branch and bound over
    geometric programs where they are these, else over boxes of designs. Raises Undecided where equations are not for
    boxes.
    """
    linear, held = is_linear(wanted.worlds.nominal), None
    ways: list[Callable[[], Found | None]] = [lambda: None if wanted.eased else _by_programs(wanted)]
    if linear:
        ways = [lambda: program_chances.found(wanted, tied=tied), lambda: each_sample.minimise(wanted)]
    for way in ways:
        with contextlib.suppress(NotPosynomial, CannotTake):
            held = held or way()
    if held is not None and held.closed(wanted.worlds.nominal):
        best = held
    else:
        try:
            best = robust_boxes.minimise(wanted)
        except (NotPosynomial, CannotTake) as refusal:
            raise Undecided(_undecided(wanted, str(refusal))) from None
        best = best if held is None else robust_boxes.better(wanted, held, best)
    ties_are_left = tied and not linear and wanted.aims and best.outcome.x is not None
    return _settled(wanted, best) if ties_are_left else best


def _by_programs(wanted: Wanted) -> Found | None:
    """Find the best design by programs; None where they do not tell. Raises NotPosynomial where there are none."""
    asked = robust.kept(robust.posed(wanted.worlds), wanted.kept)
    master, chances = levels.stated(asked, wanted.measure, wanted.chances)
    if not levels.takes(master, chances):
        return None
    if asked.goal is None:
        codes, y = failing.hold_together(asked, wanted.chances, gp.solve)
        known, refuted, bound = codes == conflicts.CAN_HOLD, codes == conflicts.CANNOT_HOLD, None
        x: Point = at_points.designs(asked, y)
        status, text = Status.FEASIBLE, "a design that meets all limits"
    else:
        best = failing.best(master, chances, gp.solve, tied=False)
        known, refuted, x, bound = best.known, best.refuted, best.x, float(best.bound[0])
        status, text = Status.OPTIMAL, f"{robust_boxes.may_fail_words(wanted)}{failing.PROOF}"
    if refuted[0]:
        text = f"no design meets all limits: {robust_boxes.may_fail_words(wanted)}{failing.PROOF}"
        return Found(Outcome(Status.INFEASIBLE, certificate=text, solver=failing.SOLVER))
    design = {v.name: float(np.ravel(x[v.name])[0]) for v in asked.variables}
    told = Outcome(status, design, bound, text, failing.SOLVER)
    return Found(told, left_out=left_out(wanted, design)) if known[0] else None


def _settled(wanted: Wanted, best: Found) -> Found:
    """Settle ties, and weigh limits, without the samples that fail most at the best design.

    Relaxing a limit buys at least as much, since others may fail then. Of a level nothing is said of limits.
    """
    of_level, x = isinstance(wanted.measure, Quantile), {**(best.outcome.x or {}), EASED: 1.0}
    try:
        asked = robust.kept(robust.posed(wanted.worlds), wanted.kept)
        master, chances = levels.stated(asked, wanted.measure, wanted.chances)
        at = {n: np.array([[v]]) for n, v in x.items()}
        settled = robust_geometric.minimise_master(levels.without_failing(master, chances, at))
    except (NotPosynomial, CannotTake):
        return best
    x = {n: v for n, v in (settled.outcome.x or x).items() if n != EASED}
    outcome = replace(settled.outcome, x=x, bound=None, certificate=SETTLED)
    weights = {key: (value, True) for key, (value, _) in settled.elasticities.items() if not of_level}
    ranges = {n: ends for n, ends in settled.ranges.items() if n != EASED}
    told = replace(
        settled, outcome=outcome, elasticities=weights, ranges=ranges, left_out=left_out(wanted, x)
    )
    return robust_boxes.better(wanted, replace(told, unweighed="") if of_level else told, best)


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


def promise_words(asked: Sequence[Counted], size: int, *, proved: bool = True) -> str:
    """Say what is promised of the distributions, and what that comes to in the samples; ``proved``: see ``covered``."""
    words = []
    for p, k in asked:
        what = " and ".join(p.names)
        where = f", {level_text(p.confidence, 100)} % confidence" if p.confidence else " in the samples"
        words.append(
            f"{what} with probability {level_text(p.probability)}{where}: may fail in {k} of {size} samples"
        )
    if not proved and any(p.confidence for p, _ in asked):
        words.append(UNPROVED)
    return "; ".join(words)
