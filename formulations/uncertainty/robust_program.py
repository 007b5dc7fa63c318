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
from formulations.uncertainty.measures import Measured, of_one_world
from formulations.uncertainty.robust import GAINS
from formulations.uncertainty.worlds import Worlds

AMOUNTS = "an uncertain number in what says whether there is any of an amount"
RATIOS = "the mean of a ratio of sums of shares and counts over the samples"
MOST_WORLD_PARTS = 64
"""Parts of other columns that the worlds may fall into."""


@dataclass(frozen=True, slots=True)
class Part:
    """Worlds (numbers ``places``) whose programs have the same columns, of which ``shared`` are decided for all worlds.

    ``losses`` (n, C + 1): what is to be small of the objective, or of its ``reciprocal`` (see ``Posed.objective``);
    ``rows``: limits (n, C + 1) <= 0 by key; ``defines``: of each column of a maximum, inner ones first, its arguments
    (A, n, C + 1). ``base`` and ``equal``: rows of shared columns alone, the same in every world. ``gains``: of limits
    that a maximum makes easier its column.
    """

    places: Indices
    program: Program
    shared: Indices
    losses: Array | None
    rows: Mapping[RowKey, Array]
    base: Array
    equal: Bools
    defines: Mapping[int, Array]
    gains: Mapping[RowKey, int]
    reciprocal: bool

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
    """A question in N worlds over its shared columns."""

    worlds: Worlds
    parts: tuple[Part, ...]

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
        forms = [(part, part.losses) for part in self.parts if part.losses is not None]
        return self.together(forms, u)[: self.worlds.measured]

    def objective(self, loss: float) -> float:
        """The objective, in the user's own sense, at what its losses come to; infinite where they do not tell it."""
        sign = self.program.sign
        if not self.parts[0].reciprocal:
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

    A metric that divides by what is decided, or that a maximum makes smaller, settles none here.
    """
    found: list[Callable[[Array], Array]] = []
    for name, *_ in asked.program.ties:
        forms = [(part, _tie(part, name)) for part in asked.parts]
        there = [(part, form) for part, form in forms if form is not None]
        if len(there) == len(forms):
            found.append(lambda u, there=there: asked.together(there, u)[: asked.worlds.measured])  # type: ignore[misc]
    return found


def _tie(part: Part, name: str) -> Array | None:
    """A metric in the worlds of a part, (n, C + 1); None where it settles nothing."""
    pair = next((pair for n, *pair in part.program.ties if n == name), None)
    if pair is None:
        return None
    count = part.places.size
    top, under = (np.broadcast_to(v, (count, v.shape[-1])) for v in pair)
    maxima = [i for i, c in enumerate(part.program.columns) if isinstance(c, Maximum)]
    if under[:, :-1].any() or not (under[:, -1] > 0).all() or (top[:, maxima] < 0).any():
        return None
    return np.asarray(top / under[:, -1:])


def posed(
    worlds: Worlds, measure: Measured, kept: frozenset[str] | None = None, *, may_fail: int = 0
) -> Posed:
    """Write the programs of all worlds; raises NotPosynomial, with the reason, where that cannot be done.

    ``measure``: of the objective. What is a number over a sum is measured by that sum where the measure is the value in
    one world, or the objective is the same in each; the mean of reciprocals is not that of the mean.
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
    reciprocal = [part.reciprocal for part in parts]
    if any(reciprocal) and not (
        all(reciprocal) and (of_one_world(measure, worlds.measured) or _same_in_all(parts))
    ):
        raise NotPosynomial(RATIOS)
    return Posed(worlds, tuple(parts))


def _same_in_all(parts: Sequence[Part]) -> bool:
    """Whether the objective is the same in all worlds."""
    forms = [part.losses for part in parts if part.losses is not None]
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
    base, defines = _rows_of_definitions(p, tops, bottoms, choices)
    # what an amount is made of is the same in every world, and decided once as that is
    apart = _maxima_within(base, defines, tops - bottoms)
    if alike:
        apart += [i for i in _same_maxima(p, defines, tops - bottoms) if i not in apart]
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
    losses, reciprocal = _losses(p, places.size)
    for form in (*(tops[:, r] for k in defines.values() for r in k), losses):
        if form is not None and (form[:, [*maxima, *apart]] < 0).any():
            raise NotPosynomial(GAINS)
    arguments = {i: np.stack([tops[:, r] for r in k]) for i, k in defines.items()}
    gains: dict[RowKey, int] = {}
    for key, form in rows.items():
        eased = [i for i in (*maxima, *apart) if (form[:, i] < 0).any()]
        # one maximum of shared columns alone, and the limit in each world by itself
        if eased and (len(eased) > 1 or key in caps or arguments.get(eased[0], form)[..., maxima].any()):
            raise NotPosynomial(GAINS)
        if eased and eased[0] in apart:
            raise NotPosynomial(GAINS)
        if eased:
            gains[key] = eased[0]
    own = plain[0][:, [*shared, -1]]
    return Part(places, p, shared, losses, rows, own, p.equal[base], arguments, gains, reciprocal)


def _rows_of_definitions(
    p: Program, tops: Array, bottoms: Array, choices: Sequence[int]
) -> tuple[list[int], dict[int, list[int]]]:
    """Return rows of shared columns, and of each column of a maximum those that say what it is at least."""
    defines: dict[int, list[int]] = {i: [] for i, c in enumerate(p.columns) if isinstance(c, Maximum)}
    base: list[int] = []
    for r, key in enumerate(p.keys):
        if key is not None or tops[0, r, choices].any() or bottoms[0, r, choices].any():
            continue
        held = np.flatnonzero(bottoms[0, r])
        if held.size == 1 and int(held[0]) in defines and not p.equal[r]:
            defines[int(held[0])].append(r)
        else:
            base.append(r)
    return base, defines


def _maxima_within(base: Sequence[int], defines: Mapping[int, Sequence[int]], rows: Array) -> list[int]:
    """Return the columns of maxima that some rows of ``base`` have, and those within these."""
    found: list[int] = []
    left = list(base)
    while left:
        there: Bools = np.any(rows[:, left] != 0.0, axis=(0, 1), keepdims=True)[0, 0]
        left = [r for i, own in defines.items() if i not in found and there[i] for r in own]
        found += [i for i in defines if i not in found and there[i]]
    return found


def _same_maxima(p: Program, defines: Mapping[int, Sequence[int]], rows: Array) -> list[int]:
    """Return the columns of maxima that are the same in every world, where nothing is easier by one of them."""
    goals = [np.atleast_2d(v) for v in (p.goal, p.under) if v is not None]
    used = np.concatenate(
        [rows[:, [r for r, k in enumerate(p.keys) if k is not None]].reshape(-1, rows.shape[-1]), *goals]
    )
    found: list[int] = []
    # inner ones come first
    for i, own in defines.items():
        outer = [j for j in defines if j not in (*found, i)]
        if not (
            np.ptp(rows[:, own], axis=0).any() or rows[:, own][..., outer].any() or (used[:, i] < 0).any()
        ):
            found.append(i)
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


def _losses(p: Program, count: int) -> tuple[Array | None, bool]:
    """What is to be small of the objective in each world, and whether it is a sum that the objective is a number over.

    Raises NotPosynomial for a ratio of two affine forms.
    """
    if p.goal is None or p.under is None:
        return None, False
    # of what is maximised goal/under is the reciprocal
    goal, under = (np.broadcast_to(v, (count, v.shape[-1])) for v in (p.goal, p.under))
    plain, inverse = not under[:, :-1].any(), not goal[:, :-1].any()
    if plain and (p.sign > 0 or not inverse):
        return goal / under[:, -1:], p.sign < 0
    if inverse:
        return -under / goal[:, -1:], p.sign > 0
    raise NotPosynomial(RATIOS)
