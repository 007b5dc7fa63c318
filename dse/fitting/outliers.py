"""Runs that lie so far from a robust fit that noise does not explain them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dse.fitting.reading import Measurements
from dse.fitting.statistics import scale
from dse.quantities import show
from dse.system.arrays import Array, Bools
from dse.system.records import dataclass

_OUTLIER_DIGITS = 4
# the chance that a set of runs with normal errors alone has one called an outlier, and the factor that makes up
# for a spread that is itself estimated from few runs
_CHANCE, _CAUTION = 0.01, 1.5
# runs more than these lie apart: then the model is wrong, not the runs
_MOST_APART = 0.2
# fewer runs say nothing of their spread
_FEWEST_RUNS = 12


@dataclass(frozen=True, slots=True)
class Outlier:
    """A run left out of the fit: what of it is far from the model, measured and by the model, SI; ``run`` from 0."""

    run: int
    line: int | None
    what: str
    unit: str
    measured: float
    model: float

    @property
    def factor(self) -> float:
        """How many times the model's value was measured."""
        return self.measured / self.model

    def __str__(self) -> str:
        where = f"line {self.line}" if self.line is not None else f"run {self.run + 1}"
        measured, model = (
            show(self.measured, self.unit, _OUTLIER_DIGITS),
            show(self.model, self.unit, _OUTLIER_DIGITS),
        )
        return f"{where}: {self.what} {measured}, {self.factor:.3g} times the {model} of the fit"


@dataclass(frozen=True, slots=True)
class Residuals:
    """log(model/measured) of a figure of every run under a robust fit, and the figure as measured, in SI."""

    unit: str
    measured: Array
    error: Array


def outliers(runs: Measurements, figures: Mapping[str, Residuals], parameters: int) -> tuple[Outlier, ...]:
    """Return the runs that are outliers in any figure, with the figure that is farthest off, in order.

    An error counts as one beyond so many spreads (by the median of their sizes) as a normal error passes in one
    data set of a hundred. None where more than a fifth of the runs would be: then it is the model that does not fit.
    """
    from scipy.special import ndtri

    if runs.runs < _FEWEST_RUNS or not figures:
        return ()
    many = runs.runs * len(figures)
    cut = -_CAUTION * float(ndtri(_CHANCE / (2 * many)))
    names = list(figures)
    share = parameters // len(names) + 1
    far = np.stack([np.abs(f.error) / scale(f.error, share) for f in figures.values()])
    bad: Bools = far.max(axis=0) > cut
    if bad.sum() > _MOST_APART * runs.runs:
        return ()
    found = []
    for i in np.flatnonzero(bad).tolist():
        name = names[int(far[:, i].argmax())]
        figure = figures[name]
        value = float(figure.measured[i])
        line = runs.lines[i] if runs.lines else None
        found.append(Outlier(i, line, name, figure.unit, value, value * float(np.exp(figure.error[i]))))
    return tuple(found)
