"""All points of a block of a grid answered by one vectorised call, each with its certificate.

``path`` says which way a grid can go, from the grid alone, so that every process decides alike.
"""

from __future__ import annotations

from solvers.batched.offers import Choice as Choice
from solvers.batched.offers import Path as Path
from solvers.batched.offers import part as part
from solvers.batched.path import chosen as chosen
from solvers.batched.path import path as path
