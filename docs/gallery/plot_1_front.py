"""
Energy against time
===================

The front of an n-body step, certified point by point. Between neighbours the front lies inside the shaded stretch.
"""

import dse
from results import plot

front = dse.front("nbody_energy_time_front", points=8)
figure = plot.front(front)
