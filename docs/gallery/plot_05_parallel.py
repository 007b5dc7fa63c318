"""
The designs of a front
======================

Every design of an n-body step's front is a line through its metrics and decided quantities: a short time needs
many processors with little memory each, little energy needs few processors with much memory.
"""

import dse

front = dse.front("nbody_energy_time_front", points=15)
figure = front.dse.parallel()
