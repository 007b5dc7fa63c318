"""What the sockets model takes and tells: declarations of its tables, parameters, inputs and metrics."""

from __future__ import annotations

from dse.models.shared.structure import Table
from dse.quantities import Quantity

SOURCE = "Stanley-Marbell 2012"
MANY_SOCKETS, MANY_CARDS, MANY_STEPS = 1e8, 5e6, 1e6

MACHINE = (
    Quantity("integer_rate", "r", "op/s", "integer operations per second of a socket at peak", "socket data"),
    Quantity(
        "energy_per_integer_operation",
        "E",
        "J/op",
        "power of a socket at peak over its rate, leakage included",
        f"{SOURCE}, Table 1",
    ),
    Quantity(
        "idle_energy_per_integer_operation",
        "I",
        "J/op",
        "idle power of a socket over its rate at peak",
        f"{SOURCE}, Table 1",
    ),
    Quantity(
        "cost_per_integer_rate",
        "",
        "USD*s/op",
        "price of a socket over its rate at peak",
        f"{SOURCE}, Table 1",
    ),
    Quantity(
        "double_rate",
        "r",
        "op/s",
        "double-precision flops per second of a socket at peak",
        "socket data",
        optional=True,
    ),
    Quantity(
        "energy_per_double_operation",
        "E",
        "J/op",
        "power of a socket at peak over its rate of double-precision flops, leakage included",
        f"{SOURCE}, Table 1",
        optional=True,
    ),
    Quantity(
        "idle_energy_per_double_operation",
        "I",
        "J/op",
        "idle power of a socket over its rate of double-precision flops at peak",
        f"{SOURCE}, Table 1",
        optional=True,
    ),
    Quantity(
        "cost_per_double_rate",
        "",
        "USD*s/op",
        "price of a socket over its rate of double-precision flops at peak",
        f"{SOURCE}, Table 1",
        optional=True,
    ),
)
DOUBLE = tuple(q.name for q in MACHINE if q.optional)
LEVELS = Table(
    "levels",
    "level",
    "levels of clock and voltage that a socket can run at",
    (
        Quantity("frequency", "f", "", "clock as a fraction of the nominal one", f"{SOURCE} (17)"),
        Quantity("voltage", "V", "", "supply voltage as a fraction of the nominal one", f"{SOURCE} (17)"),
    ),
)
CARDS = Table(
    "cards",
    "card",
    "cards that sockets can sit on",
    (
        Quantity("sockets", "s", "", "sockets that fit on the card", f"{SOURCE}, Table 3", minimum=1.0),
        Quantity("cost", "", "USD", "price of the card without sockets", f"{SOURCE} (25)", default=0.0),
        Quantity("power", "", "W", "what the card itself draws", f"{SOURCE} (19)", default=0.0),
    ),
)


def _failure_rate_quantity(name: str, what: str) -> Quantity:
    return Quantity(name, "λ", "failure/s", f"failure rate of {what}", f"{SOURCE}, section 4.6", default=0.0)


INPUTS = (
    Quantity("operations", "", "", "which operations are counted: integer ones, or double-precision flops",
             f"{SOURCE}, Table 1", default="integer", choices=("integer", "double")),
    Quantity("supply_efficiency", "η", "", "power delivered over power drawn", f"{SOURCE} (19)", maximum=1.0,
             floor=1e-3, default=1.0),
    Quantity("card_power_limit", "", "W", "most that a fully populated card may draw; absent: no limit",
             f"{SOURCE} (19)", optional=True),
    Quantity("power_step", "", "W", "size of the steps in which power supplies are bought", f"{SOURCE} (25)",
             floor=1e-3, default=1000.0),
    Quantity("cost_per_power_step", "", "USD", "price of each started step", f"{SOURCE} (25)", default=0.0),
    Quantity("lifetime", "t", "s", "time over which the system is used", f"{SOURCE} (25)", default=0.0),
    Quantity("peak_share", "", "", "share of the lifetime at peak", f"{SOURCE}, Table 1", maximum=1.0,
             default=1.0),
    Quantity("idle_share", "", "", "share of the lifetime idle", f"{SOURCE}, Table 1", maximum=1.0,
             default=0.0),
    Quantity("energy_price", "K_pwr", "USD/J", "price of energy", f"{SOURCE} (25)", default=0.0),
    _failure_rate_quantity("socket_failures", "one socket"),
    _failure_rate_quantity("card_failures", "one card"),
    _failure_rate_quantity("power_step_failures", "one step of the power supply"),
)  # fmt: skip
SOCKETS_OF = Quantity(
    "sockets", "n", "", "sockets of a type at a level on a kind of card", f"{SOURCE}, Table 3", floor=0.0,
    ceiling=MANY_SOCKETS,
)  # fmt: skip
CARDS_OF = Quantity(
    "cards", "", "", "cards of a kind for a type at a level", f"{SOURCE}, Table 3", floor=0.0,
    ceiling=MANY_CARDS,
)  # fmt: skip
STEPS = Quantity(
    "power_steps",
    "",
    "",
    "started steps of the power supply",
    f"{SOURCE} (25)",
    floor=0.0,
    ceiling=MANY_STEPS,
)
METRICS = (
    Quantity(
        "throughput",
        "C",
        "op/s",
        "operations per second at peak, of the kind that is counted",
        f"{SOURCE} (8)",
    ),
    Quantity("power", "P", "W", "power at peak, losses of the supplies included", f"{SOURCE} (19)"),
    Quantity("idle_power", "", "W", "power when idle, losses of the supplies included", f"{SOURCE} (19)"),
    Quantity("efficiency", "", "op/J", "operations per joule at peak", f"{SOURCE} (19)"),
    Quantity("cost", "", "USD", "all that is paid over the lifetime", f"{SOURCE} (25), corrected"),
    Quantity("cost_sockets", "", "USD", "price of the sockets", f"{SOURCE} (26)"),
    Quantity("cost_cards", "", "USD", "price of the cards", f"{SOURCE} (25)"),
    Quantity("cost_supply", "", "USD", "price of the power supplies", f"{SOURCE} (25)"),
    Quantity("cost_energy", "", "USD", "price of the energy over the lifetime", f"{SOURCE} (25)"),
    Quantity("cost_spares", "", "USD", "price of the sockets that fail in the lifetime", f"{SOURCE} (24)"),
    Quantity(
        "mttf", "", "s", "mean time to the first failure; infinite where nothing can fail", f"{SOURCE} (23)"
    ),
    Quantity("sockets", "", "", "sockets of all types", "sum"),
    Quantity("cards", "", "", "cards of all kinds", "sum"),
    Quantity("types", "", "", "types of processor in use", "types of which there is a socket"),
)
TYPE_METRICS = (
    Quantity("sockets", "n", "", "sockets of this type", "sum"),
    Quantity("throughput", "C", "op/s", "operations per second of this type", f"{SOURCE} (8)"),
    Quantity("power", "P", "W", "power of the sockets of this type", f"{SOURCE} (17)"),
)
