"""
A map with what is out of reach
===============================

Least energy of an n-body step over deadline and power cap. Hatched where no design exists, named by the limits that
forbid it.
"""

import tomllib

import dse

question = tomllib.loads(dse.load("nbody_deadline_sweep").text)
question["sweep"]["deadline"]["num"] = 9
grid = dse.sweep(question)
figure = grid.dse.map(x="deadline", y="power_cap")
