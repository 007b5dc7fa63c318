"""Fronts as JSON has them: of one question, or of each place on swept axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from results.export.jsonable import plain, to_json

if TYPE_CHECKING:
    import xarray as xr

    from dse.fronts.front_search import Front
    from dse.fronts.swept_fronts import Fronts


def record(found: Front) -> dict[str, Any]:
    """Return a front with all its designs, numbers in SI units."""
    return {
        "title": found.question.title,
        "objectives": {g.name: "max" if g.maximize else "min" for g in found.question.objectives},
        **_front_record(found),
        "scenario": found.question.scenario_text,
    }


def _front_record(found: Front) -> dict[str, Any]:
    points = [to_json(s) for s in found.points]
    for point in points:
        point.pop("scenario")
    told = {
        "method": found.method,
        "front": found.kind,
        "joined": list(found.joined),
        "solves": found.solves,
        "points": points,
    }
    if found.band is not None:
        told["enclosure"] = {
            "words": found.band.words(),
            "how": found.band.how,
            "width": found.band.width if math.isfinite(found.band.width) else None,
            "at": found.band.at.tolist(),
            "lower": [x if math.isfinite(x) else None for x in found.band.lower.tolist()],
            "upper": [x if math.isfinite(x) else None for x in found.band.upper.tolist()],
        }
    if found.growth is not None:
        grown = {"value": found.growth.volumes[-1], "unit": found.growth.unit}
        told["hypervolume"] = grown | {"reference": dict(found.growth.reference)}
    return told


def of_places(found: Fronts, dataset: xr.Dataset) -> dict[str, Any]:
    """Return the fronts of all places that were come to, each with its values on the axes; ``dataset``: their own.

    A place without a front has the answer that says why as its ``refusal``.
    """
    question, changes = found.grid.first, found.grid.changes
    places = []
    for place, front in found.places():
        if front is None:
            continue
        why = {} if front.refusal is None else to_json(front.refusal)
        told = {
            "at": plain({c.of.name: c.of.values[place[c.along]] for c in changes}),
            "status": front.refusal.status.value if front.refusal else "answered",
            **_front_record(front),
            "dominated": [bool(d) for d in dataset["dominated"].values[place][: len(front.points)]],
            **({"refusal": {k: v for k, v in why.items() if k != "scenario"}} if why else {}),
        }
        places.append(told)
    return {
        "title": question.title,
        "objectives": {g.name: "max" if g.maximize else "min" for g in question.objectives},
        "axes": {
            c.of.name: {"path": c.of.path, "unit": c.of.unit, "values": plain(list(c.of.values))}
            for c in changes
        },
        "places": places,
        "scenario": question.scenario_text,
    }
