"""
What the energy goes to, by deadline
====================================

The phases of a program at the clocks that cost the least energy: the more time there is, the less goes into computing
and the more into power that is drawn all the while.
"""

import dse

grid = dse.sweep("dvfs_deadline_sweep")
figure = grid.dse.breakdown("energy", by="what it is spent on")
