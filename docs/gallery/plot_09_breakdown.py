"""
Where the cost of a station goes
================================

The cheapest station for each type of processor that can do it: the parts of its cost, stacked. What a total is made of
is declared by its model.
"""

import tomllib

import dse

question = tomllib.loads(dse.load("station_least_cost_in_10_kw").text)
types = question["decide"].pop("machine.socket")["values"]
question["machine"] = {"socket": types[0]}
question["sweep"] = {"socket": {"path": "machine.socket", "values": types}}
stations = dse.sweep(question)
figure = stations.dse.breakdown("cost")
