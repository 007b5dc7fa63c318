"""
The parts of the energy, by deadline
====================================

The phases of a program at the clocks of least energy: with a later deadline the share of computing is smaller
and that of constant power is larger.
"""

import dse

grid = dse.sweep("dvfs_deadline_sweep")
figure = grid.dse.breakdown("energy", by="what it is spent on")
