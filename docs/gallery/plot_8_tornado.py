"""
What the answer hangs on
========================

Percent of the energy for one percent more of each number that was given, with the design adapted: the least energy of
an n-body step within 8 W. What is worth less than 0.01 % is left out.
"""

import matplotlib.pyplot as plt

import dse

answer = dse.solve("nbody_least_energy_power")
worth = sorted(((n, v) for n, v in answer.parameters.items() if abs(v) > 0.01), key=lambda item: abs(item[1]))
names = [name.removeprefix("machine.") for name, _ in worth]
values = [value for _, value in worth]

figure, panel = plt.subplots(figsize=(7, 3), layout="constrained")
bars = panel.barh(names, values, color=["#0072b2" if value > 0 else "#d55e00" for value in values])
panel.bar_label(bars, fmt="%+.2g %%", padding=3)
panel.axvline(0, color="black", linewidth=0.8)
panel.margins(x=0.15)
panel.set_xlabel("change of energy for 1 % more (%)")
