"""What arrays are called: by what they hold, whatever their shape."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Codes = NDArray[np.int8]
Indices = NDArray[np.intp]
Integers = NDArray[np.int64]
Points = Integers
"""Numbers of points, of a block or of a batch."""
