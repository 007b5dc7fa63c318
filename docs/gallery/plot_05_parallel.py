"""
The designs of a front
======================

Every design of an n-body step's front is a line through what it reaches and what was decided: to be short of time takes
many processors with little memory each, to be short of energy the other way round.
"""

import dse

front = dse.front("nbody_energy_time_front", points=15)
figure = front.dse.parallel()
