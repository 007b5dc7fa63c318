"""
A map with infeasible regions
=============================

Least energy of an n-body step over deadline and power cap. Infeasible regions are hatched and labelled with the limits
in conflict.
"""

import tomllib

import dse

question = tomllib.loads(dse.load("nbody_deadline_sweep").text)
question["sweep"]["deadline"]["num"] = 9
grid = dse.sweep(question)
figure = grid.dse.map(x="deadline", y="power_cap")
