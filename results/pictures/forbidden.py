"""Regions of a sweep without an answer: what to call each, where it is, and how it is hatched."""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.system.pictures import GREY
from dse.system.records import dataclass
from results import axes
from results.dataset import CONFLICTING, LIMIT
from results.pictures.canvas import HATCHES
from results.telling.limits import sides_as_one

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Hatches:
    """The hatches of a picture by what they mean, the same in every panel."""

    used: dict[str, str] = field(default_factory=dict)

    def of(self, text: str) -> str:
        """Return the hatch of a region."""
        return self.used.setdefault(text, HATCHES[len(self.used) % len(HATCHES)])


def regions(dataset: xr.Dataset, other: str | None = None) -> list[tuple[str, xr.DataArray]]:
    """Find the regions without an answer: what to call each, and where it is.

    Infeasible regions are told apart by the limits in conflict. With ``other``: where it holds all along it, and each
    conflict that is in the way of one of its values by itself.
    """
    status = dataset["status"]
    found = []
    for code, text in axes.UNANSWERED.items():
        here = status == code
        if code == axes.INFEASIBLE and "binding" in dataset:
            found += _by_conflict(dataset, here if other is None else here.all(other), other)
        else:
            found.append((text, here if other is None else here.all(other)))
    return [(text, where) for text, where in found if bool(where.any())]


def _by_conflict(
    dataset: xr.Dataset, here: xr.DataArray, other: str | None
) -> list[tuple[str, xr.DataArray]]:
    clash = (dataset["binding"] == CONFLICTING).transpose(*here.dims, *([other] if other else ()), LIMIT)
    shape = np.count_nonzero(here.values), math.prod(clash.shape[here.ndim :])
    each = clash.values[here.values].reshape(shape)
    kinds, which = np.unique(each, axis=0, return_inverse=True)
    texts = [
        _conflict_text(dataset, kind.reshape(-1, dataset.sizes[LIMIT]) if kind.size else kind[None])
        for kind in kinds
    ]
    found = []
    for text in reversed(dict.fromkeys(texts)):
        where = np.zeros(here.shape, bool)
        where[here.values] = np.isin(
            which.ravel(), [k for k, other_text in enumerate(texts) if other_text == text]
        )
        found.append((text, here.copy(data=where)))
    return found


def _conflict_text(dataset: xr.Dataset, rows: Any) -> str:
    """Say which limits are in conflict, of several lines each conflict (rows) with the fewest limits first."""
    rows = np.unique(rows, axis=0)[::-1]
    told = (_names(dataset, row) for row in rows[np.argsort(rows.sum(-1), kind="stable")])
    names = ", or ".join(filter(None, told))
    return f"infeasible: {names}" if names else axes.UNANSWERED[axes.INFEASIBLE]


def _names(dataset: xr.Dataset, conflict: Any) -> str:
    """Write the names of the limits of one conflict."""
    return " and ".join(map(axes.words, sides_as_one(map(str, dataset[LIMIT].values[conflict]))))


def hatch_stretches(
    hatches: Hatches, panel: Axes, dataset: xr.Dataset, other: str | None, borders: Any
) -> None:
    """Hatch where none of the lines has a design, each stretch by the limits that forbid it."""
    for text, mask in regions(dataset, other):
        hatch, label = hatches.of(text), text
        for start, stop in axes.runs(mask.values):
            style: dict[str, Any] = {"facecolor": "none", "edgecolor": GREY, "hatch": hatch, "linewidth": 0.5}
            panel.axvspan(borders[start], borders[stop], label=label, **style)
            label = "_nolegend_"


def hatch_cells(
    hatches: Hatches, panel: Axes, borders: tuple[Any, Any], dataset: xr.Dataset
) -> dict[str, Any]:
    """Hatch the cells of a map without a design; returns their marks by what they mean."""
    from matplotlib.patches import Patch, Rectangle

    marks: dict[str, Any] = {}
    for text, mask in regions(dataset):
        hatch = hatches.of(text)
        style: dict[str, Any] = {"facecolor": "#EEEEEE", "edgecolor": GREY, "hatch": hatch, "linewidth": 0.0}
        for row, cells in enumerate(mask.values):
            low, high = borders[1][row], borders[1][row + 1]
            for start, stop in axes.runs(cells):
                left, right = borders[0][start], borders[0][stop]
                panel.add_patch(Rectangle((left, low), right - left, high - low, **style))
        marks[text] = Patch(**style, label=text)
    panel.set_xlim(borders[0].min(), borders[0].max())
    panel.set_ylim(borders[1].min(), borders[1].max())
    return marks
