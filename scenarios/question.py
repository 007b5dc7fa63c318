"""One question with every name resolved and every number in SI: what formulations start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dse.models.model import Model
from dse.quantities import Quantity

HALVINGS = Quantity(
    "halvings", "h", "", "total log2 reduction of all decided machine parameters from their catalogue values"
)

STRETCH = Quantity(
    "stretch",
    "s",
    "",
    "elapsed time over the time of the run: what exceeds 1 is spent idling, which costs no energy",
    minimum=1.0,
    ceiling=1e15,
)


@dataclass(frozen=True, slots=True)
class Decision:
    """A decided variable.

    ``minimum`` and ``maximum`` are the user's own bounds (None: not set); ``integer``: whole numbers;
    ``values``: the only values allowed, ascending (also for ``powers_of`` and whole halvings; these fill the
    domain, since bounds are limits of their own); ``choices``: names of categorical values; ``base``: the
    machine's own value that halvings count from (machine parameters only); ``endless``: the values go on beyond
    the domain's box (powers).
    """

    name: str
    minimum: float | None = None
    maximum: float | None = None
    integer: bool = False
    values: tuple[float, ...] | None = None
    choices: tuple[str, ...] | None = None
    base: float | None = None
    endless: bool = False


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on a metric or a decided variable, SI; None: no limit on that side."""

    name: str
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, slots=True)
class Objective:
    """A metric or decided variable to minimise (or maximise)."""

    name: str
    maximize: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A scenario at one grid point.

    ``given`` holds every fixed parameter by the names of ``model.parameters()`` ("bodies",
    "machine.energy_per_flop"); decided ones are absent from it. ``objectives``: none (any feasible point),
    one, or several (a front). ``machines``: for a categorical choice of whole machines, each choice's
    parameters by name.
    """

    model: Model
    given: Mapping[str, float | str]
    decide: tuple[Decision, ...] = ()
    objectives: tuple[Objective, ...] = ()
    limits: tuple[Limit, ...] = ()
    waive: frozenset[str] = frozenset()
    idle: bool = False
    gap: float = 1e-6
    machines: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    title: str = ""
    scenario_text: str = ""
    scenario_hash: str = ""
