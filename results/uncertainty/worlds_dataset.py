"""A study of worlds as a dataset of statistics, with CF attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dse.quantities import without_size
from results.telling.estimates import LEVELS

if TYPE_CHECKING:
    import xarray as xr

    from results.telling.fresh import Estimate
    from results.uncertainty.worlds import Worlds

_KEPT = (
    "Conventions",
    "title",
    "source",
    "model",
    "objectives",
    "scenario",
    "scenario_hash",
    "versions",
    "method",
)


def to_dataset(found: Worlds) -> xr.Dataset:
    """Return the statistics of a study.

    Of each number its quantiles along ``quantile`` under its own name, and NAME_mean; of each limit
    ``probability_binding`` along ``limit``; of each choice ``probability_NAME`` along NAME; ``probability_no_design``;
    of a fixed design its ``regret`` (relative) along ``quantile`` and as a mean. Each has NAME_interval along ``end``:
    the 95 % interval of the estimate. ``cell_methods`` says what was done along ``sample``.
    """
    import xarray as xr

    data: dict[str, Any] = {}
    names: dict[str, Any] = {}
    for n in found.numbers:
        name, about = _free(n.name, data), {"units": without_size(n.unit) or "1", "long_name": n.name}
        data[name] = ("quantile", [q.value for q in n.quantiles], about | _cell_method("quantile"))
        data[f"{name}_interval"] = (
            ("quantile", "end"),
            [q.interval for q in n.quantiles],
            _interval_attributes(about),
        )
        data |= _mean_variables(f"{name}_mean", n.mean, {**about, "long_name": f"mean {n.name}"})
    data |= _share_variables("probability_no_design", [found.none.estimate], (), "samples without any design")
    if found.binding:
        names["limit"] = np.array([s.name for s in found.binding])
        estimates = [s.estimate for s in found.binding]
        data |= _share_variables(
            "probability_binding", estimates, ("limit",), "samples in which the limit binds"
        )
    for name, shares in found.winners.items():
        dim = f"choice_{_free(name, names)}"
        names[dim] = np.array([s.name for s in shares])
        data |= _share_variables(
            f"probability_{name}", [s.estimate for s in shares], (dim,), f"samples in which {name} is so"
        )
    if found.broken is not None:
        told = "samples in which the fixed design breaks a limit"
        data |= _share_variables("probability_broken", [found.broken.estimate], (), told)
    if found.regret is not None:
        about = {
            "units": "1",
            "long_name": "what the fixed design loses, relative to the best of each sample",
        }
        data |= _mean_variables("regret_mean", found.regret.mean, about)
        data |= _mean_variables(
            "regret_high", found.regret.high, {**about, "comment": "95 % of samples lose no more"}
        )
    quantile = {"units": "1", "long_name": "share of samples below", "path": "quantile"}
    coordinates = {
        "quantile": ("quantile", list(LEVELS), quantile),
        "end": ("end", np.array(["low", "high"]), {"long_name": "end of the 95 % interval of an estimate"}),
        **{name: (name, labels, {"long_name": name}) for name, labels in names.items()},
    }
    about = {k: v for k, v in found.samples.attrs.items() if k in _KEPT} | {"samples": found.count}
    return xr.Dataset(data, coordinates, about)


def _free(name: str, taken: dict[str, Any]) -> str:
    made = name.replace("/", "_")
    return made if made not in taken and made not in ("quantile", "end", "limit") else f"{made}_value"


def _cell_method(of: str) -> dict[str, str]:
    return {"cell_methods": f"sample: {of}"}


def _interval_attributes(about: dict[str, Any]) -> dict[str, Any]:
    return {**about, "long_name": f"95 % interval of the estimate: {about['long_name']}"}


def _mean_variables(name: str, mean: Estimate, about: dict[str, Any]) -> dict[str, Any]:
    return {
        name: ((), mean.value, about | _cell_method("mean")),
        f"{name}_interval": ("end", list(mean.interval), _interval_attributes(about)),
    }


def _share_variables(name: str, found: list[Estimate], dims: tuple[str, ...], told: str) -> dict[str, Any]:
    about = {"units": "1", "long_name": f"share of {told}", **_cell_method("mean")}
    values: Any = [e.value for e in found] if dims else found[0].value
    ends: Any = [e.interval for e in found] if dims else list(found[0].interval)
    return {
        name: (dims, values, about),
        f"{name}_interval": ((*dims, "end"), ends, _interval_attributes(about)),
    }
