"""How a machine's costs follow its clock f, where the machine says so: quantities for any model with flops.

A machine states the clock f0 at which its costs hold, the range of clocks it has, and how the power of a flop grows:

    time of a flop    τ(f) = τ0 f0/f
    power of a flop   π(f) = π0 (f/f0)^k            ``clock_exponent`` k: 3 where the voltage is in proportion to f
    energy of a flop  ε(f) = τ(f) π(f) = ε0 (f/f0)^(k-1)

or, in place of k, the line of its voltage, V(f) = V0 + V1 f (``voltage_base``, ``voltage_slope``), with
ε(f) = ε0 (V(f)/V(f0))², which is equation (6) of Choi and Vuduc 2016. A cache runs at the clock of the
processor, so bytes from L1 and L2 follow in the same way; those from memory, words, messages, and what is drawn as
time passes do not. A run then takes a + b/f and draws p0 + c f^k. A model that counts no energy of flops, but a power
while it computes (``transformer_training``), has that power follow as π(f) does.
"""

from __future__ import annotations

from dse.quantities import Quantity

SOURCE = "our addition; Choi and Vuduc 2016 (6)"


def _clock(name: str, symbol: str, meaning: str) -> Quantity:
    return Quantity(name, symbol, "Hz", meaning, SOURCE, floor=1.0, ceiling=1e13, optional=True)


REFERENCE = _clock("clock_reference", "f0", "clock at which the costs of the machine hold")
LEAST = _clock("clock_min", "fmin", "least clock of the machine")
MOST = _clock("clock_max", "fmax", "greatest clock of the machine")
EXPONENT = Quantity(
    "clock_exponent",
    "k",
    "",
    "power of the clock with which the power of flops grows",
    SOURCE,
    minimum=1.0,
    floor=1.0,
    ceiling=10.0,
    optional=True,
)
BASE = Quantity(
    "voltage_base", "V0", "V", "voltage of the clock's line at a clock of 0", SOURCE, optional=True
)
SLOPE = Quantity("voltage_slope", "V1", "V/Hz", "voltage per clock of its line", SOURCE, optional=True)
MACHINE = (REFERENCE, LEAST, MOST, EXPONENT, BASE, SLOPE)
CLOCK = Quantity("clock", "f", "Hz", "clock of the processor", SOURCE, floor=1.0, ceiling=1e13)
# what follows the clock: time and energy of each
FOLLOWS = (
    ("time_per_flop", "energy_per_flop"),
    ("time_per_flop_double", "energy_per_flop_double"),
    ("time_per_byte_L1", "energy_per_byte_L1"),
    ("time_per_byte_L2", "energy_per_byte_L2"),
)
# follows as the power of a flop does, in models without the energy of one
DRAWN = "usable_power"
