"""Why a linear or mixed-integer program has no design: limits that contradict each other, and the feasible values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.forms import Entry, Maximum
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.programs.program import Program, of_limits, program
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS, SLACK
from scenarios.question import Question, without
from solvers import boxes
from solvers.linear import highs, milp, supports
from solvers.linear.least_misses import is_violated, least_violation
from solvers.linear.linear_program import End, Numbers, Result, constant_column, no_worse, ratio_at
from solvers.mechanisms.conflicts import CAN_HOLD, CANNOT_HOLD, NOT_KNOWN, TO_NOTHING, feasible_values, singly
from solvers.mechanisms.sensitivity import off_zero
from solvers.mechanisms.why import Why, of_each

# a value of what has no end
FAR = 1e12
BEYOND_STANDSTILL = 1e-6
"""Relative margin added to the least value of a limit at which every design stands still."""
STILL = 1e-6
"""Of what one block or share comes to: less of what limits divide by is none, which the slack of a solver leaves."""
STANDSTILL = 1e-3
"""Designs stand still if the objective's divisor is below this share of what it is with the margin."""


def why(
    p: Program,
    ended: Sequence[Callable[[], Program | None]] = (),
    apart: Callable[[str], float] | None = None,
) -> Why:
    """What tells why a program has no design.

    ``ended``: the same question with ends far out, nearest first, for the feasible values where the program itself
    is open, or has ends that only a search has. ``apart``: finds such a value by other means (NaN where it does not),
    before programs are asked whose numbers may be so large that HiGHS takes minutes.
    """
    names = limit_names(p.question, p.keys)
    known = _Known(p, names, ended)
    ask = singly(lambda kept: known.feasibility(frozenset(itertools.compress(names, kept))))
    unknown = set[str]()

    def value(name: str) -> float | None:
        if known.refuted(frozenset(names) - {name}):
            return None
        return loosest_feasible_value(ended or (lambda: p,), name, unknown, apart)

    whole = frozenset(n for n in names if _names_only_integers(p, n))
    always, ended_early = p.question.model.always, lambda: frozenset(unknown)
    return Why(
        names, ask, of_each(value), lambda _: p.question, whole=whole, ended=ended_early, always=always
    )


def loosest_feasible_value(
    programs: Sequence[Callable[[], Program | None]],
    name: str,
    unknown: set[str] | None = None,
    apart: Callable[[str], float] | None = None,
) -> float | None:
    """The feasible value by the first program whose ends do not hold it.

    A name whose search failed joins ``unknown``. ``apart``: see ``why``.
    """
    unknown = set() if unknown is None else unknown
    held = True
    for k, made in enumerate(programs):
        by_others = apart(name) if k == 1 and apart is not None else math.nan
        if not math.isnan(by_others):
            return by_others if math.isfinite(by_others) else None
        p = made()
        if p is None or p.open:
            continue
        asked = off_zero(p.question, name)
        p = p if asked is p.question else program(asked, searched=True)
        value, u = feasible_value_and_design(p, name, unknown)
        if (
            u is not None
            and not milp.at_searched_end(p, u).any()
            and _is_enclosed(p, name, u, programs[k + 1 :])
        ):
            return value
        # that there is no design within ends of a search says nothing of what is beyond
        held = u is not None
    if held:
        unknown.add(name)
    return None


def _is_enclosed(p: Program, name: str, u: Array, programs: Sequence[Callable[[], Program | None]]) -> bool:
    """Whether a limit has no better value beyond the ends of a search than at the design ``u`` within them.

    The rows, and that the limit gives no more, have to imply ends within these, or to allow no better value at all.
    ``programs``: the same with ends farther out than those of ``p``; where none of them says which amounts are there,
    no search goes farther.
    """
    far = next_told(programs) if (p.boxed & np.isfinite(p.high)).any() else None
    if far is None:
        return True
    if far.columns != p.columns:
        return False
    for i, key in enumerate(p.keys):
        if key is None or key.name != name:
            continue
        now = float(ratio_at(p.numerators[i], p.denominators[i], u))
        better = no_worse(far.numerators[i], far.denominators[i], now)
        if not milp.implied_within(p, far, [better], [key]) and not milp.is_least_divided(far, i, now):
            return False
    return True


def next_told(programs: Sequence[Callable[[], Program | None]]) -> Program | None:
    """The first program that says which amounts are there; None where none does."""
    made = (each() for each in programs)
    return next((one for one in made if one is not None and not one.open), None)


def limit_names(question: Question, keys: Iterable[RowKey | None]) -> tuple[str, ...]:
    """Names of all limits, in the order of the file, then of the variables that must be whole numbers."""
    limits = [k.name for k in keys if k is not None]
    # what cannot be divided by its nature is nobody's limit
    whole = [d.name for d in question.decide if d.integer and not d.count]
    return tuple(dict.fromkeys([*limits, *whole]))


def _names_only_integers(p: Program, name: str) -> bool:
    """Whether only the whole numbers of a variable go under this name."""
    return not any(k is not None and k.name == name for k in p.keys)


@dataclass(slots=True)
class _Known:
    """Designs that were met, and sets of limits that are proved to conflict: what asks for less needs no search.

    ``ended``: see ``why``.
    """

    p: Program
    names: tuple[str, ...]
    ended: Sequence[Callable[[], Program | None]] = ()
    designs: list[Array] = field(default_factory=list)
    conflicts: list[frozenset[str]] = field(default_factory=list)

    def feasibility(self, kept: frozenset[str]) -> int:
        """Whether these limits can hold together (see ``conflicts.Feasible``)."""
        if not self.designs:
            self._begin()
        drop = frozenset(self.names) - kept
        n = milp.numbers(self.p, drop=drop)
        if self.refuted(kept):
            return CANNOT_HOLD
        # a maximum that must be one of its arguments is one of them
        met = (u for u in self.designs for branch in milp.branched(self.p, n) if highs.meets(branch, u))
        if any(self._is_design(u, drop) for u in met) or self._by_sets(kept, n):
            return CAN_HOLD
        if self._proved(kept):
            return CANNOT_HOLD
        found = milp.least(self.p, n, *_nothing(self.p))
        if found.u is not None and not breaks(self.p, found.u, drop):
            if self._is_design(found.u, drop):
                self.designs.append(found.u)
                return CAN_HOLD
            ratios = _ratios_of_nothing(self.p, found.u, drop)
            return self._by_widest(n, drop, ratios) if ratios.any() else self._by_ends(drop)
        # of a linear program that is proved; of whole numbers only by a bound
        proved = (found.u is None and not n.integer.any()) or is_violated(self.p, drop)
        if found.end is End.INFEASIBLE and proved:
            return CANNOT_HOLD
        tried = found.end in (End.INFEASIBLE, End.FOUND)
        return CANNOT_HOLD if tried and beyond_others(self.p, drop) is not None else NOT_KNOWN

    def _is_design(self, u: Array, drop: Collection[str]) -> bool:
        """Whether a point of the program is a design.

        Where an amount has no end no row says whether there is any of it: then the design is judged by the model. At
        a standstill that costs nothing a ratio has no value.
        """
        if _ratios_of_nothing(self.p, u, drop).any():
            return False
        if not any(math.isinf(most) for *_, most in self.p.amounts):
            return True
        return _worst(without(self.p.question, drop), self.p.design(u)) <= 1.0 + HOLDS

    def _by_sets(self, kept: frozenset[str], n: Numbers) -> bool:
        """Whether these limits hold at a least design of one set of things: with how many there may be it is known.

        ``n``: the rows of these limits.
        """
        every = milp.numbers(self.p, giving=True)
        named = zip(self.p.keys, supports.few_of_several(every), strict=True)
        few = {key.name for key, counts in named if counts and key is not None}
        if not few - kept:
            return False
        # any design will do, so that what has no end gets one
        amounts = tuple((row, column, min(most, FAR)) for row, column, most in self.p.amounts)
        near = replace(self.p, high=np.minimum(self.p.high, FAR), amounts=amounts)
        more = milp.numbers(near, drop=frozenset(self.names) - kept - few)
        found = highs.of_sets(more, np.zeros(len(self.p.columns) + 1))
        u = None if found is None else found.u
        if u is None or not any(highs.meets(branch, u) for branch in milp.branched(self.p, n)):
            return False
        self.designs.append(u)
        return self._is_design(u, frozenset(self.names) - kept)

    def _by_widest(self, n: Numbers, drop: Collection[str], ratios: Bools) -> int:
        """Whether some design holds the limits that are not left out, of which some ``ratios`` may be 0 / 0.

        By the design in which what they divide by is greatest.
        """
        most = -self.p.denominators[ratios].sum(axis=0)
        found = milp.least(self.p, n, most, constant_column(len(most)))
        if found.u is None:
            return NOT_KNOWN
        if found.bound >= -STILL * np.abs(most).max():
            return CANNOT_HOLD
        if not self._is_design(found.u, drop):
            return NOT_KNOWN
        self.designs.append(found.u)
        return CAN_HOLD

    def _by_ends(self, drop: Collection[str]) -> int:
        """Whether some design within the ends of a search holds the limits that are not left out."""
        for made in self.ended:
            p = made()
            if p is None or p.open:
                continue
            found = milp.least(p, milp.numbers(p, drop=drop), *_nothing(p))
            if found.u is not None and _worst(without(p.question, drop), p.design(found.u)) <= 1.0 + HOLDS:
                return CAN_HOLD
        return NOT_KNOWN

    def refuted(self, kept: frozenset[str]) -> bool:
        """Whether it follows from what is known that these limits conflict."""
        return any(clash <= kept for clash in self.conflicts)

    def _begin(self) -> None:
        """Look at the ends of the box, and at what the user asks for alone: mostly that is the conflict."""
        for end in (self.p.low, np.minimum(self.p.high, FAR)):
            self.designs.append(np.append(np.where(np.isfinite(end), end, 0.0), 1.0))
        model = {limit.name for limit in self.p.question.model.limits if not limit.always}
        if model & set(self.names):
            self._proved(frozenset(self.names) - model)

    def _proved(self, kept: frozenset[str]) -> bool:
        """Whether limits are proved to conflict even if all numbers were divisible."""
        proved = least_violation(self.p, whole=False, drop=frozenset(self.names) - kept) > SLACK
        if proved:
            self.conflicts.append(kept)
        return proved


def feasible_value_and_design(p: Program, name: str, unknown: set[str]) -> tuple[float | None, Array | None]:
    """The value of one limit at which, all else kept, designs exist, and such a design; None: another conflict remains.

    For a model's own limit the factor by which it is missed; for whole numbers the value that the variable then has.
    Where a solver finds neither a design nor that there is none, the name joins ``unknown``.
    """
    if _names_only_integers(p, name):
        column = p.column(name)
        found = highs.minimise(milp.numbers(p, drop=[name]), column)
        unknown.update([name] if found.end is End.FAILED else [])
        return None if found.u is None else float(column @ found.u), found.u
    least: dict[int, Result] = {}

    def factor(k: int) -> Array:
        key = p.keys[k]
        assert key is not None, "only limits give"
        n = milp.numbers(p, drop=[key])
        goal, under = (milp.of_possible(n, f[k]) for f in (p.numerators, p.denominators))
        least[k] = milp.of_fewer(p, n, goal, under, milp.least(p, n, goal, under))
        unknown.update([name] if least[k].end in (End.FAILED, End.UNBOUNDED) else [])
        u, ratio = least[k].u, least[k].value
        if u is None:
            return np.array([math.inf])
        if math.isinf(ratio) and key.side == "min":
            return np.array([TO_NOTHING])
        return np.array([ratio if has_value(p.under, u) else attained(p, key, ratio)])

    value = float(feasible_values(p.question, p.keys, [name], factor)[name][0])
    met = [best for best in least.values() if best.u is not None]
    return (value, min(met, key=lambda best: best.value).u) if met else (None, None)


def has_value(under: Array | None, u: Array) -> Bools:
    """Whether the objective has a value at designs u (N, columns): its divisor is above 0."""
    return np.asarray(True if under is None else (under * u).sum(axis=-1) > milp.ABOVE_ZERO)


def attained(p: Program, key: RowKey, ratio: float) -> float:
    """The least ratio of a limit at which some design gives the objective a value.

    Blocks at a standstill have an infinite time: where all designs at ``ratio`` stand still it is a millionth more.
    """
    assert p.under is not None, "only an objective has a divisor"
    more = ratio * (1.0 + BEYOND_STANDSTILL)
    n = [milp.numbers(p, factors={key: r}) for r in (ratio, more)]
    at, beyond = (-highs.minimise(each, -milp.of_possible(each, p.under)).value for each in n)
    return more if at < STANDSTILL * beyond else ratio


def _ratios_of_nothing(p: Program, u: Array, drop: Collection[str]) -> Bools:
    """Which limits that are not left out are ratios of two forms that are both 0 at a design."""
    named = np.array([k is not None and k.name not in drop for k in p.keys], dtype=bool)
    divided = p.denominators[:, :-1].any(axis=1) & p.numerators[:, :-1].any(axis=1)
    return np.asarray(named & divided & (p.denominators @ u <= milp.ABOVE_ZERO))


def breaks(p: Program, u: Array, drop: Collection[str] = ()) -> bool:
    """Whether a point breaks a limit by more than counts: HiGHS lets rows be off by a share of their numbers.

    Without limits that are left out it is the design that is judged: maxima are off by as much.
    """
    if not drop:
        return _worst(p.question, p.design(u)) > 1.0 + HOLDS
    named = np.array([k is not None and k.name not in drop for k in p.keys], dtype=bool)
    return bool((p.numerators @ u > (1.0 + HOLDS) * (p.denominators @ u))[named].any())


def _worst(question: Question, design: Mapping[str, float]) -> float:
    """The largest ratio of a limit at a design."""
    return float(boxes.measured(question, np.array([[*design.values()]]))[0][0])


def _nothing(p: Program) -> tuple[Array, Array]:
    """What is minimised where any design will do."""
    nothing = np.zeros(len(p.columns) + 1)
    return nothing, constant_column(len(nothing))


def beyond_others(p: Program, drop: Collection[str] = ()) -> tuple[RowKey, float] | None:
    """A limit that no design within the others holds, with a proved lower bound of the factor; None: none is known.

    Of limits that are ratios of large sums what all give together says little (``least_violation``); what one gives
    by itself is measured by its value. ``drop``: limits that are left out.
    """
    for k, key in enumerate(p.keys):
        if key is None or key.name in drop:
            continue
        n = milp.numbers(p, drop=[*drop, key])
        found = milp.least(p, n, *(milp.of_possible(n, f[k]) for f in (p.numerators, p.denominators)))
        if found.end is End.FOUND and found.bound > 1.0 + HOLDS:
            return key, found.bound
    return None


def affine_feasibility(question: Question) -> tuple[int, Mapping[str, float] | None]:
    """Whether limits that are all affine can hold together (see ``conflicts.Feasible``); of others it is not known.

    That they cannot rests on no end that only a search has; that they can is shown by the design that is returned.
    """
    near = replace(evaluation.nearest(question), objectives=())
    p = of_affine_limits(near)
    if p is None:
        return NOT_KNOWN, None
    if least_violation(beyond_ends(p), whole=False) > SLACK:
        return CANNOT_HOLD, None
    for n in milp.branched(p, milp.numbers(p)):
        u = highs.minimise(n, np.zeros(len(p.columns) + 1)).u
        if u is not None:
            x = p.design(u)
            worst, _ = boxes.measured(near, np.array([[*x.values()]]))
            if worst[0] <= 1.0 + HOLDS:
                return CAN_HOLD, x
    return NOT_KNOWN, None


def of_affine_limits(question: Question) -> Program | None:
    """The program of the limits if all are affine in what is decided, and no row rests on ends that a search has."""
    try:
        p = of_limits(question)
    except (NotPosynomial, ArithmeticError):
        return None
    return p if all(isinstance(a, str | Maximum | Entry) for a in p.columns) else None


def beyond_ends(p: Program) -> Program:
    """The same without the ends that only a search has; maxima have none."""
    largest = [isinstance(a, Maximum) for a in p.columns]
    searched = [isinstance(a, str) and evaluation.box(p.question, a).searched[0] for a in p.columns]
    low = np.select([largest, searched], [-np.inf, 0.0], p.low)
    return replace(p, low=low, high=np.where(largest, np.inf, p.endless))
