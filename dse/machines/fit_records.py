"""What a machine file says of the fit that it comes from, under [fit]."""

from __future__ import annotations

from typing import Any

from dse.models import machine_parameter, machine_parameters
from dse.names import did_you_mean

LEAST_CONFIDENCE = 1e-6
"""Of intervals: below it their width says nothing of a spread."""
FIT_KEYS = ("model", "data", "sha256", "date", "runs", "outliers", "confidence", "correlation", "errors")
"""What [fit] may state, as ``dse fit`` writes it; models read the confidence and the correlation."""


def read(fit: Any) -> dict[str, Any]:
    """Return what a file says of its fit: the confidence of intervals, and the correlation of estimates.

    Raises ValueError for what cannot be read, and for other keys: one misspelt would be left out without a word.
    """
    if fit is None:
        return {}
    if not isinstance(fit, dict):
        raise ValueError("fit is a table: write [fit]")  # noqa: TRY004
    strange = [k for k in fit if k not in FIT_KEYS]
    if strange:
        near = did_you_mean(strange[0], FIT_KEYS) or f"; it has {', '.join(FIT_KEYS)}"
        raise ValueError(f"[fit] has no {strange[0]!r}{near}")
    sure, pairs = fit.get("confidence"), fit.get("correlation", [])
    if sure is not None and not (isinstance(sure, float) and LEAST_CONFIDENCE <= sure < 1):
        least = f" of at least {LEAST_CONFIDENCE:g}" if isinstance(sure, float) and 0 < sure < 1 else ""
        raise ValueError(f"[fit] confidence = {sure!r} is not a number between 0 and 1{least}, such as 0.95")
    listed = isinstance(pairs, list) and all(isinstance(p, list) and len(p) == 3 for p in pairs)
    if not listed or not all(isinstance(r, int | float) and -1 <= r <= 1 for _, _, r in pairs):
        raise ValueError("[fit] correlation is not a list of [name, name, number from -1 to 1]")
    for name in (str(n) for *names, _ in pairs for n in names):
        if machine_parameter(name) is None:
            near = did_you_mean(name, machine_parameters())
            raise ValueError(f"[fit] correlation: there is no machine parameter {name!r}{near}")
    return {"confidence": sure, "correlation": tuple((str(a), str(b), float(r)) for a, b, r in pairs)}
