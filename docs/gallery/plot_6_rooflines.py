"""
Rooflines of time, energy and power
===================================

Speed, efficiency and power of a GTX Titan over intensity, with its power cap and without: a grid of evaluations, drawn
by hand from the dataset.
"""

import matplotlib.pyplot as plt

import dse

question = {
    "model": "roofline",
    "machine": "gtx-titan-choi2014",
    "given": {"flops": 1e12},
    "sweep": {"intensity": {"path": "intensity", "start": 0.125, "stop": 512, "num": 97, "spacing": "log"}},
}
capped = dse.evaluate(question)
free = dse.evaluate({**question, "machine": {"base": "gtx-titan-choi2014", "usable_power": 1e6}})

figure, panels = plt.subplots(3, 1, sharex=True, figsize=(7, 8), layout="constrained")
for panel, metric, unit, scale in zip(
    panels, ("performance", "efficiency", "power"), ("TFLOPS", "GFLOPS/W", "W"), (1e12, 1e9, 1), strict=True
):
    panel.plot(free["intensity"], free[metric] / scale, "--", color="0.5", label="without a cap")
    panel.plot(capped["intensity"], capped[metric] / scale, color="#0072b2", label="with its cap")
    panel.set_ylabel(f"{metric} ({unit})")
    panel.grid(alpha=0.3)
    panel.set_xscale("log", base=2)
    panel.xaxis.set_major_formatter("{x:g}")
for panel in panels[:2]:
    panel.set_yscale("log", base=2)
    panel.yaxis.set_major_formatter("{x:g}")
panels[2].set_ylim(bottom=0)
panels[2].set_xlabel("intensity (flop/byte)")
panels[0].legend()
