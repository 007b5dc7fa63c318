"""
A front of whole placements
===========================

The same regions undivided: finitely many placements, and these are all that no other betters.
"""

import dse

front = dse.front("partition_energy_time_front_whole")
figure = front.dse.front()
