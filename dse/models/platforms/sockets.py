"""Systems of sockets on cards: which processor, at which level of clock and voltage, on which card (ExaBounds 2012).

A socket does r operations per second at peak; its power is E r there, of which I r leaks (the idle power). At a
level with clock f and voltage V, both as fractions of the nominal ones,

    rate       r f
    switching  (E - I) r f V²
    leakage    I r V                                                 (17)

Sockets sit on cards, which cost and draw something of their own; a card holds one type, all sockets of one type
run at one level and sit on cards of one size, and a fully populated card may not exceed ``card_power_limit``. With
the efficiency η of the supplies,

    power      P = (Σ sockets (switching + leakage) + Σ cards P_card)/η                            (19)
    idle       the same without switching
    mttf       1/Σ n λ over sockets, cards and steps of the power supply                           (22)-(24)
    cost       hardware once; P and idle power over the lifetime, by their shares of it; and the
               sockets that fail in it, bought again                                               (25), corrected

``operations = "double"`` counts double-precision flops instead of integer operations: an operation is then one DP-FLOP,
in hardware or in software, and r, E, I and the price of a socket are those of the other columns of Table 1. The table
gives no rate of a socket; the machines have the one at which a socket draws as much as it does on integers.

Power supplies are bought in whole steps (``power_step``, of which the last one is started): they suffice (``powered``),
and each is needed (``started``). Where numbers are uncertain one station has the supply of its worst sample, and
``started`` is no limit. A station has a socket at least (``any_socket``), and each socket a place on a card
(``housed``): this is what a station is, and no part of a conflict. (25) as printed counts energy again at every level
and non-recurring costs once per unit; here each stands once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any

from dse.models.arithmetic import per, some
from dse.models.model import Model, ModelLimit, Unknown
from dse.models.platforms.sockets_quantities import (
    CARDS,
    CARDS_OF,
    DOUBLE,
    INPUTS,
    LEVELS,
    MACHINE,
    METRICS,
    SOCKETS_OF,
    SOURCE,
    STEPS,
    TYPE_METRICS,
)
from dse.models.shared.families import (
    choose,
    entry,
    entry_parameters,
    nothing,
    only_expanded,
    row,
    row_inputs,
)
from dse.models.shared.structure import Parts, Structure
from dse.models.shared.sums import sum_of
from dse.quantities import Quantity
from dse.system.records import dataclass


@dataclass(frozen=True, slots=True)
class Way:
    """One way to use a type: at a level, on a kind of card."""

    type: str
    level: str
    card: str

    @property
    def name(self) -> str:
        """The last part of the names of its unknowns."""
        return f"{self.type}.{self.level}.{self.card}"

    def of(self, q: Quantity) -> Quantity:
        """The element of a family that is this way's."""
        return q.at(type=self.type, level=self.level, card=self.card)


def ways(parts: Parts) -> tuple[Way, ...]:
    """Every way to use every type."""
    levels, cards = ([r.name for r in parts.rows.get(t.name, ())] for t in (LEVELS, CARDS))
    return tuple(Way(*names) for names in product(parts.machines, levels, cards))


def _counts(found: Sequence[Way]) -> tuple[Quantity, ...]:
    """What is counted: sockets and cards of every way, and the started steps of the power supply."""
    return (*(w.of(q) for q in (SOCKETS_OF, CARDS_OF) for w in found), STEPS)


def _unknown_counts(found: Sequence[Way]) -> tuple[Unknown, ...]:
    return tuple(Unknown(q.name, integer=True) for q in _counts(found))


SUMS = (
    sum_of(
        "cost",
        "what is paid for",
        {
            "sockets": "cost_sockets",
            "cards": "cost_cards",
            "power supply": "cost_supply",
            "energy": "cost_energy",
            "spares": "cost_spares",
        },
    ),
)


def expand(parts: Parts) -> Model:
    """Return the plain model of these types, levels and cards. Raises ValueError where there are none of them."""
    found = ways(parts)
    if not found:
        raise ValueError(
            "sockets needs at least one machine, one of [[given.levels]] and one of [[given.cards]]"
        )
    types = parts.machines
    return replace(
        SOCKETS,
        machine=entry_parameters(MACHINE, types),
        inputs=(
            *INPUTS,
            *row_inputs(LEVELS, parts.rows["levels"]),
            *row_inputs(CARDS, parts.rows["cards"]),
            *_counts(found),
        ),
        metrics=(*METRICS, *(q.at(type=t) for q in TYPE_METRICS for t in types)),
        limits=tuple(_limits_of_memories(found, types)),
        equations=partial(equations, found=found, types=types),
        sums=SUMS,
        needs=partial(needs, types=types),
        unknowns=_unknown_counts(found),
        structure=None,
        expand=None,
    )


def needs(choices: Mapping[str, str], types: tuple[str, ...]) -> tuple[str, ...]:
    """Return the optional parameters that counting double-precision flops makes necessary."""
    if choices.get("operations") != "double":
        return ()
    return tuple(f"{t}.{name}" for t in types for name in DOUBLE)


def _limits_of_memories(found: tuple[Way, ...], types: tuple[str, ...]) -> Iterator[ModelLimit]:
    for w in found:
        yield ModelLimit(
            f"housed.{w.name}",
            "n + 1 <= s cards + 1",
            "every socket has a place",
            f"{SOURCE}, Table 3",
            always=True,
        )
        yield ModelLimit(
            f"needed.{w.name}",
            "s cards + 1 <= n + s",
            "every card is needed",
            f"{SOURCE}, Table 3",
            always=True,
        )
        yield ModelLimit(
            f"card_power.{w.name}", "P_full <= limit", "no card draws more than it may", f"{SOURCE} (19)"
        )
    for t in types:
        yield ModelLimit(
            f"one_way.{t}",
            "ways <= 1",
            "a type runs at one level, on one kind of card",
            f"{SOURCE}, section 5.1",
        )
    yield ModelLimit(
        "any_socket", "1 <= Σ n", "a station has a socket", "without one nothing is computed", always=True
    )
    yield ModelLimit(
        "powered", "P <= steps P_step", "the power supplies suffice", f"{SOURCE} (25)", always=True
    )
    yield ModelLimit(
        "started",
        "steps P_step <= P + P_step",
        "every step of the power supplies is needed",
        f"{SOURCE} (25)",
        always=True,
        spare=True,
    )


def equations(g: Any, found: tuple[Way, ...], types: tuple[str, ...]) -> Mapping[str, Any]:
    """Rates, powers and prices, summed over all ways in use; affine in the counts but for two ratios."""
    own = {w: _of_one(g, w) for w in found}
    count = {w: getattr(g, f"sockets.{w.name}") for w in found}
    cards = {w: getattr(g, f"cards.{w.name}") for w in found}
    steps = g.power_steps

    def total(per_socket: str, per_card: str = "") -> Any:
        return sum(
            count[w] * getattr(own[w], per_socket)
            + (cards[w] * getattr(own[w], per_card) if per_card else 0.0)
            for w in found
        )

    supply = 1.0 / g.supply_efficiency
    power = total("power", "card_power") * supply
    idle = total("leakage", "card_power") * supply
    throughput, sockets = total("rate"), sum(count.values())
    failures = sockets * g.socket_failures + sum(cards.values()) * g.card_failures
    failures = failures + steps * g.power_step_failures
    costs = {
        "cost_sockets": total("price"),
        "cost_cards": sum(cards[w] * own[w].card_price for w in found),
        "cost_supply": steps * g.cost_per_power_step,
        "cost_energy": (power * g.peak_share + idle * g.idle_share) * g.lifetime * g.energy_price,
        "cost_spares": total("price") * (g.socket_failures * g.lifetime),
    }
    metrics = {
        "throughput": throughput,
        "power": power,
        "idle_power": idle,
        "efficiency": per(throughput, power),
        "cost": sum(costs.values()),
        **costs,
        # where nothing can fail, affine forms must not meet a division by 0
        "mttf": math.inf if _sure(g) else per(1.0, failures),
        "sockets": sockets,
        "cards": sum(cards.values()),
        "types": sum(some(sum(count[w] for w in found if w.type == t)) for t in types),
    }
    for t in types:
        of = [w for w in found if w.type == t]
        metrics[f"sockets.{t}"] = sum(count[w] for w in of)
        metrics[f"throughput.{t}"] = sum(count[w] * own[w].rate for w in of)
        metrics[f"power.{t}"] = sum(count[w] * own[w].power for w in of)
    return (
        metrics
        | _socket_limits(g, found, types, own, count, cards)
        | {
            "any_socket": per(1.0, sockets),
            "powered": per(power + g.power_step, steps * g.power_step + g.power_step),
            "started": per(steps * g.power_step, power + g.power_step),
        }
    )


def _sure(g: Any) -> bool:
    return all(nothing(rate) for rate in (g.socket_failures, g.card_failures, g.power_step_failures))


def _of_one(g: Any, w: Way) -> SimpleNamespace:
    """Rate, powers and price of one socket used this way, and what its card adds."""
    m, level, card = entry(g, w.type), row(g, "levels", w.level), row(g, "cards", w.card)
    rate, energy, idle, price = _rates_of_counted(g, m)
    leakage = idle * rate * level.voltage
    switching = (energy - idle) * rate * level.frequency * level.voltage**2
    return SimpleNamespace(
        rate=rate * level.frequency,
        leakage=leakage,
        power=switching + leakage,
        price=price * rate,
        places=card.sockets,
        card_power=card.power,
        card_price=card.cost,
    )


def _rates_of_counted(g: Any, m: Any) -> tuple[Any, Any, Any, Any]:
    """Rate of a socket, energy of an operation, its idle part and its price, of the operations that are counted."""
    if choose(g, "operations") == "double":
        return (
            m.double_rate,
            m.energy_per_double_operation,
            m.idle_energy_per_double_operation,
            m.cost_per_double_rate,
        )
    return (
        m.integer_rate,
        m.energy_per_integer_operation,
        m.idle_energy_per_integer_operation,
        m.cost_per_integer_rate,
    )


def _socket_limits(
    g: Any,
    found: tuple[Way, ...],
    types: tuple[str, ...],
    own: Mapping[Way, SimpleNamespace],
    count: Mapping[Way, Any],
    cards: Mapping[Way, Any],
) -> dict[str, Any]:
    """The limits: places, power of a full card, one way for each type; where there is nothing, no 0 over 0."""
    places = {w: cards[w] * own[w].places for w in found}
    kept = {f"housed.{w.name}": per(count[w] + 1.0, places[w] + 1.0) for w in found}
    kept |= {f"needed.{w.name}": per(places[w] + 1.0, count[w] + own[w].places) for w in found}
    used = {w: some(cards[w]) for w in found}
    if hasattr(g, "card_power_limit"):
        full = {w: own[w].places * own[w].power + own[w].card_power for w in found}
        kept |= {f"card_power.{w.name}": used[w] * (full[w] / g.card_power_limit) for w in found}
    return kept | {f"one_way.{t}": sum(used[w] for w in found if w.type == t) for t in types}


_ANY = (Way("<type>", "<level>", "<card>"),)
SOCKETS = Model(
    name="sockets",
    title="Sockets on cards: type, level and card, by power, price and reliability",
    source=f"{SOURCE} (ExaBounds), (17), (19), (22)-(26), corrected; Table 1",
    machine=MACHINE,
    inputs=(*INPUTS, *_counts(_ANY)),
    metrics=METRICS,
    limits=(),
    equations=only_expanded,
    notes=__doc__ or "",
    unknowns=_unknown_counts(_ANY),
    structure=Structure(tables=(LEVELS, CARDS), machines="type"),
    expand=expand,
)
