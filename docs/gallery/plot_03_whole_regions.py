"""
A front of whole placements
===========================

The same regions undivided: there are finitely many placements, and these are all that are not dominated.
"""

import dse

front = dse.front("partition_energy_time_front_whole")
figure = front.dse.front()
