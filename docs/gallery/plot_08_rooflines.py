"""
Rooflines of time, energy and power
===================================

Speed, efficiency and power of a GTX Titan over intensity, by the equations of the model: with its power cap, and dashed
without. The background says what bounds it.
"""

from results import plot

figure = plot.roofline("gtx-titan-choi2014")
