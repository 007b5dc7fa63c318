"""An answer with its certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


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
    """A limit at the answer: what was asked (``bound``, side "max" or "min"), what came out (``value``), how much is left.

    ``slack`` is relative (positive: room left); ``elasticity`` is percent of objective per percent of the limit
    (None where there is none); ``one_sided``: holds for relaxing only; ``next_change``: for integer problems the limit
    value at which the answer next changes, and ``next_objective`` the objective there.
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
class Solution:
    """The answer to one question; all numbers SI floats."""

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
    alternatives: tuple[Alternative, ...] = ()
    certificate: str = ""
    solver: str = ""
    seconds: float = 0.0
    message: str = ""
    objective_name: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    scenario: str = ""
