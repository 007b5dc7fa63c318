"""A roofline platform of round numbers, and a price whose optimum follows by hand: rise x + fall / x."""

from typing import Any

PLATFORM = {
    "time_per_flop": "1 ps/flop",
    "time_per_byte": "10 ps/B",
    "energy_per_flop": "10 pJ/flop",
    "energy_per_byte": "100 pJ/B",
    "constant_power": "10 W",
}
RUN: dict[str, Any] = {"model": "roofline", "machine": PLATFORM, "given": {"flops": 1e12, "intensity": 100.0}}
"""Bound by its flops: 1 s."""
PRICE: dict[str, Any] = {
    **RUN,
    "given": {**RUN["given"], "rise": 1.0, "fall": 1.0},
    "decide": {"x": {"min": 0.01, "max": 100.0}},
    "define": {"price": "rise * x + fall / x"},
}
TWO_UNCERTAIN: dict[str, Any] = {"rise": {"uniform": [0.2, 1.8]}, "fall": {"uniform": [0.8, 3.2]}}
"""Means 1 and 2."""
