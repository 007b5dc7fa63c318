"""
An exact front
==============

Twelve regions of a flow solver on a CPU and a GPU. For divisible regions the front consists of straight segments, and
their ends determine it.
"""

import dse

front = dse.front("partition_energy_time_front_divisible")
figure = front.dse.front()
