"""What a check of answers has found, put together over blocks, chunks and processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any

import numpy as np

from dse.system.records import dataclass

Array = np.ndarray[Any, Any]
EXAMPLES = 20


@dataclass(frozen=True, slots=True)
class Wrong:
    """Something wrong with the answer at a place of the grid."""

    place: tuple[int, ...]
    variable: str
    what: str


@dataclass(slots=True)
class Findings:
    """What a check has found so far: how many points, the largest of what is allowed, and what is wrong.

    ``limit``: by how much a limit is missed, ``gap``: of an optimal point, ``difference``: between a stored number and
    the model's (all relative). ``examples``: the first of all that is ``wrong``. ``proved``: optima whose bound was
    proved once more (see ``dse.sweeping.checks.dual_bounds``); ``doubtful``: the first of those where that failed,
    which says nothing against them. ``not_run``: points of a black box, whose designs are not evaluated again.
    """

    points: int = 0
    wrong: int = 0
    limit: float = 0.0
    gap: float = 0.0
    difference: float = 0.0
    examples: list[Wrong] = field(default_factory=list)
    proved: int = 0
    unproved: int = 0
    doubtful: list[tuple[int, ...]] = field(default_factory=list)
    not_run: int = 0

    def told(self) -> dict[str, Any]:
        """Return the findings as values that JSON has; ``read`` reads them back."""
        return asdict(self)

    @staticmethod
    def read(told: Mapping[str, Any]) -> Findings:
        """Return findings from what ``told`` made of them."""
        examples = [Wrong(tuple(e["place"]), e["variable"], e["what"]) for e in told["examples"]]
        return Findings(**{**told, "examples": examples, "doubtful": [tuple(p) for p in told["doubtful"]]})

    def add(self, other: Findings) -> None:
        """Take over what another check has found."""
        self.points += other.points
        self.not_run += other.not_run
        self.wrong += other.wrong
        self.limit = max(self.limit, other.limit)
        self.gap = max(self.gap, other.gap)
        self.difference = max(self.difference, other.difference)
        self.examples += other.examples[: EXAMPLES - len(self.examples)]
        self.proved += other.proved
        self.unproved += other.unproved
        self.doubtful += other.doubtful[: EXAMPLES - len(self.doubtful)]

    def tell(self, where: Array, origin: tuple[int, ...], variable: str, what: str) -> None:
        """Note what is wrong at the points of a piece where ``where`` is true."""
        bad = np.argwhere(where)
        self.wrong += len(bad)
        for spot in bad[: EXAMPLES - len(self.examples)]:
            place = tuple(int(o + i) for o, i in zip(origin, spot, strict=True))
            self.examples.append(Wrong(place, variable, what))
