"""Inputs and metrics of a question about several kernels."""

from __future__ import annotations

from dse.quantities import Quantity

SOURCE = "what the kernels take, added up"


REPEAT = Quantity(
    "repeat",
    "r",
    "",
    "how many times the kernel runs",
    "stated in the question",
    minimum=1.0,
    floor=1.0,
    ceiling=1e15,
    default=1.0,
)


WHOLE = (
    Quantity("time", "T", "s", "time of all runs of all kernels", SOURCE),
    Quantity("energy", "E", "J", "energy of all runs of all kernels", SOURCE),
    Quantity("power", "P", "W", "average power of the whole, energy/time", SOURCE),
    Quantity("performance", "R", "flop/s", "flops of all kernels per second of the whole", SOURCE),
    Quantity("efficiency", "η", "flop/J", "flops of all kernels per joule of the whole", SOURCE),
    Quantity("energy_delay", "ET", "J*s", "energy of the whole times its time", SOURCE),
)
