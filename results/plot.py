"""Pictures of answers, fronts and sweeps: draw one, and write it. All return a Matplotlib figure."""

from results.pictures.breakdown import breakdown
from results.pictures.canvas import save, svg
from results.pictures.fronts import front
from results.pictures.matters import matters
from results.pictures.parallel import parallel
from results.pictures.roofline import roofline
from results.pictures.sweeps import (
    map,
    sweep,
)
from results.pictures.tornado import tornado
from results.pictures.worlds import worlds

__all__ = [
    "breakdown",
    "front",
    "map",
    "matters",
    "parallel",
    "roofline",
    "save",
    "svg",
    "sweep",
    "tornado",
    "worlds",
]
