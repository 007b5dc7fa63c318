"""A log program as plain data: sums of exponentials of log variables, the rows that hold them, what stays open."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field

from dse.system.records import dataclass
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.row_keys import RowKey

GOAL = "goal"
Linear = dict[str, float]
LEAST_LOG, LARGEST_LOG = -745.2, 709.78
"""Logarithms of all floats above 0 are between these."""
CUT_LOG = 700.0
"""What log variables of a model for other solvers are cut at."""
WIDEST_LOG = 1e18
"""Beyond this no log variable goes: to SCIP 1e20 is infinite."""


def within_reach(low: float, high: float, *, exact: bool) -> tuple[float, float]:
    """Return the ends of a log variable as they are: nearer ones, unless ``exact``, cut designs away."""
    if not exact:
        return max(low, -CUT_LOG), min(high, CUT_LOG)
    if not -WIDEST_LOG <= low <= high <= WIDEST_LOG:
        raise NotPosynomial("an exponential or a logarithm of what has no ends")
    return low, high


@dataclass(frozen=True, slots=True)
class Term:
    """sign * exp(constant + exponents . y) * product of linear forms in y (key "" is a form's constant)."""

    sign: float
    constant: float
    exponents: Linear
    factors: tuple[Linear, ...] = ()

    def times(self, other: Term) -> Term:
        """Multiply two terms."""
        exponents = dict(self.exponents)
        for name, a in other.exponents.items():
            exponents[name] = exponents.get(name, 0.0) + a
        exponents = {name: a for name, a in exponents.items() if abs(a) > 1e-12}
        return Term(
            self.sign * other.sign, self.constant + other.constant, exponents, self.factors + other.factors
        )

    def inverse(self) -> Term:
        """One over a term without factors."""
        return Term(self.sign, -self.constant, {name: -a for name, a in self.exponents.items()})


@dataclass(frozen=True, slots=True)
class LogVariable:
    """A log variable with its bounds.

    ``integer``, ``values`` of exp(y) where it stands for a discrete quantity.
    """

    name: str
    low: float
    high: float
    integer: bool = False
    values: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class LogRow:
    """sum of terms <= bound (or = bound).

    ``name`` and ``side`` are the user's, or "" for an auxiliary equation. ``own``: the variable that the row is there
    for, where it is the goal or an auxiliary one.
    """

    name: str
    side: str
    terms: tuple[Term, ...]
    bound: float
    equal: bool = False
    own: str = ""


@dataclass(frozen=True, slots=True)
class Swept:
    """What stays open in a log program: numbers of axes, each a name that terms hold and no variable is.

    ``given``: the axis that each of these given numbers is; ``limits``: the axis that is the bound of each of these
    limits, which are positive; ``ranges``: SI ends of each axis, positive.
    """

    given: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[RowKey, str] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LogProgram:
    """Minimise ``goal`` (a log variable; empty: any feasible point) subject to ``rows``.

    ``maxima``: (m, a, b) with m = max(a, b), exactly. ``sign``: objective = exp(sign * goal), or sign * size * goal
    where ``plain`` (an objective that is itself a logarithm or may be negative).
    """

    variables: tuple[LogVariable, ...]
    rows: tuple[LogRow, ...]
    maxima: tuple[tuple[str, str, str], ...] = ()
    goal: str = ""
    sign: float = 1.0
    plain: bool = False
    size: float = 1.0

    def objective(self, goal: float) -> float:
        """Return the user's objective at a value of the goal variable."""
        at = self.sign * goal
        if self.plain:
            return self.size * at
        return math.inf if at > LARGEST_LOG else math.exp(at)
