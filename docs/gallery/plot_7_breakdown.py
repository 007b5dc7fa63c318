"""
Where the cost of a station goes
================================

The cheapest station for each type of processor that can do it: the parts of its cost, stacked.
"""

import tomllib

import matplotlib.pyplot as plt

import dse

PARTS = ("cost_sockets", "cost_cards", "cost_supply", "cost_energy", "cost_spares")
COLOURS = ("#0072b2", "#e69f00", "#999999", "#d55e00", "#009e73")

question = tomllib.loads(dse.load("station_least_cost_in_10_kw").text)
types = ("tms320c5515", "at91sam9m10")
answers = []
for name in types:
    question["decide"]["machine.socket"] = {"values": [name]}
    answers.append(dse.solve(question))

figure, panel = plt.subplots(figsize=(7, 3), layout="constrained")
left = [0.0] * len(types)
for part, colour in zip(PARTS, COLOURS, strict=True):
    width = [answer.metrics[part] / 1e6 for answer in answers]
    panel.barh(types, width, left=left, color=colour, edgecolor="white", label=part.removeprefix("cost_"))
    left = [a + b for a, b in zip(left, width, strict=True)]
panel.set_xlabel("cost over 15 years (MUSD)")
panel.legend(ncols=5, loc="upper center", bbox_to_anchor=(0.5, 1.25), frameon=False)
