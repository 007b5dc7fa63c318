"""The model file of a kernel's time and power over the clock: a question may ask for its best clock at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dse.fitting.errors import FittingError
from dse.fitting.held_out import quantiles
from dse.models.described import model_text
from dse.models.described.fitted import POSYNOMIAL, Column, Derived, Fitted, Term
from dse.version import VERSION

if TYPE_CHECKING:
    from dse.fitting.machine_fits.result import Fit

CLOCK = "core_frequency"
UNIT_CLOCK = 1e9


def model_file(fit: Fit) -> str:
    """Return the model file, TOML: time as a sum of two monomials of the clock, power and energy as what follows.

    Raises FittingError where several kernels were fitted: a file has one.
    """
    kernels = list(dict.fromkeys(fit.runs.groups))
    if len(kernels) > 1:
        wrong = (
            f"a model file is of one kernel, and these runs are of {len(kernels)}: {', '.join(kernels[:5])}"
        )
        raise FittingError(fit.source, [f"{wrong}; write one file of runs for each"])
    a, b, p0, c, k = (
        fit[name].value for name in ("fixed_time", "cycles", "fixed_power", "clock_power", "clock_exponent")
    )
    time = _terms([(a, 0.0), (b, -1.0)])
    power = _terms([(p0, 0.0), (c / UNIT_CLOCK**k, k)])
    energy = _terms([(t[0] * p[0], t[1] + p[1]) for t in _pairs(time) for p in _pairs(power)])
    clock = fit.runs.measured["clock"]
    split, errors = next(iter(fit.validation.items()))
    data = Path(fit.source).name
    return model_text.written(
        Fitted(
            name=_file_name_of_kernel(fit.name),
            target="time",
            unit="s",
            columns=(Column(CLOCK, "Hz", float(clock.min()), float(clock.max()), "clock of the core"),),
            form=POSYNOMIAL,
            terms=time,
            source=f"fitted to {data} (sha256 {fit.digest}) by dse {VERSION}, {fit.date}",
            title=f"{fit.name}: time and power over the clock",
            meaning="time of the kernel",
            derived=(
                Derived("power", "W", power, "power of the run"),
                Derived("energy", "J", energy, "energy of the run, time times power"),
            ),
            error={
                "mean": errors.mean,
                "greatest": errors.greatest,
                "runs": errors.runs,
                "split": split.removeprefix("time of "),
            },
            residuals=quantiles(-np.log1p(fit.runs.held["time"])),
            notes=" ".join(f"{n[:1].upper()}{n[1:]}." for n in (fit.method, *fit.remarks)),
        )
    )


def _file_name_of_kernel(name: str) -> str:
    plain = "".join(x if x.isascii() and (x.isalnum() or x in " _.-") else "_" for x in name)[:100]
    return plain if plain[:1].isalnum() else f"kernel{plain}"[:100]


def _terms(pairs: Sequence[tuple[float, float]]) -> tuple[Term, ...]:
    return tuple(Term(c, {CLOCK: e} if e else {}) for c, e in pairs if c > 0)


def _pairs(terms: Sequence[Term]) -> list[tuple[float, float]]:
    return [(t.coefficient, t.exponents.get(CLOCK, 0.0)) for t in terms]
