"""
Energy against time
===================

The front of an n-body step, certified point by point. Between the points the front lies inside the shaded enclosure,
which is proved too. The strips at the bottom show the designs at which each limit binds.
"""

import dse

front = dse.front("nbody_energy_time_front", points=8)
figure = front.dse.front()
