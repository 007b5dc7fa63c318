"""Pictures of fronts and sweeps: draw one, and write it."""

from results.canvas import save
from results.front_picture import front
from results.sweep_picture import sweep

__all__ = ["front", "save", "sweep"]
