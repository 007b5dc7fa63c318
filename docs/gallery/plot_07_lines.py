"""
Lines over an axis
==================

Least energy of a program whose phases choose their own clocks, by deadline.
"""

import dse

grid = dse.sweep("dvfs_deadline_sweep")
figure = grid.dse.sweep()
