"""Values of a limit that no design meets: told from the end of an exact front, without solving for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from formulations.program import Program
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from results.solution import Solution, Status
from scenarios.question import Question
from solvers.explaining.sensitivity import with_limit
from solvers.judgement import asked_limits
from solvers.linear import milp, milp_conflicts
from solvers.linear.fronts.program_front import ProgramFront
from solvers.linear.highs import SOLVER

OUT_OF_REACH = (
    "every design breaks {} by {:.1e} of its size or more: it is beyond the end of an exact front ({})"
)


def out_of_reach(
    front: ProgramFront, question: Question, key: RowKey
) -> Callable[[float], Solution | None] | None:
    """A function from a value of the limit to the answer that there is no design, and why.

    It returns None where the value has to be solved for: where not the limit alone is to blame (whole numbers or
    another limit have a part in it), or it is missed by no more than a solver allows. None altogether where no
    design meets the rest of the question, or the same name is limited on the other side as well.
    """
    program = front.owners[0].program
    other_end = any(
        x.name == key.name and (x.minimum, x.maximum) != (None, None) for x in front.question.limits
    )
    if program is None or not front.pieces or other_end:
        return None
    sense, alone = front.senses[1], _with_nothing_else(program)
    nearest = sense.value(front.pieces[-1].right.b)

    def answer(value: float) -> Solution | None:
        best, free = (b / value if key.side == "max" else value / b for b in (nearest, alone))
        if value <= 0 or free <= 1.0 + HOLDS:
            return None
        asked = with_limit(question, key, value)
        return Solution(
            Status.INFEASIBLE,
            limits=asked_limits(asked),
            conflict={key.name: nearest},
            conflicts=((key.name,),),
            certificate=OUT_OF_REACH.format(key.name, best - 1.0, front.method),
            solver=SOLVER,
        )

    return answer


def _with_nothing_else(p: Program) -> float:
    """Proven end of what is limited where nothing else is: no other limit, and whole numbers divided."""
    goal, under, sign = p.others[0]
    # nor any end that only a search has
    free = replace(milp.numbers(p, drop=milp_conflicts.limit_names(p)), high=p.endless)
    best = milp.least(replace(p, goal=goal, under=under, sign=sign), free, goal, under)
    ratio = best.bound if best.u is not None else 0.0
    if sign > 0:
        return ratio
    return 1.0 / ratio if ratio > 0 else float("inf")
