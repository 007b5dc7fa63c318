"""
An exact front
==============

Twelve regions of a flow solver on a CPU and a GPU. Of divided regions the front is made of straight pieces, and their
ends are all there is to know.
"""

import dse
from results import plot

front = dse.front("partition_energy_time_front_divisible")
figure = plot.front(front)
