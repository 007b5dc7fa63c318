"""Categories of a pair of processors and what they advise (PeaPaw, Tang et al. 2017, section 5).

The first processor of the map is the paper's CPU (C), the second its GPU (G).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dse.models.arithmetic import maximum, per, reaches
from dse.quantities import Quantity

SOURCE = "Tang et al. 2017"

_SPLIT = (
    "divide the code by intensity: the part of higher intensity to {0}, the part of lower intensity to {1}"
)
# category and guideline; C and G stand for the two processors
PERFORMANCE = (
    ("{C}_DP-{G}_DP", "divide the data so that both processors end at once (p-DP)"),
    ("{C}_COMP-{G}_MEM", _SPLIT.format("{C}", "{G}")),
    ("{C}_MEM-{G}_COMP", _SPLIT.format("{G}", "{C}")),
)
ENERGY = (
    ("{C}-only", "run everything on {C}"),
    ("{G}-only", "run everything on {G}"),
    ("{C}_COMP-{G}_MEM", _SPLIT.format("{C}", "{G}")),
    ("{C}_MEM-{G}_COMP", _SPLIT.format("{G}", "{C}")),
    ("Race-to-halt", "follow the guideline for performance: the fastest run is the cheapest"),
    (
        "{C}_COMP-{G}_COMP",
        "spread the flops over both processors, keep the bytes on the one with cheaper bytes",
    ),
    (
        "{C}_MEM-{G}_MEM",
        "spread the bytes over both processors, keep the flops on the one with cheaper flops",
    ),
    ("Workload-dependent", "no general advice: it depends on the work"),
)


def _bullet_list(cases: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"- {name}: {text}" for name, text in _cases_with_processors(cases, "CPU", "GPU"))


def _cases_with_processors(
    cases: Sequence[tuple[str, str]], first: str, second: str
) -> list[tuple[str, str]]:
    return [(name.format(C=first, G=second), text.format(C=first, G=second)) for name, text in cases]


GUIDELINES = f"""\
Two processors have categories, from their parameters alone (the first is the paper's CPU, the second its GPU).
``performance_category``, by the machine balances τb/τf (27): equal, the first larger, the first smaller.

{_bullet_list(PERFORMANCE)}

``energy_category``, by what spreading one flop or one byte would cost, ``gradient_flop`` (28) and
``gradient_byte`` (29): both positive (the first four, by whose flops and bytes are cheaper), both negative
(Race-to-halt), bytes only positive (COMP-COMP), flops only positive (MEM-MEM). The paper prints the identifiers
of these last two exchanged, and Race-to-halt as a negative sum, which overlaps them.

{_bullet_list(ENERGY)}
"""


def _flagged(name: str, meaning: str, source: str, flags: Sequence[str]) -> Quantity:
    top = float(len(flags) - 1)
    return Quantity(
        name, "", "", meaning, f"{SOURCE}, {source}", maximum=top, floor=0.0, ceiling=top, flags=tuple(flags)
    )


def guideline_metrics(processors: Sequence[str]) -> tuple[Quantity, ...]:
    """Return what is known of a pair of processors; nothing for more than two, whom the paper leaves out."""
    if len(processors) != 2:
        return ()
    first, second = (p.upper() for p in processors)
    performance, energy = (
        _cases_with_processors(PERFORMANCE, first, second),
        _cases_with_processors(ENERGY, first, second),
    )
    return (
        _gradient("gradient_flop", "ΔGP_f", "flop", "(28)"),
        _gradient("gradient_byte", "ΔGP_b", "byte", "(29)"),
        _flagged(
            "performance_category",
            "P-Paw category, by the machine balances",
            "section 5.1",
            [x for x, _ in performance],
        ),
        _flagged(
            "energy_category", "E-Paw category, by the gradients", "section 5.2", [x for x, _ in energy]
        ),
        _flagged(
            "performance_guideline",
            "advice of the P-Paw category",
            "section 5.1",
            [text for _, text in performance],
        ),
        _flagged(
            "energy_guideline", "advice of the E-Paw category", "section 5.2", [text for _, text in energy]
        ),
    )


def _gradient(name: str, symbol: str, one: str, equation: str) -> Quantity:
    return Quantity(
        name,
        symbol,
        f"J/{one}",
        f"energy that moving one {one} to the more expensive processor adds, less the constant power it saves",
        f"{SOURCE} {equation}",
        minimum=-math.inf,
    )


def guidelines(machines: Sequence[Any]) -> dict[str, Any]:
    """Return gradients and categories of a pair of processors; nothing for more than two."""
    if len(machines) != 2:
        return {}
    first, second = machines
    static = first.constant_power + second.constant_power
    of_flops = (
        _absolute_difference(first.energy_per_flop, second.energy_per_flop),
        static * second.time_per_flop,
    )
    of_bytes = (
        _absolute_difference(first.energy_per_byte, second.energy_per_byte),
        static * second.time_per_byte,
    )
    fast, frugal = _performance(first, second), _energy_category(first, second, of_flops, of_bytes)
    return {
        "gradient_flop": of_flops[0] - of_flops[1],
        "gradient_byte": of_bytes[0] - of_bytes[1],
        "performance_category": fast,
        "energy_category": frugal,
        "performance_guideline": fast,
        "energy_guideline": frugal,
    }


def _absolute_difference(a: Any, b: Any) -> Any:
    return maximum(a - b, b - a)


def _above(a: Any, b: Any) -> Any:
    """Return 1 where a > b and 0 elsewhere."""
    return 1.0 - reaches(b, a)


def _performance(first: Any, second: Any) -> Any:
    """Return the number of the P-Paw category: 0 where the balances are equal, 1 where the first is larger."""
    one = per(first.time_per_byte, first.time_per_flop)
    other = per(second.time_per_byte, second.time_per_flop)
    return _above(one, other) + 2.0 * _above(other, one)


def _energy_category(first: Any, second: Any, of_flops: tuple[Any, Any], of_bytes: tuple[Any, Any]) -> Any:
    """Return the number of the E-Paw category; ``of_...``: dearer dynamic and saved static energy of one."""
    flops_cost, flops_pay = _above(*of_flops), _above(*reversed(of_flops))
    bytes_cost, bytes_pay = _above(*of_bytes), _above(*reversed(of_bytes))
    computes = _above(second.energy_per_flop, first.energy_per_flop)
    moves = _above(second.energy_per_byte, first.energy_per_byte)
    # all on the first 0, all on the second 1, flops on the first 2, bytes on the first 3
    apart = (1.0 - computes) * (1.0 - moves) + 2.0 * computes * (1.0 - moves) + 3.0 * (1.0 - computes) * moves
    cases: tuple[tuple[Any, Any], ...] = (
        (flops_cost * bytes_cost, apart),
        (flops_pay * bytes_pay, 4.0),
        (flops_pay * bytes_cost, 5.0),
        (flops_cost * bytes_pay, 6.0),
    )
    # a gradient of exactly zero is none of these: 7
    number: Any = 7.0
    for holds, case in cases:
        number = number + holds * (case - 7.0)
    return number
