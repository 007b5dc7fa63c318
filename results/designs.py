"""Which variables of a dataset tell a design in short: its axes, what is optimised, what is decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results import asked, flat, provenance
from results.dataset import goals

if TYPE_CHECKING:
    import xarray as xr

# what a document or a picture has no room for, unless it is asked for
LEFT_OUT = frozenset({"bound", "gap", "seconds", "message", "elasticity", "binding", "would_do", "joined"})


def in_short(dataset: xr.Dataset) -> list[str]:
    """Return the names that tell a design: axes, status, objectives, what is decided; all where that is not known."""
    axes = [n for d in flat.points(dataset) if d in dataset.coords for n in (d, *flat.of_rows(dataset, d))]
    decided = decided_in(dataset)
    if decided is None or not axes:
        return [*axes, *(str(n) for n in dataset.data_vars if n not in LEFT_OUT)]

    optimised = [n for n in goals(dataset) if n in dataset]
    listed = [n for n in map(str, dataset.data_vars) if _is_one(dataset, n, decided)]
    if not optimised and not listed:
        listed = [str(n) for n in dataset.data_vars if n not in LEFT_OUT and n != "objective"]
    return list(dict.fromkeys([*axes, *(n for n in ("status",) if n in dataset), *optimised, *listed]))


def _is_one(dataset: xr.Dataset, name: str, decided: set[str]) -> bool:
    family = dataset[name].attrs.get("family", "")
    named = name in decided or name.removeprefix("decided.") in decided
    return named or bool(family and any(d.startswith(f"{family}.") for d in decided))


def decided_in(dataset: xr.Dataset) -> set[str] | None:
    """Return the names of what the question of a dataset decides; None where it can no longer be read."""
    grid = asked.grid_of(dataset)
    return None if grid is None else {d.name for _, q in provenance.questions(grid) for d in q.decide}
