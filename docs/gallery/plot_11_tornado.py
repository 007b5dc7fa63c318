"""
What the answer hangs on
========================

Percent of the energy for one percent more of each number that was given, with the design adapted: the least energy of
an n-body step within 8 W.
"""

import dse
from results import plot

answer = dse.solve("nbody_least_energy_power")
figure = plot.tornado(answer)
