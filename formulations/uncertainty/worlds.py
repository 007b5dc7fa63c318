"""One question in many worlds: what is uncertain has a number for each world, and one design is judged in all of them.

A world is a sample of a distribution, or a vertex of a box of intervals. ``Worlds.every`` is the question with arrays
of N numbers where something is uncertain, so that one run of the model's equations judges a design in every world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.system.arrays import Array, Indices
from dse.system.nouns import plural, several
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics.later import kept, later
from formulations.arithmetics.many import Many, plain
from formulations.grids import divided
from formulations.row_keys import RowKey
from formulations.uncertainty.measures import Weighing
from scenarios.question import Limit, Question, combinations, fixed

SAMPLE = "sample"
"""What a world is called that is drawn from a distribution."""
NUMBERS_AT_ONCE = 80_000
"""Points times worlds that are worked out together: arrays of 640 kB, some of which stay in a cache."""
POINTS_AHEAD = 3
"""Dimensions of numbers that differ between points: these, designs, and worlds."""


@dataclass(frozen=True, slots=True)
class Cap:
    """A limit on the measure of a metric over the worlds: at most ``end`` where ``side`` is "max", else at least.

    The worst are the large values under a greatest measure, the small ones above a least one.
    """

    name: str
    measure: Weighing
    side: str
    end: float

    @property
    def key(self) -> RowKey:
        """What the limit is called among others."""
        return RowKey(self.name, self.side)

    def level(self, values: Array) -> Array:
        """Return the measure of a metric's values, whose last dimension is that of the worlds."""
        return self.measure.value(values, maximize=self.side == "min")

    def ratio(self, values: Array) -> Array:
        """Return the measure of these values as a ratio that must be <= 1."""
        size = abs(self.end) or 1.0
        sign = 1.0 if self.side == "max" else -1.0
        return np.asarray(1.0 + sign * (self.level(values) - self.end) / size)


@dataclass(frozen=True, slots=True)
class Worlds:
    """A question in N equally likely worlds.

    ``nominal``: with the file's own numbers (no world of its own). ``every``: with arrays of N numbers. ``word``: what
    a world is called in an answer. ``counted``: only the first so many worlds count in the measure and for the limits;
    in all of them the limits named in ``wide`` hold (None: all worlds count for all). ``limited``: where the measure is
    over all worlds, the first in which the other limits count. ``caps``: limits on measures of metrics over these.
    ``near``: of a question at many points (see ``judged``) that at the points that differ in what is given, and which
    of these each point is like.
    """

    nominal: Question
    every: Question
    size: int
    word: str = SAMPLE
    counted: int | None = None
    wide: frozenset[str] = frozenset()
    caps: tuple[Cap, ...] = ()
    limited: int | None = None
    near: tuple[Question, Indices] | None = None

    @property
    def points(self) -> int:
        """Number of points of the question: that of its ``Many`` numbers."""
        return (divided.shape(self.every) or (1,))[0]

    @property
    def kinds(self) -> int:
        """Number of points at which metrics are worked out."""
        return self.points if self.near is None else (divided.shape(self.near[0]) or (1,))[0]

    def at_points(self, values: Any) -> Any:
        """Return numbers (K, D, worlds) of the points that differ in what is given for every point, if they do."""
        found = plain(values)
        alike = self.near is None or np.ndim(found) < POINTS_AHEAD or len(found) == 1
        return found if alike or self.near is None else found[self.near[1]]

    @property
    def measured(self) -> int:
        """Number of worlds that count in the measure."""
        return self.size if self.counted is None else self.counted

    def count_of(self, limit: str) -> int:
        """Return the number of worlds in which a limit counts."""
        others = self.measured if self.limited is None else self.limited
        return self.size if limit in self.wide else others

    @property
    def plural(self) -> str:
        """What several worlds are called."""
        return several(self.word)

    @property
    def words(self) -> str:
        """How many worlds count, in words."""
        return plural(self.measured, self.word)

    def with_more(self, values: Mapping[str, Array], wide: frozenset[str]) -> Worlds:
        """Return these worlds and more, in which only the limits ``wide`` count; ``values``: of each number (V,)."""
        given = {**self.every.given, **{n: np.append(self._all(n), v) for n, v in values.items()}}
        count = next(iter(values.values())).size
        every = replace(self.every, given=given)  # type: ignore[arg-type]
        return replace(self, every=every, size=self.size + count, counted=self.measured, wide=wide)

    def _all(self, name: str) -> Array:
        return np.broadcast_to(np.asarray(self.every.given[name], float), (self.size,))

    def at(self, i: int) -> Question:
        """Return the question in world ``i``, of plain numbers."""
        return divided.with_each_number(self.every, lambda v: float(v[i]) if np.ndim(v) == 1 else v)

    def some(self, places: Sequence[int] | NDArray[Any]) -> Worlds:
        """Return some of the worlds, those that count in the measure first; what is limited over all is left out."""
        take = np.sort(np.asarray(places, dtype=int))
        counted, limited = (
            None if n is None else int((take < n).sum()) for n in (self.counted, self.limited)
        )

        def there(question: Question) -> Question:
            return divided.with_each_number(question, lambda v: v[take] if np.ndim(v) == 1 else v)

        near = None if self.near is None else (there(self.near[0]), self.near[1])
        every = there(self.every)
        return replace(
            self, every=every, size=take.size, counted=counted, limited=limited, caps=(), near=near
        )

    def at_some(self, points: Indices | slice) -> Worlds:
        """Return the worlds of a question at many points (``Many`` numbers) at some of these."""
        assert self.near is None, "of kinds of points others are left"
        return self.changed(lambda q: many_at(q, points))

    def changed(self, change: Callable[[Question], Question]) -> Worlds:
        """Return the worlds with the question changed in the same way in all of them."""
        return replace(self, nominal=change(self.nominal), every=change(self.every))

    def with_caps_in_each(self) -> Question:
        """Return the question in all worlds with the limits on measures as limits in each: their forms, no question."""
        return self.with_caps(self.every)

    def with_caps(self, question: Question) -> Question:
        """Return a question with the limits on measures beside its own."""
        limits = tuple(
            Limit(c.name, maximum=c.end) if c.side == "max" else Limit(c.name, minimum=c.end)
            for c in self.caps
        )
        return replace(question, limits=(*question.limits, *limits))

    def uncertain(self) -> dict[str, Array]:
        """Return the uncertain numbers by name, one for each world."""
        return {n: v for n, v in self.every.given.items() if np.ndim(v) == 1}  # type: ignore[misc]

    def choices(self) -> list[tuple[Mapping[str, str], Worlds]]:
        """Go through the combinations of what is chosen among names, each with the worlds it leaves."""

        def every(chosen: Mapping[str, str]) -> Question:
            left = fixed(self.every, chosen)
            # a machine's own number is not known either where it is uncertain
            given: dict[str, Any] = {**left.given, **self.uncertain()}
            return replace(left, given=given)

        return [
            (chosen, replace(self, nominal=nominal, every=every(chosen)))
            for chosen, nominal in combinations(self.nominal)
        ]


def many_at(question: Question, points: Indices | slice) -> Question:
    """Return a question with its ``Many`` numbers at some points, and those of worlds as they are."""
    return divided.with_each_number(question, lambda v: Many(v.values[points]) if isinstance(v, Many) else v)


def few_at_once(count: int, worlds: int) -> Iterator[Indices]:
    """Go through points, few enough at a time that their arrays over the worlds stay in a cache."""
    step = max(NUMBERS_AT_ONCE // worlds, 1)
    return (np.arange(first, min(first + step, count)) for first in range(0, count, step))


def of_values(nominal: Question, values: Mapping[str, Array], word: str = SAMPLE) -> Worlds:
    """Return the worlds in which these given numbers of a question have these values (N,), SI; without any, one."""
    size = next((v.size for v in values.values()), 1)
    given: dict[str, Any] = {**nominal.given, **values}
    return Worlds(nominal, replace(nominal, given=given), size, word)


@dataclass(frozen=True, slots=True)
class Judged:
    """Designs in every world, by the model's equations in plain floats; the last dimension is that of the worlds.

    ``metrics`` and ``objective`` are those of the points of ``Worlds.near``. ``ratios``: limits, which hold at 1 and
    below, in the worlds in which they count; those on a measure have one ratio for all worlds. ``objective``: in the
    worlds that count in the measure; None where there is none.
    """

    objective: Array | None
    ratios: Mapping[RowKey, Array]
    metrics: Mapping[str, Array]

    def counted(self, key: RowKey, left_out: Mapping[str, frozenset[int]]) -> Array:
        """Return a limit's ratios by world, minus infinity where it need not hold; of one design."""
        out = left_out.get(key.name)
        if not out:
            return self.ratios[key]
        found = np.array(self.ratios[key])
        found[list(out)] = -np.inf
        return found


def judged(worlds: Worlds, x: Mapping[str, Any]) -> Judged:
    """Run the model at a design, or at several (arrays (D, 1)), in all worlds at once.

    A question at N points has ``Many`` numbers (N, 1), or (N, 1, 1) where several designs are judged at each of them.
    Designs that differ between points (K, 1, 1) are those of the points ``worlds.near``.
    """
    point: dict[str, Any] = {n: np.asarray(v, float)[()] for n, v in x.items()}
    every = _each_later(evaluation.unraised(worlds.every))
    near = every if worlds.near is None else _each_later(evaluation.unraised(worlds.near[0]))
    at_points = {n: worlds.at_points(v) for n, v in point.items()}
    shape, own = (
        np.broadcast_shapes(divided.shape(q), *map(np.shape, numbers.values()), (worlds.size,))
        for q, numbers in ((every, at_points), (near, point))
    )
    with np.errstate(all="ignore"):
        metrics = kept(evaluation.metrics(near, point))
        rows = (
            evaluation.ratios(every, point, metrics)
            if worlds.near is None
            else _ratios_at_worst(worlds, every, at_points, metrics)
        )
        goal = evaluation.objective(near, point, metrics) if every.objectives else None
    ratios = {key: _wide(r, shape)[..., : worlds.count_of(key.name)] for key, r in rows.items()}
    for cap in worlds.caps:
        count = worlds.count_of(cap.name)
        level = cap.ratio(_wide(metrics[cap.name], shape)[..., :count])
        ratios[cap.key] = _wide(level[..., None], (*shape[:-1], count))
    return Judged(
        None if goal is None else _wide(goal, own)[..., : worlds.measured],
        ratios,
        _Wide(metrics, own),
    )


def metrics(question: Question, x: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metrics of designs in all worlds of a question (see ``judged``), worked out when they are asked for."""
    point = {n: np.asarray(v, float)[()] for n, v in x.items()}
    with np.errstate(all="ignore"):
        return kept(evaluation.metrics(_each_later(evaluation.unraised(question)), point))


def _each_later(question: Question) -> Question:
    """Return a question whose metrics are worked out when they are asked for; a black box has arrays in any case."""
    if question.model.black_box:
        return question
    given: dict[str, Any] = {
        n: later(v) if isinstance(v, np.ndarray) else v for n, v in question.given.items()
    }
    return replace(question, given=given)


@dataclass(frozen=True, slots=True)
class _Wide(Mapping[str, Array]):
    """Metrics of one shape, each worked out when it is asked for."""

    metrics: Mapping[str, Any]
    shape: tuple[int, ...]

    def __getitem__(self, name: str) -> Array:
        return _wide(self.metrics[name], self.shape)

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)


def _ratios_at_worst(
    worlds: Worlds, every: Question, point: Mapping[str, Any], metrics: Mapping[str, Any]
) -> dict[RowKey, Any]:
    """Return limits at every point in their worst worlds: where they hold there they hold in all."""
    wide = {n: np.atleast_1d(plain(metrics[n])) for n in evaluation.read_by_limits(every, metrics)}
    largest, least = (
        evaluation.ratios(
            every, point, {n: worlds.at_points(worst(v, axis=-1, keepdims=True)) for n, v in wide.items()}
        )
        for worst in (np.max, np.min)
    )
    return {key: least[key] if key.side == "min" else row for key, row in largest.items()}


def _wide(v: Any, shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(np.asarray(plain(v), float), shape)


def differing(v: Array) -> Array:
    """Return numbers by world with one world in the place of all where they are the same memory."""
    return v[..., :1] if v.shape[-1] and v.strides[-1] == 0 else v
