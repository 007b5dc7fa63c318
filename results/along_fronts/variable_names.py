"""What the variables and dimensions of a dataset of fronts are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr

FRONT, ENCLOSURE = "front", "enclosure"
"""The dimensions along a front, and along what encloses it."""
POINTS, PLACE_STATUS, CONFLICT = "front_points", "front_status", "front_conflict"
"""Of each place on swept axes: how many points its front has, whether there is one, and why not."""
DOMINATED = "dominated"
AT, LOWER, UPPER, WIDTH = "enclosure_at", "enclosure_lower", "enclosure_upper", "enclosure_width"
"""Between points: where the second objective lies between two bounds, and how far these are apart."""
TRIAL, HYPERVOLUME = "trial", "hypervolume"
"""Of a search with a sampler: its trials, and the hypervolume after each."""
REFERENCE = "hypervolume_reference"
"""The point up to which designs count, by objective, as JSON."""
KNEE = "front_knee"
ABOUT_PLACES = {
    POINTS: "points of the front",
    PLACE_STATUS: "whether there is a front, or why there is none",
    CONFLICT: "limits that exclude each other, and the value of each that is feasible, as JSON",
    "front_reason": "limits that exclude each other, and what each would have to be, in words",
    "front_certificate": "what proves that there is no front",
    "front_message": "what went wrong, where the status is error",
    "front_method": "how the front was found",
    "front_kind": "what an exact front is",
    "front_straight_in": "in terms of what its segments are straight, as JSON",
    "front_solves": "questions asked",
    "front_failed_solves": "questions that failed",
    "front_jumps": "neighbours between which nothing lies",
    KNEE: "number of the point at the knee, -1: none",
    WIDTH: "largest relative width of what is proved to enclose the front",
    "enclosure_proof": "how the enclosure is proved",
    REFERENCE: "point up to which designs count, by objective, as JSON",
    "front_measures": "what each name is that stands for a measure, as JSON",
    "front_objective_measure": "what the objective is of its metric",
    "front_worlds": "which samples were drawn",
    "front_fresh_samples": "samples in which the designs are judged",
    "front_fresh_seed": "seed of these samples",
}
"""Of fronts at many places: the variables that tell of each front what a single one tells in its attributes."""


def of_whole_front(dataset: xr.Dataset, name: str) -> bool:
    """Tell whether a variable is told of a front as a whole, not of each of its points; of a sweep none is.

    A metric may have any name: that of a place of fronts counts only where there are fronts at places, and that of an
    enclosure or of a search only along its own dimension.
    """
    points = dataset["status"].dims if "status" in dataset else ()
    dims = {d for d in dataset[name].dims if d not in points}
    if name in {AT, LOWER, UPPER}:
        return ENCLOSURE in dims
    if name == HYPERVOLUME:
        return TRIAL in dims
    several = "flag_meanings" in dataset[PLACE_STATUS].attrs if PLACE_STATUS in dataset else False
    return several and name in ABOUT_PLACES and FRONT not in dataset[name].dims
