"""
Rooflines of time, energy and power
===================================

Performance, efficiency and power of a GTX Titan over intensity, by the equations of the model: with its power cap, and
dashed without it. The background shows the bound: memory, power cap or compute.
"""

from results import plot

figure = plot.roofline("gtx-titan-choi2014")
