"""What a fit says when measurements cannot be used."""

from __future__ import annotations

from collections.abc import Iterable


class FittingError(ValueError):
    """Measurements that cannot be fitted; the message lists everything that is wrong or missing."""

    def __init__(self, source: str, problems: Iterable[str]) -> None:
        self.source, self.problems = source, tuple(problems)
        super().__init__(source, self.problems)

    def __str__(self) -> str:
        return "\n".join([f"{self.source} cannot be fitted:", *(f"  {p}" for p in self.problems)])
