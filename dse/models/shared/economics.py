"""What a run costs in money and in greenhouse gases, for every model that says what hardware a run keeps busy.

A run of energy E and time T on hardware of price C, used for a lifetime L of which it is busy the share u, costs

    cost   = E PUE k + C T/(L u)
    carbon = E PUE CI + C_CO2 T/(L u)          (ACT: Gupta et al., ISCA 2022, equations 1 to 3)

with the price k and the carbon intensity CI of electricity, the power usage effectiveness PUE of the site, and the
carbon C_CO2 of making the hardware. C is the price of all processors that the run keeps busy, and of the words of
memory that it uses, if memory is priced separately; so is C_CO2. ``grid`` names a carbon intensity.

Both are sums of products of what models compute, so what was a geometric program stays one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add, mul
from typing import Any

from dse.models.model import MACHINE_PREFIX, Model
from dse.models.shared.families import entry_parameters
from dse.models.shared.grids import GRIDS
from dse.models.shared.grids import SOURCE as OF_GRIDS
from dse.models.shared.sums import Held, Sum, sum_of
from dse.quantities import Quantity, registry
from dse.system.records import dataclass

ACT = "Gupta et al. 2022 (ACT)"
SUM = "electricity and the share of the purchase"

GRID = Quantity(
    "grid",
    "",
    "",
    "grid or source of the electricity, in place of carbon_intensity",
    OF_GRIDS,
    choices=tuple(GRIDS),
)
CARBON_INTENSITY = Quantity(
    "carbon_intensity",
    "CI",
    "kg/J",
    "greenhouse gases per joule of electricity; or give grid",
    f"{ACT} (2)",
    ceiling=1e3,
)
SHARED = (
    Quantity(
        "lifetime", "L", "s", "time after which the hardware is replaced", f"{ACT} (1)", minimum=1.0, floor=1.0,
        ceiling=1e15,
    ),
    Quantity(
        "utilisation", "u", "", "share of the lifetime in which the hardware is busy", f"{ACT} (1)",
        minimum=1e-6, maximum=1.0, floor=1e-6, ceiling=1.0, default=1.0,
    ),
    Quantity(
        "power_usage_effectiveness", "PUE", "", "power of the site over that of the machine", f"{ACT} (2)",
        minimum=1.0, floor=1.0, ceiling=1e3, default=1.0,
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Account:
    """One way to add up: what is asked of a question and of its machines for a total.

    ``rate``: what a joule of electricity counts; ``processor`` and ``word``: machine parameters, what one counts.
    """

    total: Quantity
    running: Quantity
    making: Quantity
    rate: Quantity
    processor: Quantity
    word: Quantity

    @property
    def metrics(self) -> tuple[Quantity, ...]:
        """The total and its two parts."""
        return self.total, self.running, self.making

    @property
    def machine(self) -> tuple[Quantity, ...]:
        """What a machine must state, and what it may."""
        return self.processor, self.word

    @property
    def rates(self) -> tuple[Quantity, ...]:
        """The inputs that give the rate: a number, and a name where there are names."""
        return (self.rate, GRID) if self.rate is CARBON_INTENSITY else (self.rate,)


COST = Account(
    total=Quantity("cost", "", "USD", "price of the run: electricity and its share of the hardware", SUM),
    running=Quantity("cost_electricity", "", "USD", "price of the run's electricity", "E PUE k"),
    making=Quantity("cost_purchase", "", "USD", "the run's share of the price of the hardware", "C T/(L u)"),
    rate=Quantity("electricity_price", "k", "USD/J", "price of electricity", SUM, ceiling=1e9),
    processor=Quantity("purchase_price", "", "USD", "price of one processor (one core of a two-level machine)",
                       "bought once a lifetime"),
    word=Quantity("memory_price_per_word", "", "USD/word", "price of a word of separately priced memory",
                  "bought once a lifetime", default=0.0),
)  # fmt: skip
CARBON = Account(
    total=Quantity("carbon", "", "kg", "greenhouse gases of the run: electricity and its share of those of "
                   "making the hardware", f"{ACT} (1)"),
    running=Quantity("carbon_operational", "", "kg", "greenhouse gases of the run's electricity", f"{ACT} (2)"),
    making=Quantity("carbon_embodied", "", "kg", "the run's share of those of making the hardware",
                    f"{ACT} (1), (3)"),
    rate=CARBON_INTENSITY,
    processor=Quantity("embodied_carbon", "", "kg", "greenhouse gases of making one processor", f"{ACT} (3)"),
    word=Quantity("memory_carbon_per_word", "", "kg/word", "greenhouse gases of making a word of such memory",
                  f"{ACT} (6)", default=0.0),
)  # fmt: skip
ACCOUNTS = (COST, CARBON)
MACHINE = tuple(q for account in ACCOUNTS for q in account.machine)
# metrics that grow with the time for which the hardware is kept, and what they are part of
KEPT = {a.making.name: (a.total.name, a.running.name) for a in ACCOUNTS}


def refusal(model: Model) -> str:
    """Say why a model has no cost and no carbon of this kind; nothing where it has."""
    own = {q.name for q in model.metrics}
    stated = [a.total.name for a in ACCOUNTS if a.total.name in own]
    if stated:
        return f"{model.name} computes a {stated[0]} of its own"
    return "" if model.hardware else f"{model.name} does not say what hardware a run keeps busy"


def priced(model: Model, accounts: Sequence[Account], *, grid: bool = False) -> Model:
    """Return a model that also computes these totals; it must not refuse (``refusal``).

    ``grid``: the carbon intensity is given by the name of a grid.
    """
    rates = tuple(q for a in accounts for q in a.rates if (q is GRID) == (grid and GRID in a.rates))
    entries = tuple(dict.fromkeys(h.entry for h in model.hardware))
    with_memory = any(h.memory for h in model.hardware)
    declared = tuple(q for a in accounts for q in a.machine if with_memory or q is not a.word)
    machine = declared if entries == ("",) else entry_parameters(declared, entries)
    return replace(
        model,
        inputs=(*model.inputs, *rates, *SHARED),
        machine=(*model.machine, *machine),
        metrics=(*model.metrics, *(q for a in accounts for q in a.metrics)),
        equations=Equations(model, tuple(accounts)),
        sums=(*model.sums, *(_cost_breakdown(a) for a in accounts)),
    )


def quantities(model: Model) -> tuple[tuple[str, Quantity], ...]:
    """Return all that cost and carbon add to a model, by the names of a scenario; nothing where it refuses them.

    Inputs first, then machine parameters, then metrics.
    """
    if refusal(model):
        return ()
    shown = priced(model, ACCOUNTS)
    inputs = (*(q for a in ACCOUNTS for q in a.rates), *SHARED)
    machine = shown.machine[len(model.machine) :]
    metrics = shown.metrics[len(model.metrics) :]
    return (
        *((q.name, q) for q in inputs),
        *((MACHINE_PREFIX + q.name, q) for q in machine),
        *((q.name, q) for q in metrics),
    )


def _cost_breakdown(account: Account) -> Sum:
    parts = {"electricity": account.running.name, "hardware": account.making.name}
    return sum_of(account.total.name, "what it is spent on", parts)


@dataclass(frozen=True, slots=True)
class Equations:
    """The equations of a model and of its totals, on any arithmetic."""

    base: Model
    accounts: tuple[Account, ...]

    def __call__(self, g: Any) -> Mapping[str, Any]:
        """Return the base model's metrics and limits, and what the run costs."""
        found = dict(self.base.equations(g))
        electricity = g.power_usage_effectiveness * found["energy"]
        for account in self.accounts:
            running = electricity * _price_per_joule(g, account)
            making = self._making(g, found, account) / (g.lifetime * g.utilisation)
            found |= {
                account.total.name: running + making,
                account.running.name: running,
                account.making.name: making,
            }
        return found

    def _making(self, g: Any, found: Mapping[str, Any], account: Account) -> Any:
        """Return what the hardware counts, times the time for which the run has it."""
        machine, given = vars(g.machine), vars(g)

        def product(names: Iterable[str]) -> Any:
            cut = len(MACHINE_PREFIX)
            numbers = [
                machine[n[cut:]] if n.startswith(MACHINE_PREFIX) else found[n] if n in found else given[n]
                for n in names
            ]
            return reduce(mul, numbers) if numbers else 1.0

        return reduce(add, (_account_amount(h, account, machine, product) for h in self.base.hardware))


def _account_amount(held: Held, account: Account, machine: Mapping[str, Any], product: Any) -> Any:
    from dse.models.arithmetic import amount_times, maximum  # with NumPy, which listing models does without

    one = account.word if held.memory else account.processor
    counts = [product(names) for names in held.counts]
    count = counts[0] if len(counts) == 1 else maximum(*counts)
    worth = machine[f"{held.entry}.{one.name}" if held.entry else one.name]
    # of none, and of what is free, work that never ends takes nothing
    return amount_times(count * worth, product(held.time))


def _price_per_joule(g: Any, account: Account) -> Any:
    """Return what a joule counts; of a grid that is named its carbon intensity."""
    if GRID not in account.rates or not hasattr(g, GRID.name):
        return getattr(g, account.rate.name)
    intensity = GRIDS[g.grid]
    return intensity if isinstance(g.flop, float) else registry().Quantity(intensity, account.rate.unit)


def again(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the totals added up again from parts that have changed since."""
    return {
        total: found[running] + found[making]
        for making, (total, running) in KEPT.items()
        if making in found and running in found
    }


def is_priced(model: Model) -> bool:
    """Whether a model computes these totals."""
    return any(q.name in KEPT for q in model.metrics)
