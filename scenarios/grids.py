"""The grid of a sweep: its axes, and the question at each of its points."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from scenarios.axes import Target
from scenarios.decisions import halved
from scenarios.question import STRETCH, Decision, Limit, Question, settled


@dataclass(frozen=True, slots=True)
class GridAxis:
    """One axis: a dimension of the dataset with its coordinate values (SI numbers, or names)."""

    name: str
    path: str
    unit: str
    long_name: str
    values: tuple[float, ...] | tuple[str, ...]

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers."""
        return not isinstance(self.values[0], str)


@dataclass(frozen=True, slots=True)
class Grid:
    """The product of the axes, in file order; without any axis it has the one point ``()``.

    ``bases``: one question for each combination of machines and word sizes on the axes (all else follows from
    these); ``targets``: what each axis changes; ``vacuous``: value up to which a lower limit says nothing.
    """

    axes: tuple[GridAxis, ...]
    targets: tuple[Target, ...]
    bases: Mapping[tuple[int, ...], Question]
    vacuous: Mapping[str, float]

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
        if len(index) != len(self.axes):
            raise IndexError(f"a point of this grid has {len(self.axes)} indices, not {len(index)}")
        base = self.bases[tuple(int(i) for i, t in zip(index, self.targets, strict=True) if t.structural)]
        given, limits, decide = dict(base.given), base.limits, base.decide
        for i, axis, aim in zip(index, self.axes, self.targets, strict=True):
            value = axis.values[i]
            if aim.kind == "given":
                given[aim.name] = value
            elif aim.kind == "limit":
                limits = tuple(self.limited(x, aim, float(value)) for x in limits)
            elif aim.kind == "within":
                limits = tuple(replace(x, within=float(value)) if x.name == aim.name else x for x in limits)
            elif aim.kind == "decide":
                decide = tuple(_decision(d, aim, float(value)) for d in decide)
        return settled(replace(base, given=given, limits=limits, decide=decide))

    def decided(self) -> tuple[str, ...]:
        """Return the names of what is decided at some point of the grid (time spent idling left aside)."""
        named = [range(n) if not a.numeric else (0,) for a, n in zip(self.axes, self.shape, strict=True)]
        every = [d.name for index in itertools.product(*named) for d in self.question(index).decide]
        return tuple(dict.fromkeys(n for n in every if n != STRETCH.name))

    def limited(self, limit: Limit, aim: Target, value: float) -> Limit:
        """Return a limit with the value of an axis, where that axis changes it."""
        if limit.name != aim.name:
            return limit
        if aim.side == "max":
            return replace(limit, maximum=value)
        return replace(limit, minimum=value if value > self.vacuous[aim.name] else None)


def _decision(d: Decision, aim: Target, value: float) -> Decision:
    if d.name != aim.name:
        return d
    if aim.side == "max_halvings":
        return replace(d, minimum=halved(d.base or 0.0, value))
    return replace(d, minimum=value) if aim.side == "min" else replace(d, maximum=value)
