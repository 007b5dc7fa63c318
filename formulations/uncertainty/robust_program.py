"""Linear and mixed-integer programs in many worlds, over the columns that are decided once for all of them.

Shares, counts and picks are the same in every world; a maximum has a value of its own in each. Where it only harms, the
argument that is largest in world i at a point put in its place gives an affine function of the shared columns that is
nowhere above the true one and equal to it at that point: a cut.

Numbers that come out otherwise in some worlds (which of two terms of a roofline is the larger, whether a cost is 0)
make programs of other columns there: such worlds are parts of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass
from formulations.arithmetics.forms import Atom, Differs, Entry, Largest, Maximum, Some
from formulations.arithmetics.many import Differ, Many
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.grids import divided
from formulations.programs.program import Program, is_linear, program
from formulations.row_keys import RowKey
from formulations.uncertainty import program_losses, program_maxima
from formulations.uncertainty.measures import Measured, Weighing, of_one_world
from formulations.uncertainty.program_losses import Losses, tangents
from formulations.uncertainty.robust import GAINS
from formulations.uncertainty.worlds import Worlds

AMOUNTS = "an uncertain number in what says whether there is any of an amount"
RATIOS = "the mean of a ratio of sums of shares and counts over the samples"
MOST_WORLD_PARTS = 64
"""Parts of other columns that the worlds may fall into."""


@dataclass(frozen=True, slots=True)
class Part:
    """Worlds (numbers ``places``) whose programs have the same columns, of which ``shared`` are decided for all worlds.

    ``losses``: what is to be small of the objective;
    ``rows``: limits (n, C + 1) <= 0 by key; ``defines``: of each column of a maximum, inner ones first, its arguments
    (A, n, C + 1). ``base`` and ``equal``: rows of shared columns alone, the same in every world. ``gains``: of limits
    that a maximum makes easier its column.
    """

    places: Indices
    program: Program
    shared: Indices
    losses: Losses | None
    rows: Mapping[RowKey, Array]
    base: Array
    equal: Bools
    defines: Mapping[int, Array]
    gains: Mapping[RowKey, int]

    def over_shared(self, form: Array, u: Array) -> Array:
        """Return a cut of affine functions (n, C + 1) at the shared columns ``u``: functions (n, S + 1) of these."""
        found = form[:, [*self.shared, -1]].copy()
        for place, cut in self._maxima(u).items():
            found += form[:, place, None] * cut
        return found

    def alternatives(self, key: RowKey, u: Array) -> Array:
        """Return cuts (A, n, S + 1) at ``u`` of a limit that a maximum makes easier: it holds where one does."""
        form, place = self.rows[key].copy(), self.gains[key]
        gain = form[:, place, None].copy()
        form[:, place] = 0.0
        arguments = self.defines[place][:, :, [*self.shared, -1]]
        return np.asarray(self.over_shared(form, u) + gain * arguments)

    def _maxima(self, u: Array) -> dict[int, Array]:
        cuts: dict[int, Array] = {}
        for place, arguments in self.defines.items():
            flat = arguments[:, :, [*self.shared, -1]].copy()
            for inner, cut in cuts.items():
                flat += arguments[:, :, inner, None] * cut
            largest = (flat @ u).argmax(0)
            cuts[place] = flat[largest, np.arange(len(largest))]
        return cuts


@dataclass(frozen=True, slots=True)
class Posed:
    """A question in N worlds over its shared columns.

    ``bent``: whether losses are reciprocals of sums, each measured as it is.
    """

    worlds: Worlds
    parts: tuple[Part, ...]
    bent: bool = False

    @property
    def program(self) -> Program:
        """The program of the first part."""
        return self.parts[0].program

    @property
    def shared(self) -> Indices:
        """Numbers of the shared columns in it."""
        return self.parts[0].shared

    @property
    def keys(self) -> tuple[RowKey, ...]:
        """The limits of any world."""
        return tuple(dict.fromkeys(key for part in self.parts for key in part.rows))

    @property
    def goal(self) -> bool:
        """Whether there is an objective."""
        return self.parts[0].losses is not None

    def losses(self, u: Array) -> Array:
        """Cuts of the losses in the worlds that count, at ``u``: (n, S + 1)."""
        forms = [(part, part.losses.forms) for part in self.parts if part.losses is not None]
        found = self.together(forms, u)[: self.worlds.measured]
        return program_losses.tangents(found, u) if self.bent else found

    @property
    def ratio(self) -> bool:
        """Whether losses are what is to be small over ``under``."""
        losses = self.parts[0].losses
        return losses is not None and losses.under is not None

    def under(self, u: Array) -> Array:
        """What losses are divided by in the worlds that count: (n, S + 1)."""
        forms = [
            (p, p.losses.under) for p in self.parts if p.losses is not None and p.losses.under is not None
        ]
        return self.together(forms, u)[: self.worlds.measured]

    def objective(self, loss: float) -> float:
        """The objective, in the user's own sense, at what its losses come to; infinite where they do not tell it."""
        sign = self.program.sign
        losses = self.parts[0].losses
        if self.bent or losses is None or not losses.reciprocal:
            return sign * loss
        return -sign / loss if sign * loss < 0.0 else -sign * math.inf

    def limit(self, key: RowKey, u: Array) -> Array:
        """Cuts of a limit in the worlds in which it counts, at ``u``; 0 where a world does not have it."""
        forms = [(part, part.rows[key]) for part in self.parts if key in part.rows]
        return self.together(forms, u)[: self.worlds.count_of(key.name)]

    def alternatives(self, key: RowKey, i: int, u: Array) -> Array:
        """Cuts (A, S + 1) at ``u`` of a limit in world ``i`` of which one must hold; most limits have one."""
        for part in self.parts:
            here = np.flatnonzero(part.places == i)
            if here.size and key in part.gains:
                return part.alternatives(key, u)[:, int(here[0])]
        return self.limit(key, u)[i : i + 1]

    def together(self, forms: list[tuple[Part, Array]], u: Array) -> Array:
        """Cuts at ``u`` of what each part has a form of, world by world: (N, S + 1)."""
        found = np.zeros((self.worlds.size, u.size))
        for part, form in forms:
            found[part.places] = part.over_shared(form, u)
        return found


def ties(asked: Posed) -> list[Callable[[Array], Array]]:
    """Return what settles ties, in the question's order: cuts of each metric in the worlds that count, at a design.

    A number over a sum settles by tangents (see ``program_losses``); one that divides otherwise by what is decided, or
    that a maximum makes smaller, settles none here.
    """
    found: list[Callable[[Array], Array]] = []
    for name, *_ in asked.program.ties:
        for of in (_tie, _tie_of_reciprocal):
            forms = [(part, of(part, name)) for part in asked.parts]
            there = [(part, form) for part, form in forms if form is not None]
            if len(there) == len(forms):
                found.append(partial(_tie_cuts, asked, there, bent=of is _tie_of_reciprocal))
                break
    return found


def _tie_cuts(asked: Posed, forms: list[tuple[Part, Array]], u: Array, *, bent: bool) -> Array:
    """Cuts of a metric in the worlds that count, at a design; ``bent``: of the reciprocal of what is below 0."""
    cuts = asked.together(forms, u)[: asked.worlds.measured]
    return tangents(cuts, u) if bent else cuts


def _tie(part: Part, name: str) -> Array | None:
    """A metric in the worlds of a part, (n, C + 1); None where it is no sum."""
    pair = _pair_of_tie(part, name)
    if pair is None:
        return None
    top, under, maxima = pair
    if under[:, :-1].any() or not (under[:, -1] > 0).all() or (top[:, maxima] < 0).any():
        return None
    return np.asarray(top / under[:, -1:])


def _tie_of_reciprocal(part: Part, name: str) -> Array | None:
    """The same of minus the sum that a metric is a number over; None where it is none."""
    pair = _pair_of_tie(part, name)
    if pair is None:
        return None
    top, under, maxima = pair
    if top[:, :-1].any() or not (top[:, -1] > 0).all() or (under[:, maxima] > 0).any():
        return None
    return np.asarray(-under / top[:, -1:])


def _pair_of_tie(part: Part, name: str) -> tuple[Array, Array, list[int]] | None:
    """What a metric divides, and what by, in the worlds of a part, and which columns are maxima; None of no metric."""
    pair = next((pair for n, *pair in part.program.ties if n == name), None)
    if pair is None:
        return None
    top, under = (np.broadcast_to(v, (part.places.size, v.shape[-1])) for v in pair)
    return top, under, [i for i, c in enumerate(part.program.columns) if isinstance(c, Maximum)]


def posed(
    worlds: Worlds,
    measure: Measured,
    kept: frozenset[str] | None = None,
    *,
    may_fail: int = 0,
    ratios: bool = False,
) -> Posed:
    """Write the programs of all worlds; raises NotPosynomial, with the reason, where that cannot be done.

    ``measure``: of the objective. What is a number over a sum is measured by that sum where the measure is the value in
    one world, or the objective is the same in each; the mean of reciprocals is not that of the mean: with ``ratios``
    it is bent, and so are ratios of sums posed of which a measure is that of one world, or which have one divisor.
    ``kept``: names of the limits that count (None: all), since limits say how much there is of an amount at most;
    ``may_fail``: in how many worlds one of them may fail.
    """
    if not is_linear(worlds.nominal):
        raise NotPosynomial("no affine arithmetic")
    if kept is not None:
        own = frozenset(x.name for x in worlds.nominal.model.limits if x.name not in kept)
        worlds = worlds.changed(
            lambda q: replace(q, limits=tuple(x for x in q.limits if x.name in kept), waive=q.waive | own)
        )
        worlds = replace(worlds, caps=tuple(c for c in worlds.caps if c.name in kept))
    # a measure is within its end in some world, which need not be one where another is, or what may fail does not
    limited = len(worlds.caps) + (may_fail > 0) < 2 and may_fail < worlds.count_of("")
    parts = list[Part]()
    for places, p in _parts_of_like_programs(worlds, np.arange(worlds.size)):
        alike = places.size == worlds.size
        parts.append(_world_part(places, p, {c.key for c in worlds.caps}, limited=limited, alike=alike))
        if len(parts) > MOST_WORLD_PARTS:
            raise NotPosynomial(f"samples that fall into more than {MOST_WORLD_PARTS} kinds")
    first = _atoms_of_part(parts[0])
    if any(_atoms_of_part(part) != first or part.base.shape != parts[0].base.shape for part in parts):
        raise NotPosynomial(AMOUNTS)
    bases = np.stack([part.base for part in parts])
    bases = _with_largest_ends(parts[0].program, parts[0].shared, bases) if limited else bases
    if np.ptp(bases, axis=0).any():
        raise NotPosynomial(AMOUNTS)
    parts = [replace(part, base=bases[0]) for part in parts]
    return Posed(worlds, tuple(parts), _is_bent(worlds, parts, measure, ratios=ratios))


def _is_bent(worlds: Worlds, parts: Sequence[Part], measure: Measured, *, ratios: bool) -> bool:
    """Whether each reciprocal is measured as it is; raises NotPosynomial for a measure that no program states."""
    losses = [part.losses for part in parts if part.losses is not None]
    alone, reciprocal = of_one_world(measure, worlds.measured), [x.reciprocal for x in losses]
    unders = [x.under for x in losses if x.under is not None]
    if unders:
        one_divisor = _same_in_all(parts, unders)
        stated = ratios and isinstance(measure, Weighing) and (alone or one_divisor)
        if len(unders) < len(losses) or not stated:
            raise NotPosynomial(RATIOS)
    if not any(reciprocal) or (all(reciprocal) and (alone or _same_in_all(parts, [x.forms for x in losses]))):
        return False
    # of what is maximised a mean of reciprocals is not concave
    if not (ratios and all(reciprocal) and isinstance(measure, Weighing) and parts[0].program.sign > 0):
        raise NotPosynomial(RATIOS)
    return True


def _same_in_all(parts: Sequence[Part], forms: Sequence[Array]) -> bool:
    """Whether affine functions of each part are the same in all worlds."""
    if any(form[:, list(part.defines)].any() for form, part in zip(forms, parts, strict=True)):
        return False
    over = np.concatenate([form[:, [*p.shared, -1]] for form, p in zip(forms, parts, strict=True)])
    return not np.ptp(over, axis=0).any()


def _parts_of_like_programs(worlds: Worlds, places: Indices) -> Iterator[tuple[Indices, Program]]:
    """Cut worlds into parts whose programs come out alike."""
    try:
        p = program(divided.with_each_number(divided.at(worlds.with_caps_in_each(), places), _many))
    except Differ as differ:
        holds = np.broadcast_to(differ.holds.reshape(-1), places.shape)
        yield from _parts_of_like_programs(worlds, places[holds])
        yield from _parts_of_like_programs(worlds, places[~holds])
    else:
        yield places, p


def _atoms_of_part(part: Part) -> list[Atom]:
    columns = [part.program.columns[i] for i in part.shared]
    if not all(isinstance(c, str | Entry | Differs) for c in columns):
        # an indicator is known by what it is made of, which may differ from part to part
        return [c if isinstance(c, str | Entry | Differs) else f" {k}" for k, c in enumerate(columns)]
    return columns


def _world_part(places: Indices, p: Program, caps: Collection[RowKey], *, limited: bool, alike: bool) -> Part:
    """``alike``: whether all worlds are of this part; ``limited``: whether limits hold in some world."""
    tops, bottoms = (np.broadcast_to(m, (places.size, *m.shape[-2:])) for m in (p.numerators, p.denominators))
    # which argument is the largest is chosen in each world (see ``alternatives``)
    choices = [i for i, c in enumerate(p.columns) if isinstance(c, Largest)]
    rows = {key: tops[:, r] - bottoms[:, r] for r, key in enumerate(p.keys) if key is not None}
    base, defines = program_maxima.rows_of_definitions(p, tops, bottoms, choices)
    # what an amount is made of is the same in every world, and decided once as that is
    apart = program_maxima.maxima_within(base, defines, tops - bottoms)
    if alike:
        apart += [i for i in program_maxima.same_maxima(p, defines, tops - bottoms) if i not in apart]
    base += [r for i in apart for r in defines.pop(i)]
    maxima = list(defines)
    for r, key in enumerate(p.keys):
        if key is not None and key in caps:
            same = alike and not (np.ptp(rows[key], 0).any() or rows[key][:, [*maxima, *choices]].any())
            # a mean is that of the metric where what divides it, or what it divides, is the user's number, or where
            # the metric is the same in every world
            end = (bottoms if key.side == "max" else tops)[:, r]
            if not same and (end[:, :-1].any() or np.ptp(end[:, -1])):
                raise NotPosynomial(f"a limit on the mean or CVaR of a ratio of sums, {key.name}")
    shared = np.array([i for i in range(len(p.columns)) if i not in {*maxima, *choices}])
    plain = _of_amounts(p, base, tops[:, base], bottoms[:, base], limited=limited)
    if np.ptp(plain, axis=0).any() or plain[:, :, maxima].any():
        raise NotPosynomial(AMOUNTS)
    losses = program_losses.of_program(p, places.size)
    arguments = [tops[:, r] for k in defines.values() for r in k]
    if any(
        (form[:, [*maxima, *apart]] < 0).any() for form in [*arguments, *([losses.forms] if losses else [])]
    ):
        raise NotPosynomial(GAINS)
    if losses is not None and losses.under is not None and losses.under[:, [*maxima, *apart]].any():
        raise NotPosynomial(RATIOS)
    largest = {i: np.stack([tops[:, r] for r in k]) for i, k in defines.items()}
    gains = _gains(rows, caps, largest, apart)
    own = plain[0][:, [*shared, -1]]
    return Part(places, p, shared, losses, rows, own, p.equal[base], largest, gains)


def _gains(
    rows: Mapping[RowKey, Array], caps: Collection[RowKey], largest: Mapping[int, Array], apart: Sequence[int]
) -> dict[RowKey, int]:
    """Return limits that a maximum makes easier, with its column: one of shared columns alone, in each world."""
    maxima, found = list(largest), dict[RowKey, int]()
    for key, form in rows.items():
        eased = [i for i in (*maxima, *apart) if (form[:, i] < 0).any()]
        if not eased:
            continue
        if len(eased) > 1 or key in caps or eased[0] in apart or largest[eased[0]][..., maxima].any():
            raise NotPosynomial(GAINS)
        found[key] = eased[0]
    return found


def _of_amounts(p: Program, base: Sequence[int], tops: Array, bottoms: Array, *, limited: bool) -> Array:
    """Return rows (n, R, C + 1) of shared columns alone, those that say whether there is any of an amount alike.

    There is some in every world where there is some in one, if the same columns make it up; their ends without limits
    are those of every world, too, and so are the largest that limits imply where all hold in some world, ``limited``.
    """
    found = tops - bottoms
    found = _with_largest_ends(p, np.arange(len(p.columns)), found) if limited else found
    for row, column, _ in p.amounts:
        r = base.index(row) if row in base else -1
        amount = tops[0, r]
        high = np.broadcast_to(p.high, (1, len(p.columns)))[0] if p.high.ndim == 1 else p.high[0]
        most = float(np.where(amount[:-1] > 0, amount[:-1] * high, 0.0).sum())
        alike = bool(((tops[:, r] > 0) == (amount > 0)).all()) and (tops[:, r] >= 0).all()
        if r >= 0 and np.ptp(found[:, r], axis=0).any() and alike and amount[-1] == 0 and np.isfinite(most):
            found[:, r] = amount
            found[:, r, column] -= most
    return np.asarray(found)


def _with_largest_ends(p: Program, columns: Indices, rows: Array) -> Array:
    """Return rows (n, R, C + 1) with the largest end of all n of what a column says whether there is any of."""
    says = np.append([isinstance(p.columns[i], Some) for i in columns], False)
    return np.where(says & (rows < 0.0), rows.min(axis=0), rows)


def _many(v: Any) -> Any:
    """Numbers of many points in the place of an array."""
    return Many(v) if np.ndim(v) == 1 else v
