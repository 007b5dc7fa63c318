"""
The parts of a station's cost
=============================

The cheapest station for each feasible type of processor: the parts of its cost, stacked. The model declares the parts
of a total.
"""

import tomllib

import dse

question = tomllib.loads(dse.load("station_least_cost_in_10_kw").text)
types = question["decide"].pop("machine.socket")["values"]
question["machine"] = {"socket": types[0]}
question["sweep"] = {"socket": {"path": "machine.socket", "values": types}}
stations = dse.sweep(question)
figure = stations.dse.breakdown("cost")
