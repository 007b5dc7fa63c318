"""An answer with its certificate: its facts, and how it shows itself."""

from __future__ import annotations

from dse.system.records import dataclass
from results.telling.facts import Alternative, Facts, LimitState, Status
from results.telling.render import to_html, to_text

__all__ = ["THROUGH", "Alternative", "LimitState", "Solution", "Status"]

THROUGH = " through Pyomo"
"""Behind the name of a solver that the user asked for: its answer says in ``certificate`` what the solver claimed."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution(Facts):
    """The answer to one question; all numbers SI floats. It prints as a short table, in a notebook as HTML."""

    def __str__(self) -> str:
        return to_text(self)

    def _repr_html_(self) -> str:
        """Return the answer as HTML, for notebooks."""
        return to_html(self)
