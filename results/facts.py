"""What an answer says, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Status(StrEnum):
    """What an answer promises (design section 6)."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    EVALUATED = "evaluated"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class LimitState:
    """A limit at the answer.

    ``value``: what came out, NaN where there is no answer; ``bound``: what was asked; ``side``: "max",
    "min", or "model" for a model's own limit (a ratio, bound 1); ``slack``: relative room left (negative:
    violated). ``elasticity``: percent of the objective per percent of the limit, None where there is none;
    ``one_sided``: it holds for relaxing only. For integer problems instead ``next_change``, the value of
    the limit at which the answer next changes, and ``next_objective``, the objective there.
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


@dataclass(frozen=True, slots=True)
class Alternative:
    """One categorical choice with its best objective, or why it has none."""

    choice: Mapping[str, str]
    status: Status
    objective: float | None
    conflict: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Facts:
    """The answer to one question; all numbers SI floats.

    ``limits`` goes by the names of ``results.limits.limit_names``; where there is no answer it still holds
    what was asked of every limit in ``conflict``. ``conflict``: a minimal set of limits that cannot hold
    together, each with the value that would do with all else kept (for a model's own limit the factor by
    which it is missed), or None where further conflicts, listed in ``conflicts``, remain. ``ranges``:
    lowest and highest optimal value of what is not unique. ``parameters``: percent of the objective per
    percent of each machine parameter; ``one_sided``: those of them whose worth holds only for the change that
    betters the objective. ``runaway``: the variable that an unbounded question sends to
    infinity or zero. ``message``: what went wrong, if anything did. ``flags``: what 0, 1, 2 ... mean in a
    metric that says which case holds.

    ``index``: family and (dimension, label) pairs of each element of an indexed family, by its name
    ("share.a.cpu": "share", region a, processor cpu); ``given``: those elements that were not decided but given.
    ``menus``: what 1, 2, 3 ... pick in a number that picks from a menu. ``whole``: the variables that were to be
    whole numbers. ``meanings``: what the model's own limits in a conflict say.
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
    seconds: float = 0.0
    message: str = ""
    objective_name: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    scenario: str = ""
    maximize: bool = False
    runaway: str = ""
    waived: tuple[str, ...] = ()
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    index: Mapping[str, tuple[str, tuple[tuple[str, str], ...]]] = field(default_factory=dict)
    given: Mapping[str, float] = field(default_factory=dict)
    menus: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    whole: tuple[str, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)
