"""Single points of the front of a mixed-integer program: the best of one objective with a limit on the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field

from dse.system.records import dataclass
from solvers.fronts import envelope, program_curve, program_front
from solvers.fronts.envelope import Piece, Vertex
from solvers.fronts.program_curve import Proof, Sense
from solvers.fronts.program_front import Owner, ProgramFront
from solvers.linear import milp
from solvers.linear.linear_program import End, Numbers

GIVEN_AWAY = 1e-9
"""Share of the best of one objective that may be given away for the other one. HiGHS keeps rows to a tenth of it."""


@dataclass(slots=True)
class Probes:
    """Questions asked of all ways to make the categorical choices, and what their answers prove."""

    owners: tuple[Owner, ...]
    senses: tuple[Sense, Sense]
    report: Callable[[], None]
    cells: list[list[Numbers]]
    proofs: list[list[Proof]]
    alone: dict[int, Vertex] = field(default_factory=dict)
    solves: int = 0

    def least(self, which: int, level: float = math.inf) -> Vertex | None:
        """The design of least coordinate ``which`` with the other one at most ``level``; None: there is none.

        Of those that are equally good it is the one with the least other coordinate, so that nothing betters it.
        Raises ArithmeticError where HiGHS finds no answer.
        """
        best = self._best(which, level)
        if best is None:
            return None
        reached = _coordinate(best, which)
        settled = self._best(1 - which, reached + GIVEN_AWAY * abs(reached))
        return best if settled is None else settled

    def _best(self, which: int, level: float) -> Vertex | None:
        """The design of least coordinate ``which``, whatever the other one is within its level."""
        best: Vertex | None = None
        for k in range(len(self.owners)):
            if best is None or self._bound(k, which, level) < _coordinate(best, which):
                found = self._asked(k, which, level) if self.cells[k] else self.alone.get(k)
                if found is None or _coordinate(found, 1 - which) > level + GIVEN_AWAY * abs(level):
                    continue
                if best is None or _coordinate(found, which) < _coordinate(best, which):
                    best = found
        self.report()
        return best

    def _bound(self, k: int, which: int, level: float) -> float:
        """What is known already of the least first coordinate of one owner."""
        asked = which == 0 and math.isfinite(level)
        return program_curve.bound([self.proofs[k]], level) if asked else -math.inf

    def _asked(self, k: int, which: int, level: float) -> Vertex | None:
        pair = self.owners[k].pair
        assert pair is not None, "what is asked is a program"
        weights, ends = ((1.0, 0.0), (math.inf, level)) if which == 0 else ((0.0, 1.0), (level, math.inf))
        _, best = program_curve.least_of(self.cells[k], pair, *weights, *ends)
        self.solves += len(self.cells[k])
        if best.u is None and best.end is not End.INFEASIBLE:
            raise ArithmeticError("HiGHS finds no point of the front")
        self.proofs[k].append(Proof(*weights, math.inf if best.u is None else best.bound, *ends))
        return None if best.u is None else pair.at(best.u, k)

    def held(self, vertex: Vertex) -> bool:
        """Whether something is at the end of its box there, which may be all that keeps it from running away."""
        p = self.owners[vertex.owner].program
        return p is not None and bool(milp.at_searched_end(p, vertex.at / vertex.at[-1]).any())

    def front(self, found: Sequence[Vertex], *, complete: bool) -> ProgramFront:
        """The designs found as a front."""
        kept = envelope.points([Piece(v, v) for v in found])
        kind = program_front.COMPLETE if complete else program_front.PARTIAL
        count = f"{len(kept)} point{'' if len(kept) == 1 else 's'}"
        how = (
            "between no two neighbours there is another"
            if complete
            else "the widest gap halved again and again"
        )
        return ProgramFront(
            self.owners[0].question,
            self.owners,
            self.senses,
            tuple(kept),
            tuple(tuple(p) for p in self.proofs),
            kind,
            f"{kind} ({count}; {how}, each proved to be best)",
            complete,
            self.solves,
        )


def _coordinate(v: Vertex, which: int) -> float:
    return v.a if which == 0 else v.b


def probes(owners: tuple[Owner, ...], report: Callable[[], None] = lambda: None) -> Probes | None:
    """What asks for single points; None where the objectives have no denominator in common."""
    senses = program_front.senses(owners)
    if senses is None:
        return None
    made = Probes(owners, senses, report, [], [])
    for k, o in enumerate(owners):
        cells: list[Numbers] = []
        proofs: list[Proof] = []
        if o.program is not None and o.pair is not None:
            cells = milp.branched(o.program, milp.numbers(o.program))
        else:
            single = program_front.alone(o, k, senses)
            proofs = program_curve.proofs_of(single)
            made.alone |= {} if single is None else {k: single}
        made.cells.append(cells)
        made.proofs.append(proofs)
    return made
