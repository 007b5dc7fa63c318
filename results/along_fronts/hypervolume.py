"""The hypervolume of designs: what a set of them betters, up to a reference point; how it grows with a search."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.quantities import show
from dse.system.records import dataclass
from results.along_fronts.variable_names import HYPERVOLUME, REFERENCE, TRIAL

if TYPE_CHECKING:
    import xarray as xr

REFERENCE_MARGIN = 0.1
"""How far beyond the worst of a front its reference point lies, in ranges of the front, so that its ends count too."""
MOST_OBJECTIVES = 4
"""With more of them hypervolumes take longer than many a search."""
VOLUME_DIGITS = 5

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Growth:
    """How the hypervolume of a sampler's designs grew.

    ``volumes``: after each trial, in ``unit``; ``reference``: the point up to which designs count, by objective, SI.
    """

    volumes: tuple[float, ...]
    reference: Mapping[str, float]
    unit: str

    def reached(self, share: float) -> int:
        """Return after how many trials so much of the last hypervolume was there."""
        return int(np.argmax(np.asarray(self.volumes) >= share * self.volumes[-1])) + 1

    def words(self, units: Mapping[str, str]) -> str:
        """Say how large it is up to which point, and when most of it was found; ``units``: of the objectives."""
        corner = ", ".join(
            f"{n} {show(v, units.get(n, ''), VOLUME_DIGITS)}" for n, v in self.reference.items()
        )
        early = ", ".join(f"{share:.0%} of it after {self.reached(share)}" for share in (0.9, 0.99))
        size = f"{self.volumes[-1]:.{VOLUME_DIGITS}g}{'' if self.unit == '1' else f' {self.unit}'}"
        return f"Hypervolume {size} up to {corner}; {early} of {len(self.volumes)} trials"


def reference(front: Array) -> Array:
    """Return the reference point of a front, (points, objectives), all to be small.

    It is the worst of each objective on the front, and a tenth of its range beyond; where all points have the same
    value, a tenth of that value.
    """
    worst, width = front.max(axis=0), np.ptp(front, axis=0)
    room = np.where(width > 0, width, np.where(worst != 0, np.abs(worst), 1.0))
    return np.asarray(worst + REFERENCE_MARGIN * room)


def volumes(values: Array, trials: Sequence[int], total: int, corner: Array) -> Array:
    """Return the hypervolume after each of ``total`` trials.

    ``values``: designs, (designs, objectives), all to be small; ``trials``: by which trial each was found, counted from
    0 and rising; ``corner``: the reference point.
    """
    import moocore

    found = np.zeros(total)
    kept = np.empty((0, values.shape[1]))
    volume, done = 0.0, 0
    for value, trial in zip(values, trials, strict=True):
        if not (value < corner).all() or (kept <= value).all(axis=1).any():
            continue
        kept = np.vstack([kept[~(value <= kept).all(axis=1)], value])
        found[done:trial] = volume
        volume, done = float(moocore.hypervolume(kept, corner)), trial
    found[done:] = volume
    return found


def with_growth(dataset: xr.Dataset, growth: Growth) -> xr.Dataset:
    """Add the hypervolume along the dimension ``trial``, and its reference point as an attribute."""
    goals = " and ".join(growth.reference)
    told = f"hypervolume of {goals} that the designs of the trials until then dominate, up to the reference point"
    count = {"long_name": "trials done", "units": "1"}
    found = dataset.assign_coords({TRIAL: (TRIAL, np.arange(1.0, len(growth.volumes) + 1), count)})
    found[HYPERVOLUME] = (TRIAL, np.asarray(growth.volumes), {"units": growth.unit, "long_name": told})
    return found.assign_attrs({REFERENCE: json.dumps(dict(growth.reference))})
