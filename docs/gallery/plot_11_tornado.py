"""
Sensitivity to the given numbers
================================

Change of the energy in percent for 1 % more of each given number, with the design adapted: the least energy of
an n-body step within 8 W.
"""

import dse
from results import plot

answer = dse.solve("nbody_least_energy_power")
figure = plot.tornado(answer)
