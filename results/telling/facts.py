"""What an answer says, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from results.telling.division import Division
from results.telling.fresh import Fresh


class Status(StrEnum):
    """What an answer promises."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    EVALUATED = "evaluated"
    ERROR = "error"


class ByValue:
    """Equality by value: numbers that do not exist (NaN) are the same, and what is not compared plays no part."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            same(getattr(self, f.name), getattr(other, f.name))
            for f in fields(self)  # type: ignore[arg-type]
            if f.compare
        )

    __hash__ = None  # type: ignore[assignment]


def same(a: Any, b: Any) -> bool:
    """Tell whether two values are the same, NaN being NaN, whatever they hold."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(v, b[k]) for k, v in a.items())
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b) or (a != a and b != b)  # noqa: PLR0124 (true of NaN only)


@dataclass(frozen=True, slots=True, eq=False)
class LimitState(ByValue):
    """A limit at the answer.

    ``value``: what came out, NaN where there is no answer; ``bound``: what was asked; ``side``: "max",
    "min", or "model" for a model's own limit (a ratio, bound 1); ``slack``: relative room left (negative:
    violated). ``elasticity``: percent of the objective per percent of the limit, None where there is none;
    ``one_sided``: it holds for relaxing only. For integer problems instead ``next_change``, the value of
    the limit at which the answer next changes, and ``next_objective``, the objective there. ``share``: of one design
    for many worlds, the share of these in which the limit binds; value and slack are then those of the worst one.
    """

    value: float
    bound: float
    side: str
    unit: str
    slack: float
    binding: bool
    elasticity: float | None = None
    one_sided: bool = False
    next_change: float | None = None
    next_objective: float | None = None
    share: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Alternative(ByValue):
    """One categorical choice with its best objective, or why it has none."""

    choice: Mapping[str, str]
    status: Status
    objective: float | None
    conflict: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class NextBest(ByValue):
    """The design that would be best if all that are as good as the answer were taken away, and its objective."""

    variables: Mapping[str, float | str]
    objective: float


@dataclass(frozen=True, slots=True, eq=False)
class Facts(ByValue):
    """The answer to one question; all numbers SI floats. Two are equal where all but ``seconds`` is the same.

    ``limits`` goes by the names of ``results.telling.limits.limit_names``; where there is no answer it still holds
    what was asked of every limit in ``conflict``. ``conflict``: a minimal set of limits that cannot hold
    together, each with the value that would do with all else kept (for a model's own limit the factor by
    which it is missed), or None where further conflicts, listed in ``conflicts``, remain. ``ranges``:
    lowest and highest optimal value of what is not unique. ``parameters``: percent of the objective per
    percent of each machine parameter; ``one_sided``: those of them whose worth holds only for the change that
    betters the objective. ``runaway``: the variable that an unbounded question sends to
    infinity or zero. ``held``: the variables that nothing but an end of what the model knows of them holds (p >= 1),
    each with the side of that end. ``outside``: the ratios that are at most 1 in the range in which the
    model was derived, and above it here. ``sources``: where numbers of the machine come from, a kind
    by name. ``message``: what went wrong, if anything did. ``flags``: what 0, 1, 2 ... mean in a metric that says which
    case holds.

    ``index``: family and (dimension, label) pairs of each element of an indexed family, by its name
    ("share.a.cpu": "share", region a, processor cpu); ``given``: those elements that were not decided but given.
    ``menus``: what 1, 2, 3 ... pick in a number that picks from a menu. ``whole``: the variables that were to be
    whole numbers. ``meanings``: what the model's own limits in a conflict say; ``divisions``: of those by which
    one number divides another, which numbers these are.

    ``measure``: what the objective is where something is uncertain ("mean of energy over 1024 samples"), and ``worlds``
    over how many worlds, each a ``world``: "sample", or "vertex" or "world" of a box. Over samples ``metrics`` are
    means, and ``spread`` is what 5 % and 95 % of them are below; of a box they are nominal, with least and greatest.
    ``fresh``: what the design comes to in samples that it was not chosen on. ``measures``: of names among the metrics
    that stand for a measure of another one which it is ("mean of energy"). ``sampling``: which samples, and why these.
    ``next_best``: where every design was tried, the next better one; None where there is no other, or none known.
    """

    status: Status
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    variables: Mapping[str, float | str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    limits: Mapping[str, LimitState] = field(default_factory=dict)
    conflict: Mapping[str, float | None] = field(default_factory=dict)
    conflicts: tuple[tuple[str, ...], ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    one_sided: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    certificate: str = ""
    solver: str = ""
    seconds: float = field(default=0.0, compare=False)
    message: str = ""
    objective_name: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    scenario: str = ""
    maximize: bool = False
    runaway: str = ""
    held: Mapping[str, str] = field(default_factory=dict)
    waived: tuple[str, ...] = ()
    outside: Mapping[str, float] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    index: Mapping[str, tuple[str, tuple[tuple[str, str], ...]]] = field(default_factory=dict)
    given: Mapping[str, float] = field(default_factory=dict)
    menus: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    whole: tuple[str, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)
    divisions: Mapping[str, Division] = field(default_factory=dict)
    measure: str = ""
    worlds: int = 0
    world: str = ""
    spread: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    fresh: Fresh | None = None
    next_best: NextBest | None = None
    measures: Mapping[str, str] = field(default_factory=dict)
    sampling: str = ""
