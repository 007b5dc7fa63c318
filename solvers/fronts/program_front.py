"""Exact fronts of two objectives for linear and mixed-integer programs.

Where all is whole numbers and menus, and they are few, every combination is evaluated at once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from dse.quantities import plural
from dse.system.arrays import Array, Bools, Integers
from dse.system.records import dataclass
from formulations.problem import formulate
from formulations.programs.program import Program, branch_count
from formulations.programs.row_ends import upper_ends
from scenarios.question import Question, combinations
from solvers import choices, designs, enumeration
from solvers.designs import Grid, Table
from solvers.enumeration import ONE, full
from solvers.fronts import envelope, program_curve, program_search
from solvers.fronts.envelope import Piece, Vertex
from solvers.fronts.program_curve import Pair, Proof, Sense
from solvers.fronts.program_search import Found
from solvers.linear import milp

COMBINATIONS = 64
MOST_BRANCHES_SEARCHED = 64
CURVES = 1000
# two steps of the search, so that its proofs hold there
PROVED_APART = 2 * program_search.SEARCH_STEP

# 16 settings for each of 5 phases and all of 20 regions are within it
MOST_COMBINED = 2**20
TRIED_COMBINATIONS = 2**20
"""Combinations of a question that is no program, beyond which points of its front are searched."""
ROW_HOLDS = 1e-9
DISTINCT_DIGITS = 12
APART = 1e-9
KNOWN_COMPARED = 32
"""Points that all others are compared with: more cost more than the sorting that they spare."""

BREAKPOINTS = "exact: breakpoints"
SEGMENTS = "exact: breakpoints of straight segments, one set of whole numbers each"
COMPLETE = "complete non-dominated set"
PARTIAL = "certified points; the set is not complete"


@dataclass(frozen=True, slots=True)
class Owner:
    """Where vertices come from: one way to make the categorical choices, and its program.

    ``pair`` is None where a vertex' ``at`` are the values of the decided quantities themselves, ``program`` also
    where nothing is left to decide.
    """

    question: Question
    chosen: Mapping[str, str]
    program: Program | None
    pair: Pair | None

    def design(self, vertex: Vertex) -> dict[str, float]:
        """The value of every decided number at a vertex."""
        if self.program is None or self.pair is None:
            return {d.name: float(v) for d, v in zip(self.question.decide, vertex.at, strict=True)}
        return self.program.design(vertex.at / vertex.at[-1])


@dataclass(frozen=True, slots=True)
class ProgramFront:
    """An exact front: pieces by rising first coordinate, each straight in the coordinates ``senses``.

    ``kind`` says what it is, ``method`` how it was found; ``complete``: whether nothing is missing; ``pieces`` are
    empty where no design meets the limits.
    """

    question: Question
    owners: tuple[Owner, ...]
    senses: tuple[Sense, Sense]
    pieces: tuple[Piece, ...]
    proofs: tuple[tuple[Proof, ...], ...]
    kind: str
    method: str
    complete: bool

    @property
    def straight(self) -> bool:
        """Whether pieces are straight in the objectives themselves, not in a reciprocal."""
        return not any(s.over for s in self.senses)

    def bound(self, vertex: Vertex, b: float | None = None) -> float:
        """Proven bound of the first objective, the second being no worse than ``b`` (default: than at the vertex)."""
        level = vertex.b if b is None else b
        proven = min(program_curve.bound(self.proofs, level), vertex.a) if self.proofs else vertex.a
        return self.senses[0].value(proven)


def owners(question: Question) -> tuple[Owner, ...]:
    """One owner per combination of categorical choices.

    None at all where one of them is not a linear or mixed-integer program, or there are too many, or another number
    of objectives than two.
    """
    if len(question.objectives) != 2:
        return ()
    found: list[Owner] = []
    ways = combinations(question) if choices.categorical(question) else iter([({}, question)])
    for chosen, asked in itertools.islice(ways, COMBINATIONS + 1):
        p = formulate(asked, searched=True).program if asked.decide else None
        if (p is None and asked.decide) or len(found) == COMBINATIONS:
            return ()
        found.append(Owner(asked, chosen, p, program_curve.pair(p) if p is not None else None))
    return tuple(found) if any(o.program is not None for o in found) else ()


def searched(
    owners: tuple[Owner, ...], most: int = CURVES, report: Callable[[], None] = lambda: None
) -> ProgramFront | None:
    """The front by solving.

    ``most``: after how many sets of whole numbers the search stops; ``report`` is called again and again. None
    where the objectives have no denominator in common. Raises ArithmeticError where HiGHS finds no answer.
    """
    common = senses(owners)
    if common is None:
        return None
    found = [_curves_of_owner(o, k, common, most, report) for k, o in enumerate(owners)]
    made = _assembled(owners, common, found)
    return made if all(_finite(made, piece) for piece in made.pieces) else None


def senses(owners: tuple[Owner, ...]) -> tuple[Sense, Sense] | None:
    """The coordinates that all owners have in common; None where they have none, or are too many programs each."""
    open_ = [o for o in owners if o.program is not None]
    found = [(o.pair.a.sense, o.pair.b.sense) for o in open_ if o.pair is not None]
    if len(found) < len(open_) or any(s != found[0] for s in found):
        return None
    if any(branch_count(o.program) > MOST_BRANCHES_SEARCHED for o in open_ if o.program is not None):
        return None
    return found[0]


def _curves_of_owner(
    owner: Owner, k: int, senses: tuple[Sense, Sense], most: int, report: Callable[[], None]
) -> Found:
    if owner.program is not None and owner.pair is not None:
        return program_search.curves(owner.program, owner.pair, k, most, report)
    # one design, or none within the limits: its two objectives are all there is to know
    found = Found(proofs=[[Proof(1.0, 0.0, math.inf)]])
    for piece in listed_points(owner.question, Grid((), ()), k, report):
        turned = [-1.0 if g.maximize else 1.0 for g in owner.question.objectives]
        a, b = (
            s.coordinate(t * c) for s, t, c in zip(senses, turned, (piece.left.a, piece.left.b), strict=True)
        )
        found = Found([(Vertex(a, b, piece.left.at, k),)], proofs=[[Proof(1.0, 0.0, a), Proof(0.0, 1.0, b)]])
    return found


def _finite(front: ProgramFront, piece: Piece) -> bool:
    """Whether both objectives have a value at both ends: a time may grow without end, and its reciprocal reach 0."""
    ends = [(v.a, v.b) for v in (piece.left, piece.right)]
    return all(math.isfinite(s.value(c)) for end in ends for s, c in zip(front.senses, end, strict=True))


def enumerated(owners: tuple[Owner, ...], report: Callable[[], None] = lambda: None) -> ProgramFront | None:
    """The complete set by going through all combinations; None where something is divisible, or they are too many."""
    menus, count = [], 0
    for o in owners:
        of = Grid((), ()) if o.program is None else combinations_of(o.program, MOST_COMBINED - count)
        if of is None:
            return None
        menus.append(of)
        count += of.size
    return _of_lists(owners, menus, report)


def listed(question: Question, report: Callable[[], None] = lambda: None) -> ProgramFront | None:
    """The complete set of a question of any equations whose combinations are few; None of others."""
    found = few_designs(question) if len(question.objectives) == 2 else None
    return None if found is None else _of_lists(*found, report)


def few_designs(question: Question) -> tuple[list[Owner], list[Grid]] | None:
    """Every combination of names, each with all its designs; None where something has no list, or they are many.

    None, too, where nothing is decided: the one design is no front.
    """
    if not designs.plain(question) or question.search is not None:
        return None
    owners, menus = list[Owner](), list[Grid]()
    ways = combinations(question) if choices.categorical(question) else iter([({}, question)])
    for chosen, asked in itertools.islice(ways, COMBINATIONS + 1):
        of = designs.everything(asked) if asked.decide else Grid((), ())
        if (
            of is None
            or sum(m.size for m in menus) + of.size > TRIED_COMBINATIONS
            or len(owners) == COMBINATIONS
        ):
            return None
        owners.append(Owner(asked, chosen, None, None))
        menus.append(of)
    return (owners, menus) if any(o.question.decide for o in owners) else None


def _of_lists(owners: Sequence[Owner], menus: Sequence[Grid], report: Callable[[], None]) -> ProgramFront:
    """The complete set of all combinations of each owner."""
    question, count = owners[0].question, sum(of.size for of in menus)
    pieces: list[Piece] = []
    for k, (o, of) in enumerate(zip(owners, menus, strict=True)):
        pieces = envelope.points([*pieces, *listed_points(o.question, of, k, report)])
    first, second = (Sense(-1 if g.maximize else 1, over=False) for g in question.objectives)
    method = f"{COMPLETE}: all {count} combinations were evaluated"
    own = tuple(replace(o, pair=None) for o in owners)
    return ProgramFront(question, own, (first, second), tuple(pieces), (), COMPLETE, method, True)


def combinations_of(p: Program, most: int = MOST_COMBINED) -> Grid | None:
    """All combinations within the ends that rows imply, in the order of the file.

    None where something is divisible, or they are more than ``most``.
    """
    if any(not d.integer and d.values is None for d in p.question.decide):
        return None
    n = milp.numbers(p)
    # of what is chosen or not, trying both is quick
    high = np.where(n.high - n.low > 1.0, upper_ends(n.rows, n.low, n.high, n.integer), n.high)
    ends = dict(zip(p.columns, zip(n.low, high, strict=True), strict=True))
    if not np.isfinite([ends[d.name] for d in p.question.decide if d.values is None]).all():
        return None
    axes = (
        np.array(d.values, dtype=float)
        if d.values is not None
        else range(math.ceil(ends[d.name][0]), math.floor(ends[d.name][1]) + 1)
        for d in p.question.decide
    )
    found = Grid(tuple(d.name for d in p.question.decide), tuple(axes))
    return found if found.size <= most else None


def listed_points(question: Question, of: Grid, owner: int, report: Callable[[], None]) -> list[Piece]:
    """The complete set of undominated designs, by rising first objective (falling where it is maximised).

    A vertex' ``at`` are the values of the decided quantities. Of designs that are equal in both objectives the
    one with the smaller decided quantities, in the order of the file, is kept.
    """
    left, kept = Table(question, {n: np.zeros(0) for n in of.names}), np.zeros((0, 2))
    for part in enumeration.parts(question, of):
        at = coordinates(part)
        near = ~_clearly_worse(at, kept)
        left, kept = left.joined(part.take(near)), np.concatenate([kept, at[near]])
        best = _undominated(kept)
        left, kept = left.take(best), kept[best]
        report()
    if not len(kept):
        return []
    found = np.reshape(list(left.x.values()), (len(of.names), len(kept))).T
    vertices = [Vertex(float(a), float(b), u, owner) for (a, b), u in zip(kept, found, strict=True)]
    return envelope.points([Piece(v, v) for v in vertices])


def coordinates(t: Table) -> Array:
    """The objectives of some designs, to be small; infinite where a limit is broken."""
    at, ratios = enumeration.numbers(t, t.question, ONE)
    shape, goals = (1, t.size), range(len(t.question.objectives))
    every = np.stack([full(enumeration.minimised(t, at, k), shape)[0] for k in goals], axis=1)
    allowed = (enumeration.excess(ratios, shape)[0] <= ROW_HOLDS) & np.isfinite(every).all(axis=1)
    return np.where(allowed[:, None], every, np.inf)


def _clearly_worse(at: Array, known: Array) -> Bools:
    """Which points some known one betters in both coordinates by more than rounding: compared before sorting."""
    (a, b), found = at.T, np.zeros(len(at), dtype=bool)
    for first, second in (known + APART * np.abs(known))[:: max(len(known) // KNOWN_COMPARED, 1)]:
        found |= (a > first) & (b > second)
    return found


def _undominated(at: Array) -> Integers:
    """Places of the undominated points in their order, of equal ones the first."""
    rough = rounded_levels(at)
    order = np.lexsort((rough[:, 1], rough[:, 0]))
    b = rough[order, 1]
    before = np.concatenate([[np.inf], np.minimum.accumulate(b)[:-1]])
    return np.sort(order[b < before])


def rounded_levels(at: Array) -> Array:
    """Numbers without the digits that only rounding tells apart."""
    with np.errstate(all="ignore"):
        size = 10.0 ** (DISTINCT_DIGITS - 1 - np.floor(np.log10(np.abs(at))))
        return np.where(np.isfinite(size) & np.isfinite(at), np.round(at * size) / size, at)


def _assembled(owners: tuple[Owner, ...], senses: tuple[Sense, Sense], found: list[Found]) -> ProgramFront:
    pieces = found[0].pieces if len(found) == 1 else []
    pieces = pieces or envelope.envelope(c for f in found for c in f.curves)
    unproven, stopped = sum(f.unproven for f in found), any(f.stopped for f in found)
    discrete = any(o.program is not None and o.program.integer.any() for o in owners)
    long = sum(not p.single for p in pieces)
    kind = BREAKPOINTS if not discrete else SEGMENTS if long else COMPLETE
    if unproven or stopped:
        kind = PARTIAL
    curves = sum(len(f.curves) for f in found)
    what = plural(long, "straight segment") if long else plural(len(pieces), "point")
    method = f"{kind} ({what}; {_front_proof(discrete, curves, unproven, stopped)})"
    proofs = tuple(tuple(group) for f in found for group in f.proofs)
    return ProgramFront(
        owners[0].question,
        owners,
        senses,
        tuple(pieces),
        proofs,
        kind,
        method,
        not (unproven or stopped),
    )


def _front_proof(discrete: bool, curves: int, unproven: int, stopped: bool) -> str:
    if stopped:
        return f"stopped after {_sets(curves)}: more of them may belong to it"
    if unproven:
        return f"in {plural(unproven, 'place')} nothing proves that there is no more"
    if discrete:
        return f"{_sets(curves)}, and proofs that no other one lies below"
    return "weak duality proves that nothing lies below"


def _sets(curves: int) -> str:
    return f"{plural(curves, 'set')} of whole numbers"


@dataclass(frozen=True, slots=True)
class Point:
    """A vertex of a front, and whether an exact straight segment joins it to the next one."""

    vertex: Vertex
    joined: bool


def points(front: ProgramFront, cuts: Sequence[int] = ()) -> list[Point]:
    """The breakpoints and single points of a front by rising first coordinate.

    ``cuts``: into how many equal parts each piece is cut (default: one).
    """
    found: list[Point] = []
    for piece, parts in zip(front.pieces, cuts or itertools.repeat(1), strict=False):
        left, right = ends = envelope.short(piece, PROVED_APART)
        if found and envelope.same(found[-1].vertex, left):
            left = found.pop().vertex
        if piece.single:
            found.append(Point(left, joined=False))
            continue
        inner = [envelope.between(*ends, k / parts) for k in range(1, parts)]
        found += [Point(v, joined=True) for v in (left, *inner)]
        found.append(Point(right, joined=False))
    return found
