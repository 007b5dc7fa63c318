"""A fitted behaviour for people and for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dse.models.described.fitted import ELSEWHERE, PROMISES
from dse.quantities import show
from dse.system.columns import aligned

if TYPE_CHECKING:
    from dse.fitting.behaviours.behaviour import Behaviour

FIT_DIGITS = 4


def text(fit: Behaviour) -> str:
    """Return the fit as a page of text: function, coefficients, errors on runs held out, deciles, the worst runs."""
    f, held = fit.fitted, fit.held
    lines = [
        f"{f.name}: {f.target} of {', '.join(c.name for c in f.columns)}, {len(fit.measured)} runs",
        fit.method,
        "",
        f"  {f.target} = {f.formula()}",
        "",
        f"form   a {PROMISES[f.form]};",
        f"       {ELSEWHERE}",
        f"range  {'; '.join(_column_range_text(c) for c in f.columns)}"
        + (f"; {len(f.hull)} sides of a hull" if f.hull else ""),
        "",
    ]
    if fit.estimates:
        rows = [(e.name, f"{e.value:.4g}", _interval(e.low, e.high, e.value)) for e in fit.estimates]
        lines += [*aligned([("coefficient", "value (SI)", "95 % interval"), *rows]), ""]
    deciles = [
        (
            f"{_in_unit_of_fit(fit, d.low)} to {_in_unit_of_fit(fit, d.high)}",
            str(d.runs),
            f"{d.mean:.2%}",
            f"{d.bias:+.2%}",
        )
        for d in held.deciles
    ]
    worst = (_run_row(fit, i) for i in fit.worst())
    interval = (
        f"{100 * held.confidence:g}% of runs lie between {held.low:.3g} and {held.high:.3g} of the model"
    )
    lines += [
        f"error on runs held out ({held.split}): mean {held.mean:.2%}, median {held.median:.2%}, "
        f"greatest {held.greatest:.2%}",
        f"error on the runs fitted: mean {fit.error:.2%}",
        f"{interval} (found in held-out folds: {held.coverage:.1%})",
        "",
        *aligned([(f"{f.target} by the model", "runs", "mean error", "bias"), *deciles]),
        "",
        *aligned([("worst runs", "measured", "by the model", *fit.numbers), *worst]),
    ]
    return "\n".join([*lines, *(f"Note: {n}" for n in fit.notes)])


def _run_row(fit: Behaviour, run: int) -> tuple[str, ...]:
    columns = {c.name: c.unit for c in fit.fitted.columns}
    values = (show(float(v[run]), columns[n], FIT_DIGITS) for n, v in fit.numbers.items())
    return (
        fit.where(run),
        _in_unit_of_fit(fit, fit.measured[run]),
        _in_unit_of_fit(fit, fit.modelled[run]),
        *values,
    )


def _in_unit_of_fit(fit: Behaviour, value: float) -> str:
    return show(float(value), fit.fitted.unit, FIT_DIGITS)


def _column_range_text(column: Any) -> str:
    ends = (show(e, column.unit, FIT_DIGITS) for e in (column.least, column.greatest))
    return f"{column.name} {' to '.join(ends)}"


def _interval(low: float, high: float, value: float) -> str:
    return f"0 to {high:.4g}, not visible in these runs" if value <= 0 else f"{low:.4g} to {high:.4g}"


def record(fit: Behaviour) -> dict[str, Any]:
    """Return the fit as plain data, SI."""
    f, held = fit.fitted, fit.held
    return {
        "model": "posynomial",
        "name": f.name,
        "form": f.form,
        "sharpness": f.sharpness if f.form == "softmax" else None,
        "target": {"name": f.target, "unit": f.unit},
        "columns": [asdict(c) for c in f.columns],
        "terms": [
            {
                "coefficient": t.coefficient,
                "exponents": dict(t.exponents),
                "group": t.group,
                "interval": t.interval,
            }
            for t in f.terms
        ],
        "hull": [{"exponents": dict(s.exponents), "greatest": s.greatest} for s in f.hull],
        "coefficients": {e.name: {"value": e.value, "low": e.low, "high": e.high} for e in fit.estimates},
        "method": fit.method,
        "source": f.source,
        "runs": len(fit.measured),
        "error": fit.error,
        "held_out": {
            "split": held.split,
            "mean": held.mean,
            "median": held.median,
            "greatest": held.greatest,
            "confidence": held.confidence,
            "low": held.low,
            "high": held.high,
            "coverage": held.coverage,
            "deciles": [asdict(d) for d in held.deciles],
        },
        "residuals": list(f.residuals),
        "worst": [
            {
                "run": i + 1,
                "line": fit.lines[i] if fit.lines else None,
                "measured": float(fit.measured[i]),
                "modelled": float(fit.modelled[i]),
            }
            for i in fit.worst()
        ],
        "notes": list(fit.notes),
    }
