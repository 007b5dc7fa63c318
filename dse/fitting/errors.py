"""What a fit says when measurements cannot be used."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from results.stores.files.storage import write_text

FAULTS_SHOWN = 100
"""How many faults a message lists in full."""


class FittingError(ValueError):
    """Measurements that cannot be fitted; ``problems`` has everything that is wrong, the message the first hundred."""

    def __init__(self, source: str, problems: Iterable[str]) -> None:
        self.source, self.problems = source, tuple(problems)
        super().__init__(source, self.problems)

    def __str__(self) -> str:
        lines = [f"{self.source} cannot be fitted:", *(f"  {p}" for p in self.problems[:FAULTS_SHOWN])]
        more = len(self.problems) - FAULTS_SHOWN
        return "\n".join([*lines, f"  … and {more} more"] if more > 0 else lines)


def save(path: str | Path, text: str, source: str, distrust: str, *, force: bool) -> Path:
    """Write the file of a fit.

    Raises StoreError where it cannot be written; FittingError, unless ``force``, where ``distrust`` says why it should
    not be.
    """
    if distrust and not force:
        raise FittingError(source, [distrust, "force=True writes it anyway"])
    return write_text(path, text)
