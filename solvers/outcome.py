"""What a method hands back before the answer is re-evaluated and explained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from dse.system.records import dataclass
from results.solution import Status
from results.telling.facts import NextBest

ENUMERATION, BY_INTERVALS, BY_SCIP = "enumeration", "interval branch and bound", "SCIP"
OF_SETS = "dse sets of things"
"""The solver of answers for which every design was tried."""
NO_PROOF = "no proof of optimality: "
"""What the word of a sampler begins with."""
OPTIMAL, INFEASIBLE, FAILED = 0, 2, 3
"""How a program ended, of many that are solved together."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A method's word on a problem.

    ``x``: SI value of every decided variable (None where there is no point). ``bound``: proven bound of the
    objective in the user's own sense and SI units (None: none known). ``certificate``: a sentence, what proves it.
    ``runaway``: the variable that runs away when unbounded; it grows, unless it ``falls``. ``ranges``: by enumeration,
    the lowest and highest optimal value of what is not unique, and ``next_best``: the next better design with another
    objective, and that objective. ``judged``: the model evaluated again at ``x``
    (``judgement.Judged``), where that was done already.
    """

    status: Status
    x: Mapping[str, float] | None = None
    bound: float | None = None
    certificate: str = ""
    solver: str = ""
    runaway: str = ""
    falls: bool = False
    message: str = ""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    next_best: NextBest | None = None
    judged: Any = None

    @property
    def endless(self) -> str:
        """Say which variable runs away, and where to."""
        return f"{self.runaway} {'falls' if self.falls else 'grows'} without limit"


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Minimal sets of limits that no design meets, by the user's names.

    ``feasible_values``: for each limit in one of the sets, the feasible value with all others kept (for a
    model's own limit the least ratio, i.e. the factor by which it is missed), or None where another conflict
    remains. ``certain``: False where some set could neither be met nor refuted within the work allowed; it
    then counts as met. ``every``: whether these are all minimal sets there are. ``ended``: limits for whose value
    the search ended early, so that it is none, or less may do.
    """

    minimal: tuple[tuple[str, ...], ...]
    feasible_values: dict[str, float | None]
    certain: bool = True
    every: bool = True
    ended: tuple[str, ...] = ()

    @property
    def certificate(self) -> str:
        """Say how many of the minimal sets are told, and what was not settled; nothing where there are none."""
        if not any(self.minimal):
            return "" if self.certain else "which limits are in conflict was not found: searches ended early"
        some = (
            "one minimal conflict is"
            if len(self.minimal) == 1
            else f"{len(self.minimal)} minimal conflicts are"
        )
        text = "every minimal conflict is named" if self.every else f"{some} named of perhaps several"
        text += "" if self.certain else ", as far as searches were closed"
        for name in self.ended:
            found = self.feasible_values.get(name) is not None
            what = (
                "a smaller change may do than the one named" if found else "a value may do that was not found"
            )
            text += f"; for {name}, whose search ended early, {what}"
        return text
