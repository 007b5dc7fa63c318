"""All points of a block of a grid answered by one vectorised call, each with its certificate.

``solvers.paths`` says which way a grid can go, from the grid alone, so that every process decides alike.
"""

from __future__ import annotations

from solvers.many_points.offers import Choice as Choice
from solvers.many_points.offers import Path as Path
