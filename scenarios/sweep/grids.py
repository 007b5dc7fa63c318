"""The grid of a sweep: its axes, and the question at each of its points."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from dse.system.records import dataclass
from scenarios.axes.axes import Target
from scenarios.axes.chance_axes import KINDS as CHANCE_KINDS
from scenarios.axes.chance_axes import SPREAD
from scenarios.decisions import halved
from scenarios.distributions import Joint
from scenarios.question import STRETCH, Decision, Limit, Question, settled

Values = Sequence[float] | Sequence[str]


@dataclass(frozen=True, slots=True)
class Column:
    """What changes along an axis of rows, row by row; ``name``: that of its coordinate in a dataset."""

    name: str
    path: str
    unit: str
    long_name: str
    values: Values

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers."""
        return not isinstance(self.values[0], str)


@dataclass(frozen=True, slots=True)
class GridAxis:
    """One axis: a dimension of the dataset with its coordinate values (SI numbers, or names).

    Of an axis of rows, along which several numbers or names change together, the values number the rows; ``columns``
    say what stands in them; ``table``: the name of the table that they are from.
    """

    name: str
    path: str
    unit: str
    long_name: str
    values: Values
    columns: tuple[Column, ...] = ()
    table: str = ""

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers."""
        return not isinstance(self.values[0], str)

    @property
    def parts(self) -> tuple[GridAxis | Column, ...]:
        """What changes along it: itself, or its columns."""
        return self.columns or (self,)


@dataclass(frozen=True, slots=True)
class Change:
    """What changes along an axis (``along``: its number): where it goes, and its values."""

    along: int
    of: GridAxis | Column
    target: Target

    @property
    def apart(self) -> bool:
        """Whether more than one number changes with it: a name, a whole machine, the size of a word."""
        return not self.of.numeric or self.target.structural


class Tied(Protocol):
    """The optima that limits of a grid are within a share of, point by point."""

    def written(self, question: Question, region: tuple[slice, ...], take: Callable[[Any], Any]) -> Question:
        """Return a question of a block with the optima in its limits; ``take``: makes numbers of those of a block."""

    def part(self, places: Sequence[Any]) -> Tied:
        """Return the optima at some places along each axis."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The product of the axes, in file order; without any axis it has the one point ``()``.

    ``targets``: what each path of each axis changes; ``bases``: one question for each combination of machines and word
    sizes on the axes, by these values (all else follows from them); ``vacuous``: value up to which a lower limit says
    nothing. ``tied``: the optima that limits are within a share of, where these are known. ``at_a_point``: where the
    equations look at a number that is swept, so that ``bases`` take plain numbers only: the question at one point.
    """

    axes: tuple[GridAxis, ...]
    targets: tuple[Target, ...]
    bases: Mapping[tuple[float | str, ...], Question]
    vacuous: Mapping[str, float]
    tied: Tied | None = None
    at_a_point: Callable[[Question], Question] | None = None

    @property
    def changes(self) -> tuple[Change, ...]:
        """What changes along the axes."""
        parts = [(i, part) for i, axis in enumerate(self.axes) for part in axis.parts]
        return tuple(Change(i, part, t) for (i, part), t in zip(parts, self.targets, strict=True))

    @property
    def levels(self) -> dict[tuple[str, str], str]:
        """The axes that change levels and spreads of what is uncertain, by kind and the name of whose they are."""
        changes = (c for c in self.changes if c.target.kind in CHANCE_KINDS)
        return {(c.target.kind, c.target.name): self.axes[c.along].name for c in changes}

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values on each axis."""
        return tuple(len(a.values) for a in self.axes)

    @property
    def size(self) -> int:
        """Number of points."""
        return math.prod(self.shape)

    def question(self, index: tuple[int, ...]) -> Question:
        """Return the question at a point; raises IndexError where there is no such point."""
        found = self.untied(index)
        if self.at_a_point is not None:
            found = self.at_a_point(found)
        if self.tied is None:
            return found
        return self.tied.written(found, tuple(slice(i, i + 1) for i in index), lambda v: float(v.reshape(())))

    @property
    def first(self) -> Question:
        """The question at the first place of each axis."""
        return self.question((0,) * len(self.axes))

    def untied(self, index: tuple[int, ...]) -> Question:
        """Return the question at a point without the optima that limits are tied to."""
        if len(index) != len(self.axes):
            raise IndexError(f"a point of this grid has {len(self.axes)} indices, not {len(index)}")
        values = [(c.target, _float_if_number(c.of.values[index[c.along]])) for c in self.changes]
        base = self.bases[tuple(value for aim, value in values if aim.structural)]
        given, limits, decide, joint = dict(base.given), base.limits, base.decide, base.joint
        chance: dict[str, Any] = {}
        for aim, value in values:
            if aim.kind == "given":
                given[aim.name] = value
            elif aim.kind == "limit":
                limits = tuple(self.limited(x, aim, float(value)) for x in limits)
            elif aim.kind == "within":
                limits = tuple(replace(x, within=float(value)) if x.name == aim.name else x for x in limits)
            elif aim.kind == "probability":
                joint, limits = _promised(joint, limits, aim.name, float(value))
            elif aim.kind in ("measure", SPREAD):
                chance |= _chanced(replace(base, **chance), aim, float(value))
            elif aim.kind == "decide":
                decide = tuple(with_end(d, aim, float(value)) for d in decide)
        return settled(replace(base, given=given, limits=limits, decide=decide, joint=joint, **chance))

    def kinds(self) -> Iterator[tuple[int, ...]]:
        """Go through one place for each combination of what is more than a number along the axes."""
        return itertools.product(*(self._kinds_along(i) for i in range(len(self.axes))))

    def _kinds_along(self, i: int) -> list[int]:
        apart = [c.of.values for c in self.changes if c.along == i and c.apart]
        if not apart:
            return [0]
        first: dict[object, int] = {}
        for place, values in enumerate(zip(*apart, strict=True)):
            first.setdefault(values, place)
        return list(first.values())

    def part(self, places: Sequence[Any]) -> Grid:
        """Return the grid of some places along each axis (integers), in this order."""
        axes = tuple(_axis_at(a, p) for a, p in zip(self.axes, places, strict=True))
        return replace(self, axes=axes, tied=None if self.tied is None else self.tied.part(places))

    def decided(self) -> tuple[str, ...]:
        """Return the names of what is decided at some point of the grid (time spent idling left aside)."""
        every = [d.name for index in self.kinds() for d in self.question(index).decide]
        return tuple(dict.fromkeys(n for n in every if n != STRETCH.name))

    def limited(self, limit: Limit, aim: Target, value: float) -> Limit:
        """Return a limit with the value of an axis, where that axis changes it."""
        if limit.name != aim.name:
            return limit
        if aim.side == "max":
            return replace(limit, maximum=value)
        return replace(limit, minimum=value if value > self.least(aim) else None)

    def least(self, aim: Target) -> float:
        """Return the value up to which a number on an axis is as good as not there: a lower limit says nothing."""
        return self.vacuous[aim.name] if (aim.kind, aim.side) == ("limit", "min") else 0.0


def _promised(
    joint: Joint | None, limits: tuple[Limit, ...], name: str, value: float
) -> tuple[Joint | None, tuple[Limit, ...]]:
    """Return what is promised with another probability of one limit, or of those that hold together."""
    found = tuple(replace(x, probability=value) if x.name == name else x for x in limits)
    if joint is not None and not any(x.name == name for x in limits):
        return replace(joint, probability=value), found
    return joint, found


def _chanced(question: Question, aim: Target, value: float) -> dict[str, Any]:
    """Return what changes of a question with another level of a measure, or another spread of a distribution."""
    if aim.kind == "measure" and not aim.name:
        assert question.measure is not None, "its level is swept"
        return {"measure": replace(question.measure, level=value)}
    if aim.kind == "measure":
        measures = {**question.measures, aim.name: replace(question.measures[aim.name], level=value)}
        goals = [o.name for o in question.objectives]
        # of a single objective by a measure of its own it stands in both places
        own = {"measure": measures[aim.name]} if goals == [aim.name] else {}
        return {"measures": measures, **own}
    found = question.uncertain
    assert found is not None, "its spread is swept"
    marginal = found.marginals[aim.name]
    wider = replace(marginal, numbers=(marginal.numbers[0], value))
    return {"uncertain": replace(found, marginals={**found.marginals, aim.name: wider})}


def _float_if_number(value: float | str) -> float | str:
    return value if isinstance(value, str) else float(value)


def _axis_at(axis: GridAxis, places: Sequence[int]) -> GridAxis:
    columns = tuple(replace(c, values=_taken(c.values, places)) for c in axis.columns)
    return replace(axis, values=_taken(axis.values, places), columns=columns)


def _taken(values: Any, places: Sequence[int]) -> Any:
    if hasattr(values, "take"):
        return values.take(places)
    # a million rows are taken thrice in a sweep: no loop of Python's own
    listed = getattr(places, "tolist", lambda: places)()
    return operator.itemgetter(*listed)(values) if len(listed) > 1 else tuple(values[i] for i in listed)


def with_end(d: Decision, aim: Target, value: Any, halving: Callable[[float, Any], Any] = halved) -> Decision:
    """Return a decision with the end that an axis moves, where it is this one's: to a number, or an array of them.

    ``halving``: ``halved``, or what does the same with arrays.
    """
    if d.name != aim.name:
        return d
    if aim.side == "max_halvings":
        return replace(d, minimum=halving(d.base or 0.0, value))
    return replace(d, minimum=value) if aim.side == "min" else replace(d, maximum=value)
