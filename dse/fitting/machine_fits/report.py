"""A fit for people, for programs, and as a machine file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.fitting.statistics import Errors
from dse.machines.settings import QUANTITIES
from dse.models.described.model_text import toml_string
from dse.quantities import show
from dse.system.columns import aligned
from dse.version import VERSION

if TYPE_CHECKING:
    from dse.fitting.machine_fits.result import Estimate, Fit

_FIT_REPORT_DIGITS = 4


def text(fit: Fit) -> str:
    """Return the fit as a page of text: parameters, errors, validation, outliers, comparison, notes."""
    parameters = ("parameter", "value", f"{fit.confidence:.0%} interval", "")
    errors = ("relative error", "mean", "std", "least", "greatest", "runs")
    lines = [
        f"{fit.name}: {fit.model}, {fit.size} runs of {fit.source}",
        fit.method,
        "",
        *aligned([parameters, *map(_estimate_row, fit.parameters)]),
        "",
        *aligned([errors, *((k, *_percents(e)) for k, e in _all_errors(fit).items())]),
        *_outliers(fit),
    ]
    for c in fit.comparisons:
        verdict = "differ" if c.differ else "are not shown to differ"
        what = f"errors of {c.what} with and without a cap {verdict}"
        lines.append(f"Kolmogorov-Smirnov: {what} (D = {c.statistic:.3f}, p = {c.p_value:.2g})")
    if fit.settings:
        lines += ["", f"{len(fit.settings)} settings: {', '.join(s.name for s in fit.settings)}"]
    return "\n".join([*lines, *(f"Note: {n}" for n in fit.notes)])


def _outliers(fit: Fit) -> list[str]:
    """Name the runs left out, and show the least squares of all runs beside the fit without them."""
    if not fit.outliers:
        return []
    many = len(fit.outliers)
    lines = [
        "",
        f"{many} outlier{'s' * (many > 1)} left out, far from a robust fit of all {fit.size + many} runs:",
    ]
    lines += [f"  {o}" for o in fit.outliers]
    if not fit.all_runs:
        return [*lines, "The least squares of all runs find no model."]
    kept = {p.name: p for p in fit.parameters}
    rows = [
        (
            p.name,
            _estimate_text(kept[p.name].value, p.unit) if p.name in kept else "",
            _estimate_text(p.value, p.unit),
        )
        for p in fit.all_runs
    ]
    rows += [
        (f"mean error of {k}", f"{100 * fit.errors[k].mean:.2f} %", f"{100 * e.mean:.2f} %")
        for k, e in fit.all_runs_errors.items()
        if k in fit.errors
    ]
    return [*lines, "", *aligned([("", "without outliers", "all runs"), *rows])]


def _all_errors(fit: Fit) -> dict[str, Errors]:
    beside = {f"{k} without a cap": e for k, e in fit.uncapped_errors.items()}
    return {**fit.errors, **beside, **fit.validation}


def _estimate_row(e: Estimate) -> tuple[str, ...]:
    given = e.low == e.high == e.value
    between = "" if given else f"{_estimate_text(e.low, e.unit)} to {_estimate_text(e.high, e.unit)}"
    return e.name, _estimate_text(e.value, e.unit), between, e.doubt


def _estimate_text(value: float, unit: str) -> str:
    return show(value, unit, _FIT_REPORT_DIGITS) if math.isfinite(value) else "no bound"


def _percents(e: Errors) -> tuple[str, ...]:
    return (*(f"{100 * x:.2f} %" for x in (e.mean, e.std, e.least, e.greatest)), str(e.runs))


def record(fit: Fit) -> dict[str, Any]:
    """Return the fit as plain data, SI, with None where a bound is infinite."""
    return {
        "model": fit.model,
        "name": fit.name,
        "source": fit.source,
        "sha256": fit.digest,
        "date": fit.date,
        "method": fit.method,
        "confidence": fit.confidence,
        "runs": fit.size,
        "parameters": {e.name: _estimate(e) for e in fit.parameters},
        "settings": [{"name": s.name, **s.measured, **s.derived} for s in fit.settings],
        "errors": {k: asdict(e) for k, e in fit.errors.items()},
        "validation": {k: asdict(e) for k, e in fit.validation.items()},
        "uncapped": {
            "parameters": {e.name: _estimate(e) for e in fit.uncapped},
            "errors": {k: asdict(e) for k, e in fit.uncapped_errors.items()},
        }
        if fit.uncapped
        else None,
        "outliers": [{**asdict(o), "run": o.run + 1, "factor": o.factor} for o in fit.outliers],
        "all_runs": {
            "parameters": {e.name: _estimate(e) for e in fit.all_runs},
            "errors": {k: asdict(e) for k, e in fit.all_runs_errors.items()},
        }
        if fit.all_runs
        else None,
        "distrust": fit.distrust,
        "comparisons": [{**asdict(c), "differ": c.differ} for c in fit.comparisons],
        "residuals": fit.runs.residuals(),
        "notes": list(fit.notes),
    }


def _estimate(e: Estimate) -> dict[str, Any]:
    numbers = {"value": e.value, "low": e.low, "high": e.high}
    finite = {k: v if math.isfinite(v) else None for k, v in numbers.items()}
    return {**finite, "unit": e.unit, "meaning": e.meaning, "doubt": e.doubt, "written": e.written}


def machine_file(fit: Fit) -> str:
    """Return the machine file: parameters and settings with provenance, and a record of the fit."""
    data = Path(fit.source).name
    what = "energy" if "energy" in fit.errors else "time"
    e = fit.errors[what]
    short = f"fitted to {data} (sha256 {fit.digest[:16]}), {fit.date}"
    lines = [
        _toml_entry("title", f"{fit.name}: fitted to measurements"),
        _toml_entry("source", f"fitted to {data} (sha256 {fit.digest}) by dse {VERSION}, {fit.date}"),
        _toml_entry(
            "notes",
            " ".join([f"{fit.method[:1].upper()}{fit.method[1:]}.", *(f"{n}." for n in fit.remarks)]),
        ),
        "",
        "[fit]",
        _toml_entry("model", fit.model),
        _toml_entry("data", data),
        _toml_entry("sha256", fit.digest),
        _toml_entry("date", fit.date),
        f"runs = {fit.size}",
        *([f"outliers = {_lines_of_outliers(fit)}"] if fit.outliers else []),
        f"confidence = {fit.confidence!r}",
        *_correlation_line(fit),
    ]
    for kind, found in _all_errors(fit).items():
        lines += [
            "",
            f"[fit.errors.{toml_string(kind)}]",
            *(f"{k} = {v!r}" for k, v in asdict(found).items()),
        ]
    for p in fit.parameters:
        if p.written and math.isfinite(p.value):
            lines += ["", f"[parameters.{p.name}]", _toml_entry("value", f"{p.value!r} {p.unit}")]
            sure = f"{fit.confidence:.0%} interval {_estimate_text(p.low, p.unit)} to {_estimate_text(p.high, p.unit)}"
            errors = f"errors of {what} {100 * e.mean:.2f} % on average, {100 * e.greatest:.2f} % at most"
            fitted = f"{short}; {sure}; {errors}"
            lines.append(
                _toml_entry("source", "as given, not fitted" if p.low == p.high == p.value else fitted)
            )
            lines += [_toml_entry("doubt", p.doubt)] if p.doubt else []
            if p.low < p.high < math.inf and p.low <= p.value <= p.high:
                lines.append(f'interval = ["{p.low!r} {p.unit}", "{p.high!r} {p.unit}"]')
    for s in fit.settings:
        lines += ["", "[[settings]]", _toml_entry("name", s.name)]
        # what it costs follows from the constants, so that a change or a spread of these counts
        lines.append(_toml_entry("source", f"voltages and frequencies of {data}"))
        lines += _quantities(s.measured)
    return "\n".join(lines) + "\n"


def _correlation_line(fit: Fit) -> list[str]:
    """Return the line with the correlations of the parameters that the file has."""
    kept = {p.name for p in fit.parameters if p.written and math.isfinite(p.value)}
    pairs = [f'["{a}", "{b}", {r!r}]' for a, b, r in fit.correlation if {a, b} <= kept]
    return [f"correlation = [{', '.join(pairs)}]"] if pairs else []


def _lines_of_outliers(fit: Fit) -> list[int]:
    return [o.run + 1 if o.line is None else o.line for o in fit.outliers]


def _quantities(values: Mapping[str, float]) -> list[str]:
    return [_toml_entry(k, f"{v!r} {QUANTITIES[k].unit}") for k, v in values.items()]


def _toml_entry(key: str, value: str) -> str:
    return f"{key} = {toml_string(value)}"
