"""What a fit is: parameters with their intervals, errors, cross-validation, and where the data came from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.fitting.errors import save
from dse.fitting.machine_fits import clock_file, picture, report
from dse.fitting.outliers import Outlier
from dse.fitting.statistics import Errors
from dse.system.arrays import Array
from dse.system.records import dataclass

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOT_VISIBLE = "not visible in these runs"
MOST_ERROR = 0.5
"""The largest mean error, on runs held out, of what is still called a model of them."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A fitted parameter in SI with its confidence interval; ``doubt`` says what is doubtful about it, if anything.

    ``high`` is infinite where the runs bound the parameter from below only. ``written``: whether it goes into the
    machine file; one that the runs do not show is left out where the model can do without it.
    """

    name: str
    value: float
    unit: str
    low: float
    high: float
    meaning: str = ""
    doubt: str = ""
    written: bool = True

    def holds(self, value: float) -> bool:
        """Whether ``value`` lies in the confidence interval."""
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of voltages and frequencies, with what it costs by the fitted model (SI, by name)."""

    name: str
    measured: Mapping[str, float]
    derived: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two-sample Kolmogorov-Smirnov test between the errors of two models."""

    what: str
    statistic: float
    p_value: float

    @property
    def differ(self) -> bool:
        """Whether the errors come from different distributions (p < 0.05, as in Choi et al. 2014)."""
        return self.p_value < 0.05


@dataclass(frozen=True, slots=True)
class Runs:
    """Measured and modelled figures of every run, SI, by name: what the residuals and the picture show.

    ``held``: (model - measured)/measured of every run by a fit that has not seen it, where these are kept.
    """

    measured: Mapping[str, Array]
    modelled: Mapping[str, Array]
    groups: tuple[str, ...] = ()
    uncapped: Mapping[str, Array] = field(default_factory=dict)
    held: Mapping[str, Array] = field(default_factory=dict)

    def residuals(self) -> dict[str, list[float]]:
        """Return (model - measured)/measured of every run."""
        return {k: (m / self.measured[k] - 1).tolist() for k, m in self.modelled.items()}


@dataclass(frozen=True, slots=True)
class Fit:
    """A machine fitted to measurements.

    ``errors``: of the model on the runs it was fitted to, by what is measured; ``validation``: on runs it was
    not fitted to, by kind of cross-validation; ``uncapped``: parameters and errors of the model without a
    power cap beside it (roofline), ``comparisons`` of their errors. ``outliers``: runs left out, and then
    ``all_runs``, ``all_runs_errors``: parameters and errors of the least squares of all runs. ``notes`` say what
    the user should know. ``form``: which of a model's forms was fitted, where it has several. ``correlation``: of the
    estimates, by pairs of parameters.
    """

    model: str
    name: str
    source: str
    digest: str
    date: str
    confidence: float
    method: str
    parameters: tuple[Estimate, ...]
    errors: Mapping[str, Errors]
    runs: Runs
    settings: tuple[Setting, ...] = ()
    validation: Mapping[str, Errors] = field(default_factory=dict)
    uncapped: tuple[Estimate, ...] = ()
    uncapped_errors: Mapping[str, Errors] = field(default_factory=dict)
    comparisons: tuple[Comparison, ...] = ()
    outliers: tuple[Outlier, ...] = ()
    all_runs: tuple[Estimate, ...] = ()
    all_runs_errors: Mapping[str, Errors] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    form: str = ""
    correlation: tuple[tuple[str, str, float], ...] = ()

    def __getitem__(self, name: str) -> Estimate:
        """Return a fitted parameter by name; raises KeyError naming what there is."""
        found = next((p for p in self.parameters if p.name == name), None)
        if found is None:
            raise KeyError(f"{name!r}; fitted are {', '.join(p.name for p in self.parameters)}")
        return found

    @property
    def values(self) -> dict[str, float]:
        """The fitted parameters by name, SI, as the machine file has them."""
        return {p.name: p.value for p in self.parameters if p.written and math.isfinite(p.value)}

    @property
    def size(self) -> int:
        """How many runs the model was fitted to."""
        return next(iter(self.errors.values())).runs

    @property
    def held_out(self) -> tuple[str, float]:
        """The largest mean error on runs held out, and of what; on the fitted runs where none could be held out."""
        found = {k: e.mean for k, e in (self.validation or self.errors).items()}
        what = max(found, key=found.__getitem__)
        return what, found[what]

    @property
    def distrust(self) -> str:
        """Why this fit is not a model of the runs: its error exceeds 50 %; empty where it does not."""
        what, mean = self.held_out
        if mean <= MOST_ERROR:
            return ""
        error = f"the error of {what} is {100 * mean:.0f} % on average, above {100 * MOST_ERROR:.0f} %"
        return f"{error}: this is not a model of these runs"

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes, and first what speaks against the fit and the runs left out."""
        first = [self.distrust] if self.distrust else []
        many = len(self.outliers)
        if many:
            first.append(f"{many} outlier{'s' * (many > 1)} left out: {'; '.join(map(str, self.outliers))}")
        return (*first, *self.notes)

    def machine(self) -> str:
        """Return the machine file, TOML; of a kernel's clocks the model file.

        Raises FittingError for the clocks of several kernels.
        """
        if self.form:
            return clock_file.model_file(self)
        return report.machine_file(self)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the machine file.

        Raises StoreError where it cannot be written; FittingError, unless ``force``, where ``distrust`` says why
        it should not be.
        """
        return save(path, self.machine(), self.source, self.distrust, force=force)

    def plot(self) -> Figure:
        """Draw model against measurement."""
        return picture.draw(self)

    def record(self) -> dict[str, Any]:
        """Return everything as JSON has words for it; None for infinity."""
        return report.record(self)

    def __str__(self) -> str:
        return report.text(self)
