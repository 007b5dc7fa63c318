"""What an answer says, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from enum import StrEnum
from typing import Any

from dse.system.records import dataclass
from results.telling.division import Division
from results.telling.fresh import Fresh


class Status(StrEnum):
    """What is proved of an answer."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    EVALUATED = "evaluated"
    ERROR = "error"


HELD_BY = ("min", "max")
"""Sides of the end of its domain that alone holds a decided number."""


class ByValue:
    """Equality by value: NaN equals NaN, and fields that are not compared are ignored."""

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

    ``value``: the value reached, NaN if there is no answer; ``bound``: the bound asked for; ``side``: "max",
    "min", or "model" for a model's own limit (a ratio, bound 1); ``slack``: relative distance from the bound (negative:
    violated). ``elasticity``: percent of the objective per percent of the limit, None if there is none;
    ``one_sided``: it holds for relaxing only. For integer problems instead ``next_change``, the value of
    the limit at which the answer next changes, and ``next_objective``, the objective there (of the
    choice made, where the certificate says so). ``share``: for one design for many samples, the share of these in
    which the limit binds; value and slack are then those of the worst sample.
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
    """One categorical choice with its best objective, or the conflict that makes it infeasible.

    ``between``: see ``Facts``.
    """

    choice: Mapping[str, str]
    status: Status
    objective: float | None
    conflict: Mapping[str, float | None] = field(default_factory=dict)
    between: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class NextBest(ByValue):
    """The best design that is worse than the answer, and its objective."""

    variables: Mapping[str, float | str]
    objective: float


@dataclass(frozen=True, slots=True, eq=False)
class Facts(ByValue):
    """The answer to one question; all numbers SI floats. Two are equal if all fields but ``seconds`` are equal.

    ``limits`` has the names of ``results.telling.limits.limit_names``; if there is no answer it still holds
    the bound of every limit of the question in ``conflict``. ``conflicts``: minimal sets of limits that cannot hold
    together. ``conflict``: the limits of the first of them, of designs without rows those of all of them, each with the
    value at which the problem is feasible with all else kept (for a model's own limit the factor by which it is
    missed), or None if another conflict remains then. ``ranges``:
    lowest and highest optimal value of variables that are not unique. ``parameters``: percent of the objective per
    percent of each machine parameter; ``one_sided``: those whose sensitivity holds only for the change that
    improves the objective. ``runaway``: the variable that an unbounded question sends to
    infinity or zero. ``held``: the variables that only an end of their domain bounds (p >= 1),
    each with the side of that end. ``outside``: the ratios that are at most 1 in the range in which the
    model was derived, and above it here. ``left_out``: in words, the metrics for which the machine states too little.
    ``sources``: the sources of the numbers of the machine, a kind by name. ``message``: the error, if there is one.
    ``flags``: the meaning of 0, 1, 2 ... in a metric that says which case holds.

    ``index``: family and (dimension, label) pairs of each element of an indexed family, by its name
    ("share.a.cpu": "share", region a, processor cpu); ``given``: those elements that were not decided but given.
    ``menus``: the names of 1, 2, 3 ... in a number that selects from a menu. ``whole``: the variables that had to
    be whole numbers; ``fractions``: those that count things, had not to be whole and are not; ``between``: those of
    which ``conflict`` has a value that they may not have, between those that they may. ``meanings``: the meanings
    of the model's own limits in a conflict; ``divisions``: for limits by which one number divides another, these
    numbers.

    ``measure``: the measure of the objective over uncertain numbers ("mean of energy over 1024 samples"), and
    ``worlds`` over how many samples, each a ``world``: "sample", or "vertex" or "case" of a box. Over samples
    ``metrics`` are means, and ``spread`` their 5 % and 95 % quantiles; for a box they are nominal, with least and
    greatest. ``fresh``: the design in samples that it was not chosen on. ``measures``: for metrics that
    are a measure of another one, which measure ("mean of energy"). ``bytes_per_word``: by name, for amounts of words
    that were asked for in bytes and are shown in bytes (see ``results.telling.sizes``). ``sampling``: which samples
    were drawn, and why.
    ``not_worst``: the limits, objectives and metrics not proved to be worst in the cases of a box that were tried.
    ``tables``: the columns of tables that uncertain numbers are drawn from, SI, by table and path.
    ``next_best``: if every design was tried, the best one worse than this; None if there is none, or none known.
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
    left_out: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    index: Mapping[str, tuple[str, tuple[tuple[str, str], ...]]] = field(default_factory=dict)
    given: Mapping[str, float] = field(default_factory=dict)
    menus: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    whole: tuple[str, ...] = ()
    fractions: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)
    divisions: Mapping[str, Division] = field(default_factory=dict)
    measure: str = ""
    worlds: int = 0
    world: str = ""
    spread: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    not_worst: tuple[str, ...] = ()
    fresh: Fresh | None = None
    next_best: NextBest | None = None
    measures: Mapping[str, str] = field(default_factory=dict)
    sampling: str = ""
    bytes_per_word: Mapping[str, float] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
