"""Which way finds one design for many worlds: the first that takes the question."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace

from dse.models.arithmetic import CannotTake
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.programs.program import is_linear
from formulations.tolerances import HOLDS
from formulations.uncertainty import robust
from formulations.uncertainty.measures import WORST, Quantile
from formulations.uncertainty.wanted import Wanted, left_out
from formulations.uncertainty.worlds import judged
from results.solution import Status
from solvers import designs
from solvers.outcome import Outcome
from solvers.robust.boxes import robust_boxes
from solvers.robust.masters import ends, robust_geometric, robust_program
from solvers.robust.masters.robust_geometric import Found
from solvers.robust.searches import chances, each_sample, robust_ratios, scan


def found_by(wanted: Wanted, *, tied: bool = True, known: Found | None = None) -> Found:
    """Find the best design; ``tied``: settle ties, and say what limits are worth; ``known``: what is found without."""
    # boxes settle no ties
    found = known if known and known.outcome.solver == robust_boxes.SOLVER else _found(wanted, tied=tied)
    told = found.elasticities or found.unweighed or not wanted.worlds.nominal.objectives
    return found if told or not tied else robust_boxes.weighed(wanted, found)


def _found(wanted: Wanted, *, tied: bool) -> Found:
    # what may fail in no sample holds in each
    wanted = replace(wanted, chances=tuple(c for c in wanted.chances if c.may_fail))
    worlds, measure, kept = wanted.worlds, wanted.measure, wanted.kept
    question = worlds.nominal
    if not question.decide:
        return _evaluated(wanted)
    if scan.few(worlds):
        return scan.minimise(wanted)
    if wanted.chances or wanted.eased is not None or isinstance(measure, Quantile):
        return chances.found(wanted, tied=tied)
    why: list[str] = []
    linear = is_linear(question)
    # of some limits of a question it is only asked whether they can hold, and at which value
    lists = [lambda: _by_list(wanted)] if kept is None else []
    ways: list[Callable[[], Found]] = (
        [
            lambda: robust_program.minimise(worlds, measure, kept=kept, weigh=tied, tied=tied),
            lambda: each_sample.minimise(wanted),
            *lists,
        ]
        if linear
        else [
            lambda: robust_geometric.minimise(robust.kept(robust.posed(worlds), kept), measure, tied=tied),
            lambda: robust_ratios.minimise(robust.kept(robust.posed(worlds), kept), measure),
            *lists,
        ]
    )
    held: Found | None = None
    for way in ways:
        try:
            held = way()
        except (NotPosynomial, CannotTake) as refusal:
            why.append(str(refusal))
            continue
        if held.closed(question):
            return held
        break
    return _by_boxes(wanted, held, why) if lists else _by_boxes_or_lists(wanted, held, why)


def _by_list(wanted: Wanted) -> Found:
    """Try all designs, which settles ties too; of many it is first asked by boxes whether there is any that holds."""
    if scan.listed(wanted).size > designs.TRIED_TOGETHER:
        with contextlib.suppress(NotPosynomial, CannotTake, OverflowError):
            found = robust_boxes.minimise(wanted)
            if found.outcome.status is Status.INFEASIBLE:
                return found
    return scan.minimise(wanted)


def _by_boxes_or_lists(wanted: Wanted, held: Found | None, why: list[str]) -> Found:
    """Search boxes, which settle no ties, and try many designs only where these do not close a question."""
    try:
        found = _by_boxes(wanted, held, why)
    except (NotPosynomial, CannotTake, OverflowError):
        return scan.minimise(wanted)
    if not found.closed(wanted.worlds.nominal):
        with contextlib.suppress(CannotTake):
            return scan.minimise(wanted)
    return found


def of_some_limits(wanted: Wanted) -> Outcome:
    """Find the best design within the limits that count; where nothing is decided, whether they hold.

    Of whole numbers without ends of the user's it is looked for near first: far ends are large numbers in rows, and a
    design beside them may break a limit by what a solver lets rows be off by. Such a design is none.
    """
    found = _held_to(wanted, found_by(wanted, tied=False))
    nominal = wanted.worlds.nominal
    near = found.status in (Status.OPTIMAL, Status.FEASIBLE) and not ends.held(nominal, found.x or {})
    if near or not ends.holds_whole(nominal):
        return found
    far = replace(wanted, worlds=ends.farther(wanted.worlds))
    return _held_to(far, found_by(far, tied=False))


def _held_to(wanted: Wanted, found: Found) -> Outcome:
    """What is found, of which a design that breaks a limit that counts is none."""
    outcome = found.outcome
    if outcome.x is None:
        return outcome
    at = judged(wanted.worlds, outcome.x)
    counted = (at.counted(k, found.left_out) for k in at.ratios if wanted.counts(k.name))
    holds = all(bool((ratio <= 1.0 + HOLDS).all()) for ratio in counted)
    if outcome.status is Status.EVALUATED:
        return replace(outcome, status=Status.OPTIMAL if holds else Status.INFEASIBLE)
    return outcome if holds else replace(outcome, status=Status.ERROR)


def _evaluated(wanted: Wanted) -> Found:
    """What is said where nothing is decided: the worlds that fail, of promises that are kept."""
    kept = [
        c
        for c in wanted.chances
        if all(len(out) <= c.may_fail for out in left_out(replace(wanted, chances=(c,)), {}).values())
    ]
    fails = left_out(replace(wanted, chances=tuple(kept)), {})
    return Found(Outcome(Status.EVALUATED, {}, certificate="evaluated; nothing was decided"), left_out=fails)


def _by_boxes(wanted: Wanted, held: Found | None, why: list[str]) -> Found:
    """Search boxes of designs where nothing else closed a question; ``held``: what is known, ``why``: refusals."""
    try:
        worst = _of_the_worst(wanted) if held is None else None
        if worst is not None and worst.outcome.status is Status.INFEASIBLE:
            return worst
        known = None if worst is None else worst.outcome.x
        found = _endless(wanted) or robust_boxes.minimise(wanted, known=known)
    except (NotPosynomial, CannotTake) as refusal:
        found = robust_boxes.searched(wanted, "; ".join(dict.fromkeys([*why, str(refusal)])))
    return found if held is None else robust_boxes.better(wanted, held, found)


def _of_the_worst(wanted: Wanted) -> Found | None:
    """The design of the best worst sample by linear programs: one to begin with, of which limits ask the same."""
    if not is_linear(wanted.worlds.nominal):
        return None
    with contextlib.suppress(NotPosynomial, CannotTake):
        return robust_program.minimise(wanted.worlds, WORST, kept=wanted.kept, weigh=False, tied=False)
    return None


def _endless(wanted: Wanted) -> Found | None:
    """What is said where exponents tell that the objective improves for ever, and some design holds the limits."""
    try:
        gone = robust_geometric.endless(robust.kept(robust.posed(wanted.worlds), wanted.kept))
    except (NotPosynomial, CannotTake):
        return None
    if gone is None:
        return None
    loose = wanted.worlds.changed(lambda q: replace(q, objectives=()))
    there = robust_boxes.minimise(replace(wanted, worlds=loose, level=None)).outcome
    if there.x is None:
        return None
    outcome = Outcome(Status.UNBOUNDED, there.x, solver=there.solver, runaway=gone[0], falls=gone[1])
    text = f"in every {wanted.worlds.word} the objective keeps improving as {outcome.endless}"
    return Found(replace(outcome, certificate=text))
