"""
Lines over an axis
==================

Least energy of a program whose phases choose their own clocks, by deadline.
"""

import dse
from results import plot

grid = dse.sweep("dvfs_deadline_sweep")
figure = plot.sweep(grid)
