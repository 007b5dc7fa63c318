"""
Fronts over an axis
===================

The effect of leakage on an n-body step: a front for each of four leakage powers of a processor. Designs
that another front dominates are hollow and grey.
"""

import tomllib

import dse

question = tomllib.loads(dse.load("nbody_energy_time_front").text)
powers = ["50 mW", "100 mW", "200 mW", "400 mW"]
question["sweep"] = {"leakage": {"path": "machine.leakage_power", "values": powers}}
fronts = dse.front(question, points=8)
figure = fronts.dse.front()
