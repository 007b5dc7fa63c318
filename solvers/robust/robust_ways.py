"""Which way finds one design for many worlds: the first that takes the question."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from dse.models.arithmetic import CannotTake
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.program import is_linear
from formulations.uncertainty import robust
from formulations.uncertainty.measures import Measured, Quantile, Weighing
from formulations.uncertainty.worlds import Worlds
from results.solution import Status
from solvers.outcome import Outcome
from solvers.robust import chances, robust_ratios, robust_scan, robust_search
from solvers.robust.boxes import robust_boxes
from solvers.robust.boxes.box_lines import Wanted
from solvers.robust.chances import Counted
from solvers.robust.masters import robust_geometric, robust_program
from solvers.robust.masters.robust_geometric import Found


def found_by(
    worlds: Worlds,
    measure: Measured,
    *,
    kept: frozenset[str] | None = None,
    tied: bool = True,
    promised: tuple[Counted, ...] = (),
) -> Found:
    """Find the best design; ``kept``: names of the limits that count (None: all), ``tied``: settle ties."""
    question = worlds.nominal
    if not question.decide:
        left_out = chances.failing(worlds, promised)
        words = "evaluated; nothing was decided"
        return Found(Outcome(Status.EVALUATED, {}, certificate=words), left_out=left_out)
    if promised or isinstance(measure, Quantile):
        return chances.found(worlds, measure, promised, kept)
    if robust_scan.few(worlds):
        return robust_scan.minimise(worlds, measure, kept=kept)
    why: list[str] = []
    linear = is_linear(question)
    ways: list[Callable[[], Found]] = (
        [
            lambda: robust_program.minimise(worlds, measure, kept=kept, weigh=tied, tied=tied),
            lambda: robust_scan.minimise(worlds, measure, kept=kept),
        ]
        if linear
        else [
            lambda: robust_geometric.minimise(robust.posed(worlds), measure, kept=kept, tied=tied),
            lambda: _of_ratios(worlds, measure, kept, weigh=tied),
            lambda: robust_scan.minimise(worlds, measure, kept=kept),
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
    return _by_boxes(worlds, measure, kept, held, why)


def _of_ratios(worlds: Worlds, measure: Weighing, kept: frozenset[str] | None, *, weigh: bool) -> Found:
    found = robust_ratios.minimise(robust.posed(worlds), measure, kept=kept)
    return robust_boxes.weighed(Wanted(worlds, measure, (), kept), found) if weigh else found


def _by_boxes(
    worlds: Worlds, measure: Weighing, kept: frozenset[str] | None, held: Found | None, why: list[str]
) -> Found:
    """Search boxes of designs where nothing else closed a question, and last without proof; ``held``: what is known."""
    wanted = Wanted(worlds, measure, (), kept)
    try:
        found = robust_boxes.minimise(wanted)
        held = found if held is None else robust_boxes.better(wanted, held, found)
    except (NotPosynomial, CannotTake) as refusal:
        why.append(str(refusal))
    if held is not None and (held.closed(worlds.nominal) or kept is not None):
        return held
    if kept is None:
        found = robust_search.minimise(worlds, measure, None if held is None else held.outcome.x)
        if why:
            certificate = f"{found.outcome.certificate}; no proof: {'; '.join(dict.fromkeys(why))}"
            found = dataclasses.replace(
                found, outcome=dataclasses.replace(found.outcome, certificate=certificate)
            )
        return found if held is None else robust_boxes.better(wanted, held, found)
    return Found(
        Outcome(Status.ERROR, message=f"no method finds one design for all samples here: {'; '.join(why)}")
    )
