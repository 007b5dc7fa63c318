"""What a method hands back before the answer is re-evaluated and explained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from results.solution import Status


@dataclass(frozen=True, slots=True)
class Outcome:
    """A method's word on a problem.

    ``x``: SI value of every decided variable (None where there is no point). ``bound``: proven bound of the
    objective in the user's own sense and SI units (None: none known). ``certificate``: a sentence, what proves it.
    ``runaway``: the variable that runs away when unbounded.
    """

    status: Status
    x: Mapping[str, float] | None = None
    bound: float | None = None
    certificate: str = ""
    solver: str = ""
    runaway: str = ""
    message: str = ""
