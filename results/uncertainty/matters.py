"""What matters in a question: which uncertain numbers move its answer, and what not knowing them costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dse.quantities import without_size
from dse.system.records import dataclass
from results.uncertainty.indices import Indices
from results.uncertainty.matters_text import to_text

if TYPE_CHECKING:
    import xarray as xr

BY_CHANCE = "by chance"


@dataclass(frozen=True, slots=True)
class Lost:
    """What not knowing one number costs, in the unit of the objective: the mean over parts of its range.

    ``value``: None where no design holds in all samples; ``designs``: in how many of the parts there is one.
    """

    name: str
    value: float | None
    designs: int


@dataclass(frozen=True, slots=True)
class Losses:
    """What not knowing each number costs, the dearest first; ``objective``: the best mean over all samples.

    ``by_chance``: what parts drawn by lot seem to gain; ``samples`` and ``parts``: how many.
    """

    name: str
    unit: str
    objective: float | None
    lost: tuple[Lost, ...]
    by_chance: Lost
    samples: int
    parts: int

    def record(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "objective_name": self.name,
            "unit": without_size(self.unit),
            "objective": self.objective,
            "samples": self.samples,
            "parts": self.parts,
            "by_chance": self.by_chance.value,
            "lost": {x.name: {"value": x.value, "parts_with_a_design": x.designs} for x in self.lost},
        }


@dataclass(frozen=True, slots=True)
class Matters:
    """What matters in a question.

    ``of``: whose numbers these are; ``indices``: of the objective first, then of each other number that varies;
    ``rows``: of Saltelli's samples, ``left_out``: those of them with a world without a design; ``losses``: what is
    lost through not knowing each number (None: nothing is decided, or it was not asked); ``samples``: the answers;
    ``still``: the numbers that do not vary and so have no indices, the objective first where it is one.
    """

    title: str
    of: str
    indices: tuple[Indices, ...]
    rows: int
    left_out: int
    seed: int
    losses: Losses | None
    samples: xr.Dataset
    still: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """Return it as plain data, numbers in SI units."""
        return {
            "title": self.title,
            "of": self.of,
            "rows": self.rows,
            "rows_left_out": self.left_out,
            "seed": self.seed,
            "indices": [one.record() for one in self.indices],
            "do_not_vary": list(self.still),
            "losses": None if self.losses is None else self.losses.record(),
        }

    def __str__(self) -> str:
        """Return it as text, a table for each part."""
        return to_text(self)
