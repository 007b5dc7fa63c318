"""What a fit is: parameters with their intervals, errors, cross-validation, and where the data came from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.fitting.statistics import Array, Errors

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Estimate:
    """A fitted parameter in SI with its confidence interval; ``doubt`` says what is doubtful about it, if anything.

    ``high`` is infinite where the runs bound the parameter from below only.
    """

    name: str
    value: float
    unit: str
    low: float
    high: float
    meaning: str = ""
    doubt: str = ""

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
    """Measured and modelled figures of every run, SI, by name: what the residuals and the picture show."""

    measured: Mapping[str, Array]
    modelled: Mapping[str, Array]
    groups: tuple[str, ...] = ()
    uncapped: Mapping[str, Array] = field(default_factory=dict)

    def residuals(self) -> dict[str, list[float]]:
        """Return (model - measured)/measured of every run."""
        return {k: (m / self.measured[k] - 1).tolist() for k, m in self.modelled.items()}


@dataclass(frozen=True, slots=True)
class Fit:
    """A machine fitted to measurements.

    ``errors``: of the model on the runs it was fitted to, by what is measured; ``validation``: on runs it was
    not fitted to, by kind of cross-validation; ``uncapped``: parameters and errors of the model without a
    power cap beside it (roofline), ``comparisons`` of their errors. ``notes`` say what the user should know.
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
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Estimate:
        """Return a fitted parameter by name; raises KeyError naming what there is."""
        found = next((p for p in self.parameters if p.name == name), None)
        if found is None:
            raise KeyError(f"{name!r}; fitted are {', '.join(p.name for p in self.parameters)}")
        return found

    @property
    def values(self) -> dict[str, float]:
        """The fitted parameters by name, SI; what only a bound is known of is left out."""
        return {p.name: p.value for p in self.parameters if math.isfinite(p.value)}

    def machine(self) -> str:
        """Return the machine file, TOML."""
        from dse.fitting.report import machine_file

        return machine_file(self)

    def save(self, path: str | Path) -> Path:
        """Write the machine file; raises StoreError where it cannot be written."""
        from results.storage import local
        from results.trouble import explained

        target = local(path)
        with explained(target, "write"):
            target.write_text(self.machine(), encoding="utf-8")
        return target

    def plot(self) -> Figure:
        """Draw model against measurement."""
        from dse.fitting.picture import draw

        return draw(self)

    def record(self) -> dict[str, Any]:
        """Return everything as JSON has words for it; None for infinity."""
        from dse.fitting.report import record

        return record(self)

    def __str__(self) -> str:
        from dse.fitting.report import text

        return text(self)
