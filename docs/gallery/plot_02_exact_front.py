"""
An exact front
==============

Twelve regions of a flow solver on a CPU and a GPU. Of divided regions the front is made of straight pieces, and their
ends are all there is to know.
"""

import dse

front = dse.front("partition_energy_time_front_divisible")
figure = front.dse.front()
