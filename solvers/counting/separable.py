"""Which questions are sums over what is decided, one term for each decided quantity: their criteria as numbers.

Read off the affine forms of a question (``stated`` in ``formulations.programs.program``): a limit ``a <= b`` is the sum
``a - b``, which is to be small; an objective is a sum, or the ratio of two.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from formulations.arithmetics.affine import Linear
from formulations.arithmetics.forms import Affine, Maximum
from formulations.arithmetics.many import Array, Many, same
from formulations.grids import divided
from formulations.programs.program import Run, Stated, run, stated
from scenarios.question import Question
from solvers.counting.criteria import (
    BOUND_ROUNDING_UP,
    Criterion,
    NotSums,
    Ratio,
    Stage,
    Sums,
    Terms,
    TooMany,
    about,
    names,
)
from solvers.many_points import effort

GIVE = 3e-7
"""By so much more than a limit allows a design may break it and still be listed: it shows how far a limit is missed."""
CERTAINLY_BETTER = 1e-8
"""Of the largest that a goal can be: what is smaller by that is better, not tied."""
OPEN_END = 2.0**40
"""An end for numbers that nothing ends, where any design will do."""
END_PASSES = 6
MOST_FORMS_APART = 1000
"""Forms that a limit may come apart into, an argument of each maximum in each."""


def read(
    loose: Question, tight: Question, *, far: float = math.inf, ties: bool = True, known: Run | None = None
) -> tuple[Sums, bool]:
    """Read a question whose limits may be anything between those of two, ``loose`` and ``tight``.

    ``far``: where numbers end that no limit ends; ``ties``: whether of designs that are as good all matter; ``known``:
    the model's run at what is given. Beside the criteria it is told whether every end is the question's own, so that no
    design is missing. Raises NotSums, or NotPosynomial where it is not affine.
    """
    decide = loose.decide
    if not decide or not all((d.integer or d.values is not None) and d.choices is None for d in decide):
        raise NotSums("something decided can be divided")
    stages = [Terms(loose, d) for d in decide]
    at = known or run(loose)
    first, other = stated(loose, at), stated(tight, at)
    every = [*_limit_criteria(first, other, stages), *_goal_criteria(first, ties=ties)]
    kept = _merged(c for c in every if not _taken_as_end(c, stages))
    made, ended = _all_ended([s.stage(kept) for s in stages], kept, far)
    if math.isfinite(far) and any(_torn(s, far) for s in made):
        raise NotSums(
            "nothing ends what is decided, and more of it is better for one limit and worse for another"
        )
    ratio = _ratio_of_criteria(first, kept)
    order = _order(made, kept, ratio)
    found = [made[j] for j in order]
    caps, enough, needs = (np.array([getattr(c, n) for c in kept]) for n in ("cap", "enough", "tight"))
    goal = np.array([c.goal for c in kept], dtype=bool)
    sizes = np.sum([np.maximum(*(np.abs(e) for e in s.ends())) for s in found], axis=0)
    margin = CERTAINLY_BETTER * np.where(np.isfinite(sizes), sizes, 0.0)
    if (goal & ~np.isfinite(sizes)).any():
        raise NotSums("nothing ends what is decided")
    largest = np.array([bool(c.largest) for c in kept], dtype=bool)
    widest = largest if largest.any() else None
    return Sums(tuple(found), caps, enough, needs, goal, margin, ratio, widest, ties), ended


def _limit_criteria(first: Stated, other: Stated, stages: Iterable[Terms]) -> Iterator[Criterion]:
    """The limits as sums that are to be small, or as a largest term; a ratio of two at many limits is both."""
    if first.limits.keys() != other.limits.keys():
        raise NotSums("limits that are none at some points")
    for key, loose in first.limits.items():
        tight = other.limits[key]
        bottleneck = _bottleneck(loose, tight)
        if bottleneck is not None:
            yield bottleneck
            continue
        pairs = zip(
            _forms_without_maxima(loose.numerator), _forms_without_maxima(tight.numerator), strict=True
        )
        for a, b in pairs:
            near, far = a.plus(loose.denominator, -1.0), b.plus(tight.denominator, -1.0)
            factor = _bare(far).over(_bare(near))
            if factor is not None and factor > 0.0:
                end = -far.constant / factor
                yield Criterion(_bare(near), _cap(a, loose.denominator, stages), end, end)
            elif near.terms or far.terms:
                for form in (a, loose.denominator.times(-1.0)):
                    if form.terms:
                        yield Criterion(_bare(form), tight=-math.inf)
            elif near.constant > GIVE:
                yield Criterion(Affine({}), -1.0)


def _bottleneck(loose: Linear, tight: Linear) -> Criterion | None:
    """A limit on the largest of terms of one decided quantity each; None of others."""
    largest = _separable_maximum(loose.numerator)
    if largest is None or not (loose.denominator.is_constant and tight.denominator.is_constant):
        return None
    other = _separable_maximum(tight.numerator)
    share = None if other is None else other[0].over(largest[0])
    if share is None or share <= 0.0:
        raise NotSums("limits of another kind at some points")
    end = tight.denominator.constant / share
    cap = loose.denominator.constant * (1.0 + GIVE)
    return Criterion(Affine({}), cap, end, end, largest=largest)


def _separable_maximum(form: Affine) -> tuple[Affine, ...] | None:
    """The arguments of a multiple of a maximum, each about one decided quantity of its own."""
    if len(form.terms) != 1 or form.constant != 0.0:
        return None
    ((atom, factor),) = form.terms.items()
    if not isinstance(atom, Maximum) or factor <= 0.0:
        return None
    about = [names(f) for f in atom.arguments]
    if any(len(a) != 1 for a in about) or len({n for a in about for n in a}) < len(about):
        return None
    return tuple(f.times(factor) for f in atom.arguments)


def _goal_criteria(s: Stated, *, ties: bool) -> Iterator[Criterion]:
    if s.goal is None:
        return
    largest = None if ties or not s.goal.denominator.is_constant else _separable_maximum(s.goal.numerator)
    if largest is not None:
        # what is smaller in a part may be no smaller in the whole, but tied
        yield Criterion(Affine({}), goal=True, largest=largest)
        return
    for form in (s.goal.numerator, s.goal.denominator.times(-1.0)):
        if form.terms:
            yield Criterion(_bare(form), goal=True)


def _ratio_of_criteria(s: Stated, kept: list[Criterion]) -> Ratio | None:
    """The objective as a ratio of two of the criteria; None where it is one of them."""
    if s.goal is None or s.goal.numerator.is_constant or s.goal.denominator.is_constant:
        return None
    found = []
    for form in (s.goal.numerator, s.goal.denominator.times(-1.0)):
        shares = [_bare(form).over(c.form) for c in kept]
        k = next(k for k, share in enumerate(shares) if share is not None and share > 0.0)
        share = shares[k]
        assert share is not None, "the criterion was found by its share"
        found.append((k, share, form.constant))
    return Ratio(*found[0], *found[1])


def _bare(form: Affine) -> Affine:
    return Affine(form.terms)


def _cap(a: Affine, b: Affine, stages: Iterable[Terms]) -> float:
    """What ``a - b``, without its constant, may be at most where ``a`` is at most ``1 + GIVE`` times ``b``."""
    if a.is_constant:
        return b.constant - a.constant / (1.0 + GIVE)
    slack = GIVE * (b.constant if b.is_constant else _divisor_size(b, stages))
    return slack + b.constant - a.constant


def _divisor_size(form: Affine, stages: Iterable[Terms]) -> float:
    """About how large a divisor is at most; infinite where nothing ends it."""
    if form.is_constant:
        return abs(form.constant)
    total = abs(form.constant)
    for s in stages:
        step, jump, table = s.numbers(form)
        most = np.abs(table).max(initial=0.0) if step is None else abs(step) * s.high + abs(jump)
        total += 0.0 if step == 0.0 and jump == 0.0 else float(most)
    return total


def _forms_without_maxima(form: Affine) -> list[Affine]:
    """All forms that ``_forms_apart`` makes of one; raises TooMany."""
    found = list(itertools.islice(_forms_apart(form), MOST_FORMS_APART + 1))
    if len(found) > MOST_FORMS_APART:
        raise TooMany(f"more than {MOST_FORMS_APART} ways in which maxima are their arguments")
    return found


def _forms_apart(form: Affine) -> Iterator[Affine]:
    """A form without the maximum in it, once for each of its arguments, where something depends on several numbers."""
    effort.spend(len(form.terms) * effort.FORM)
    for atom, c in form.terms.items():
        if isinstance(atom, Maximum) and len(about(atom)) > 1:
            if c < 0.0:
                raise NotSums("something gains from a maximum")
            rest = Affine({a: v for a, v in form.terms.items() if a is not atom}, form.constant)
            for argument in atom.arguments:
                yield from _forms_apart(rest.plus(argument, c))
            return
    yield form


def _taken_as_end(c: Criterion, stages: list[Terms]) -> bool:
    """Take over a limit on one whole number alone as an end of it; tells whether it was one."""
    if c.goal or c.largest or len(c.form.terms) != 1:
        return False
    ((atom, factor),) = c.form.terms.items()
    mine = next((s for s in stages if s.name == atom and s.values is None), None)
    if mine is None or not math.isfinite(c.cap) or c.cap != c.cap:
        return False
    if factor > 0.0:
        mine.high = min(mine.high, math.floor(c.cap / factor * (1.0 + BOUND_ROUNDING_UP)))
    else:
        mine.low = max(mine.low, math.ceil(c.cap / factor * (1.0 - BOUND_ROUNDING_UP) - BOUND_ROUNDING_UP))
    # at other limits it may end sooner: then it counts as a criterion, too
    return abs(c.cap - c.tight) <= 2.0 * GIVE * abs(c.tight)


def _merged(every: Iterable[Criterion]) -> list[Criterion]:
    """Criteria of which none is a multiple of another."""
    found: list[Criterion] = []
    for c in every:
        for k, other in enumerate(found):
            plain = c.form.terms and other.form.terms and not (c.largest or other.largest)
            share = c.form.over(other.form) if plain else None
            if share is not None and share > 0.0:
                enough = min(other.enough, c.enough / share)
                enough = -math.inf if c.goal or other.goal else enough
                tight = min(other.tight, c.tight / share)
                found[k] = Criterion(
                    other.form, min(other.cap, c.cap / share), enough, tight, other.goal or c.goal
                )
                break
        else:
            found.append(c)
    return found


def _all_ended(stages: list[Stage], kept: list[Criterion], far: float) -> tuple[list[Stage], bool]:
    """End the whole numbers by what limits allow; tells whether all are ended so, or by nature."""
    caps = np.array([c.cap for c in kept])
    for _ in range(END_PASSES):
        before = stages
        lows = np.stack([s.ends()[0] for s in before])
        stages = [_ended(s, caps - np.delete(lows, j, axis=0).sum(axis=0)) for j, s in enumerate(before)]
        if all(one is other for one, other in zip(before, stages, strict=True)):
            break
    endless = [not (s.menu or math.isfinite(s.high)) for s in stages]
    found = [replace(s, high=far) if e else s for s, e in zip(stages, endless, strict=True)]
    return found, not any(endless)


def _ended(s: Stage, room: Array) -> Stage:
    """A whole number with the end that what the others leave of the criteria allows; the same where it has it."""
    if s.menu:
        return s
    with np.errstate(all="ignore"):
        most = (room - np.minimum(s.jump, 0.0)) / s.step
    most = most[(s.step > 0.0) & np.isfinite(most)]
    high = float(most.min(initial=np.inf)) * (1.0 + BOUND_ROUNDING_UP) + BOUND_ROUNDING_UP
    return (
        replace(s, high=float(math.floor(high))) if math.isfinite(high) and math.floor(high) < s.high else s
    )


def _torn(s: Stage, far: float) -> bool:
    """Whether nothing ends a number of which more is better for some limits and worse for others."""
    more = bool(((s.step > 0.0) | (s.jump > 0.0)).any() and (s.step < 0.0).any())
    return not s.menu and s.high >= far and more


def _order(stages: list[Stage], kept: list[Criterion], ratio: Ratio | None) -> list[int]:
    """In which order designs are built: menus first, then what costs least for what it does for the objective."""
    caps = np.array([c.cap for c in kept])
    goals = np.array([c.goal for c in kept], dtype=bool)

    def cost(j: int) -> tuple[float, float]:
        step = stages[j].step
        if stages[j].menu:
            return -math.inf, 0.0
        with np.errstate(all="ignore"):
            share = float(
                np.where(np.isfinite(caps) & (caps > 0.0) & ~goals, step / caps, 0.0).max(initial=0.0)
            )
            if ratio is not None:
                gain = -step[ratio.below] * ratio.below_factor
                return (
                    float(step[ratio.above] * ratio.above_factor / gain) if gain > 0.0 else math.inf
                ), -share
            gain = -float(step[goals].sum())
            if gain > 0.0:
                return share / gain, -share
            # what costs something is there for a limit that it helps to meet
            helps = np.where(np.isfinite(caps) & (caps < 0.0) & ~goals, step / caps, 0.0).max(initial=0.0)
            return (-gain / float(helps) if helps > 0.0 else math.inf), -share

    return sorted(range(len(stages)), key=cost)


def corners(question: Question) -> tuple[Question, Question]:
    """The question of many points with the widest of its limits, and with the narrowest.

    Raises Differ where points differ in more than limits.
    """
    given = {name: _same_at_all_points(value) for name, value in question.given.items()}
    alike = replace(question, given=given)
    return divided.with_ends(alike, np.min, np.max), divided.with_ends(alike, np.max, np.min)


def _same_at_all_points(value: Any) -> Any:
    """What a given number is at all points; raises Differ where it is not the same."""
    if not isinstance(value, Many):
        return value
    same(value.values == value.values.flat[0])
    return float(value.values.flat[0])


def values_of(s: Sums, question: Question, x: Array) -> Mapping[str, Array]:
    """The numbers of designs by name, in the order of the file."""
    names = [stage.name for stage in s.stages]
    return {d.name: x[:, names.index(d.name)] for d in question.decide}
