"""One design for many worlds, whatever the equations: branch and bound over boxes of few decided numbers.

For what no geometric or linear program takes: power that may pass its limit in some worlds, a limit on the mean of a
ratio of sums, the greatest mean of one, a CVaR beside a probability. Each box of designs is bounded in all worlds at
once (``solvers.robust.boxes.box_lines``), shrunk to what its lines leave, and halved where its numbers move most
(``box_tree`` beside it). Designs come from the centres of boxes and from a local search over what the limits come to in
all worlds. Work is counted in boxes times worlds: where it ends, the answer is ``feasible`` with the bound reached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dse.quantities import plural
from formulations.tolerances import TIE
from formulations.uncertainty.wanted import Wanted, left_out, reached
from results.solution import Status
from solvers.judgement import as_proved, relative_gap
from solvers.outcome import Outcome
from solvers.robust.boxes import box_lines, first_order
from solvers.robust.boxes.box_tree import Tree
from solvers.robust.masters import ends
from solvers.robust.masters.robust_geometric import Found
from solvers.work import metrics

WORK = 1_000_000
"""Boxes times worlds that are bounded: some five seconds."""
FEW_METRICS = 14
"""Numbers that are computed of a design where boxes take no longer than this."""
SOLVER, SEARCH = "dse branch and bound over boxes", "dse local search over samples"
UNTIED = "one of the equally good designs is reported"


def minimise(wanted: Wanted, work: int = WORK, known: Mapping[str, float] | None = None) -> Found:
    """Find the best design of one to few decided numbers, with a bound; see ``Wanted``.

    ``optimal`` where the gap asked for is reached, else ``feasible`` with the bound; ``infeasible`` where no part of
    the box can hold the limits. ``known``: a design to begin with.
    Raises CannotTake where an equation is none for slopes.
    """
    if wanted.effort is None:
        tree = Tree(wanted, work)
        tree.run(known)
        return _found_in_tree(wanted, tree)
    # a box of many equations takes so much longer
    each = max(metrics(wanted.worlds.nominal) / FEW_METRICS, 1.0)
    tree = Tree(wanted, min(work, max(int(wanted.effort.left / each), 0)))
    tree.run(known)
    wanted.effort.left -= int(tree.done * each)
    return _found_in_tree(wanted, tree)


def searched(wanted: Wanted, why: str) -> Found:
    """Search for the best design without proof, where equations are none for slopes; ``why``: what refuses them."""
    tree = Tree(wanted, 0)
    tree.look(tree.where.low, tree.where.high)
    if tree.best_x is None:
        message = f"no method finds one design for all {wanted.worlds.plural} here: {why}"
        return Found(Outcome(Status.ERROR, message=message, solver=SEARCH))
    x = dict(zip(tree.where.names, map(float, tree.best_x), strict=True))
    text = f"searched without proof, every design evaluated in every {wanted.worlds.word}; no proof: {why}"
    outcome = Outcome(Status.FEASIBLE, x, certificate=text, solver=SEARCH)
    return Found(outcome, left_out=left_out(wanted, x), unweighed="the design is not proved best")


def better(wanted: Wanted, one: Found, other: Found) -> Found:
    """Of two things found, return the better design with the tighter bound, or the proof that there is none."""
    there = [f for f in (one, other) if f.outcome.x is not None]
    if not there:
        return next((f for f in (one, other) if f.outcome.status is Status.INFEASIBLE), one)
    if not wanted.aims:
        return there[0]
    sign = wanted.sign
    best = there[0] if as_good(wanted, there[0], there[-1]) else there[-1]
    bounds = [f.outcome.bound for f in (one, other) if f.outcome.bound is not None]
    bound = _allowed(wanted, best.outcome.x, sign * max((sign * b for b in bounds), default=np.nan))
    text = best.outcome.certificate
    if bounds and bound != best.outcome.bound:
        text += (
            f"; the bound is another: {next(f for f in (one, other) if f is not best).outcome.certificate}"
        )
    status = as_proved(wanted.worlds.nominal, _value_of_found(wanted, best), bound)
    outcome = replace(best.outcome, status=status, bound=float(bound) if bounds else None, certificate=text)
    return replace(best, outcome=outcome)


def _allowed(wanted: Wanted, x: Mapping[str, float] | None, bound: float) -> float:
    """Return a bound that is not beyond a design which misses a limit by less than the tolerance.

    Bounds are of designs that miss none; near the least budget the slip of a limit moves the objective far more.
    """
    assert x is not None, "there is a design"
    found = reached(wanted, x)
    if not found.over()[0] > 0.0:
        return bound
    return wanted.sign * float(np.minimum(wanted.sign * bound, wanted.sign * found.goal[0]))


def as_good(wanted: Wanted, one: Found, other: Found) -> bool:
    """Whether one design found is as good as another."""
    value, least = (wanted.sign * _value_of_found(wanted, f) for f in (one, other))
    return value <= least + TIE * abs(least)


def _value_of_found(wanted: Wanted, found: Found) -> float:
    x = found.outcome.x
    assert x is not None, "there is a design"
    return float(reached(wanted, x).goal[0])


def _found_in_tree(wanted: Wanted, tree: Tree) -> Found:
    nominal = wanted.worlds.nominal
    worlds = wanted.worlds
    text = "branch and bound over boxes of designs, each bounded by interval slopes in every"
    text += f" {worlds.word}; {plural(tree.boxes, 'box')}"
    text = may_fail_words(wanted) + text
    if tree.best_x is None:
        if not tree.open:
            return Found(
                Outcome(
                    Status.INFEASIBLE,
                    certificate=f"no part of the box of designs can meet all limits: {text}",
                    solver=SOLVER,
                )
            )
        message = f"neither a design nor a proof that there is none: {text}"
        bound = box_lines.objective_at(wanted, tree.bound) if np.isfinite(tree.beaten) else None
        return Found(Outcome(Status.ERROR, bound=bound, message=message, solver=SOLVER))
    x = dict(zip(tree.where.names, map(float, tree.best_x), strict=True))
    fails = left_out(wanted, x)
    if not wanted.aims:
        return Found(
            Outcome(Status.FEASIBLE, x, certificate="a design that meets all limits", solver=SOLVER),
            left_out=fails,
        )
    least, ended = box_lines.objective_at(wanted, tree.bound), ends.held(nominal, x)
    bound = _allowed(wanted, x, least) if np.isfinite(least) and not ended else None
    gap = np.inf if bound is None else float(relative_gap(box_lines.objective_at(wanted, tree.best), bound))
    status = Status.OPTIMAL if gap <= nominal.gap else Status.FEASIBLE
    if status is Status.FEASIBLE and not ended:
        spent = f"the {tree.most:g} boxes times {worlds.plural} that a search may take"
        why = spent if tree.done >= tree.most else "boxes too small to be halved"
        why = "designs of another choice, which are better," if tree.bound >= tree.beaten else why
        text = (
            f"{text}; {why} left a gap of {gap:.1e}" if np.isfinite(gap) else f"{text}; {why} left no bound"
        )
    return Found(Outcome(status, x, bound, f"{text}; {UNTIED}", SOLVER), left_out=fails)


def may_fail_words(wanted: Wanted) -> str:
    """Say what may fail in how many worlds, before what proves the best; empty where nothing may."""
    names = [f"{' and '.join(c.names)} may fail in {c.may_fail}" for c in wanted.chances]
    return f"of {wanted.worlds.words} {', '.join(names)}; " if names else ""


def weighed(wanted: Wanted, found: Found) -> Found:
    """Return a design that is proved best with what its limits are worth, or with why that is not known."""
    outcome = found.outcome
    if outcome.status is not Status.OPTIMAL or outcome.x is None:
        return replace(found, unweighed="the design is not proved best")
    elasticities, why = first_order.elasticities(wanted, outcome.x, found.left_out)
    if not elasticities:
        return replace(found, unweighed=why)
    said = first_order.SAID + (first_order.LEFT if wanted.chances else "")
    return replace(
        found,
        elasticities=elasticities,
        outcome=replace(outcome, certificate=f"{outcome.certificate}; {said}"),
    )
