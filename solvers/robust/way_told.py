"""Which way begins the search for one design for all samples, in the words that its answers have."""

from __future__ import annotations

from dataclasses import replace

from dse.models.arithmetic import CannotTake
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.programs.program import is_linear
from formulations.uncertainty import robust
from formulations.uncertainty.measures import Quantile
from formulations.uncertainty.wanted import Chance
from formulations.uncertainty.worlds import Worlds
from scenarios.question import Question
from scenarios.uncertainty.promises import promises
from scenarios.uncertainty.worst_cases import AT_WORST, over_box
from solvers.outcome import ENUMERATION
from solvers.robust import decide_now
from solvers.robust.boxes import robust_boxes
from solvers.robust.masters import failing, levels, program_chances, robust_program
from solvers.robust.robust_answers import weighing
from solvers.robust.searches import robust_ratios, scan

GROWN = "programs that grow by the samples they need, each by"
BOXES = (
    f"{robust_boxes.SOLVER} of designs, each bounded in every sample",
    "optimal with the bound of the boxes, or feasible with a gap",
)


def way_told(question: Question, how: str, proof: str) -> tuple[str, str]:
    """Say how a design for all samples is looked for first, and what proves it: over these samples.

    ``how``, ``proof``: what is said of the question of one sample.
    """
    asked, caps = decide_now.parted(question)
    worlds = replace(decide_now.sampled(asked), caps=caps)
    if not asked.decide:
        return f"{how}, in every sample", proof
    if over_box(asked, asked.measure):
        return f"{how}, with the worst of all values added in turn", proof
    if scan.few(worlds):
        return f"{ENUMERATION}: every design is evaluated in every sample", "optimal, by complete enumeration"
    if promises(asked) or isinstance(weighing(asked.measure or AT_WORST), Quantile):
        return _where_samples_may_fail(asked, worlds, proof)
    if is_linear(worlds.nominal):
        return f"{robust_program.SOLVER}: {GROWN} {how}", proof
    try:
        posed = robust.posed(worlds)
        if posed.goal is not None and not posed.goal.denominator.is_monomial:
            robust_ratios.check(posed)
            return f"{robust_ratios.SOLVER}: monomial secants above the divisor in every sample", proof
    except (NotPosynomial, CannotTake):
        return BOXES
    return f"{failing.SOLVER}: {GROWN} {how}", proof


def _where_samples_may_fail(asked: Question, worlds: Worlds, proof: str) -> tuple[str, str]:
    if is_linear(worlds.nominal):
        return f"{robust_program.SOLVER}: {program_chances.PROOF}", proof
    measure = weighing(asked.measure or AT_WORST)
    try:
        stated = levels.stated(robust.posed(worlds), measure, [Chance(p.names, 1) for p in promises(asked)])
        taken = levels.takes(*stated)
    except (NotPosynomial, CannotTake):
        taken = False
    return (f"{failing.SOLVER}: {failing.PROOF}", proof) if taken else BOXES
