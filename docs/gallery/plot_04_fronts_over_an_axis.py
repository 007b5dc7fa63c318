"""
Fronts over an axis
===================

What leakage costs an n-body step: a front for each of four powers that a processor draws while it only waits. Designs
that another front betters are hollow and grey.
"""

import tomllib

import dse

question = tomllib.loads(dse.load("nbody_energy_time_front").text)
powers = ["50 mW", "100 mW", "200 mW", "400 mW"]
question["sweep"] = {"leakage": {"path": "machine.leakage_power", "values": powers}}
fronts = dse.front(question, points=8)
figure = fronts.dse.front()
