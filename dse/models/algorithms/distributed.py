"""The distributed machine of Demmel et al. 2013: counts in, time and energy out (equations (1) and (2)).

Each of ``p`` processors does ``F`` flops, sends ``W`` words in ``S`` messages and holds ``M`` words. Nothing
overlaps, and memory and leakage draw power during the run:

    T = γt F + βt W + αt S                                      (1)
    E = p (γe F + βe W + αe S + δe M T + εe T)                  (2)

A machine may state its network (``torus_dimensions`` or ``fat_tree_arity``); words and messages then go over h links,
as said below.

An algorithm is given by its counts and the limits within which they are valid; constant factors are left out, as in
the paper.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dse.models.model import ModelLimit
from dse.models.platforms import network
from dse.models.shared.sums import held, sum_of
from dse.models.shared.totals import totals
from dse.quantities import Quantity

SOURCE = "Demmel et al. 2013"
COST_MODEL = f"{__doc__}\n{network.PAGE}"

MAX_MESSAGE = Quantity(
    "max_message",
    "m",
    "word/message",
    "largest message; fewer words per message mean more messages",
    f"{SOURCE}, section II",
    minimum=1.0,
    floor=1.0,
    ceiling=1e18,
)
WORD_SIZE = Quantity(
    "word_size",
    "ws",
    "byte",
    "bytes in a word; needed only to read memory given in bytes",
    f"{SOURCE}, Table I",
    floor=1e-3,
    ceiling=1e6,
    optional=True,
)
MEMORY_CAPACITY = Quantity(
    "memory_capacity",
    "Mcap",
    "word",
    "memory that one processor has; bounds the memory used where it is given",
    f"{SOURCE}, section IV",
    minimum=1.0,
    floor=1.0,
    ceiling=1e18,
    optional=True,
)
MACHINE = (
    Quantity("time_per_flop", "γt", "s/flop", "time of one flop on one processor", f"{SOURCE} (1)"),
    Quantity(
        "time_per_word", "βt", "s/word", "time to send one word (reciprocal bandwidth)", f"{SOURCE} (1)"
    ),
    Quantity(
        "time_per_message", "αt", "s/message", "time of a message of any length (latency)", f"{SOURCE} (1)"
    ),
    Quantity("energy_per_flop", "γe", "J/flop", "energy of one flop", f"{SOURCE} (2)"),
    Quantity("energy_per_word", "βe", "J/word", "energy to send one word", f"{SOURCE} (2)"),
    Quantity("energy_per_message", "αe", "J/message", "energy of a message of any length", f"{SOURCE} (2)"),
    Quantity(
        "memory_power_per_word",
        "δe",
        "W/word",
        "power of one word of memory in use while the run lasts",
        f"{SOURCE} (2)",
    ),
    Quantity(
        "leakage_power", "εe", "W", "power of one processor outside its memory, busy or not", f"{SOURCE} (2)"
    ),
    MAX_MESSAGE,
    WORD_SIZE,
    MEMORY_CAPACITY,
    *network.MACHINE,
)
# for algorithms whose message count does not depend on the largest message: they may be asked of any machine
MACHINE_ANY_MESSAGE = tuple(replace(q, optional=True) if q is MAX_MESSAGE else q for q in MACHINE)

PROCESSORS = Quantity(
    "processors",
    "p",
    "",
    "number of processors",
    f"{SOURCE}, section II",
    minimum=1.0,
    floor=1.0,
    ceiling=1e15,
    counted=True,
)
MEMORY = Quantity(
    "memory",
    "M",
    "word",
    "memory used per processor",
    f"{SOURCE}, section II",
    minimum=1.0,
    floor=1.0,
    ceiling=1e18,
)

COMMON_METRICS = (
    Quantity("time", "T", "s", "time of the run", f"{SOURCE} (1)"),
    Quantity("energy", "E", "J", "energy of the run, all processors", f"{SOURCE} (2)"),
    Quantity("power", "P", "W", "average power of the run, energy/time", f"{SOURCE}, section V.D"),
    Quantity("performance", "R", "flop/s", "flops of all processors per second", f"{SOURCE}, section VI"),
    Quantity(
        "efficiency", "η", "flop/J", "flops per joule (GFLOPS/W is 1e9 flop/J)", f"{SOURCE}, section V.F"
    ),
    Quantity("energy_delay", "ET", "J*s", "energy times time", "product of (1) and (2)"),
    Quantity("power_per_processor", "P/p", "W", "average power of one processor", f"{SOURCE}, section V.E"),
    Quantity("flops", "F", "flop", "flops per processor", f"{SOURCE} (1)"),
)
METRICS = (
    *COMMON_METRICS,
    Quantity("words", "W", "word", "words sent per processor", f"{SOURCE} (1)"),
    Quantity("messages", "S", "message", "messages sent per processor", f"{SOURCE} (1)"),
)
MESSAGE_SHARE = Quantity(
    "message_share",
    "m/M",
    "",
    "largest message divided by memory used; the paper assumes at most 1, which valid = true enforces",
    f"{SOURCE}, section II",
)

CAPACITY_LIMIT = ModelLimit(
    "memory_capacity", "M <= Mcap", "a processor cannot use more memory than it has", f"{SOURCE}, section IV"
)

VALID = (
    ModelLimit(
        "message_share", "m <= M", "a message is no longer than the memory used", f"{SOURCE}, section II"
    ),
)

SUMS = (
    sum_of(
        "time",
        "what it is spent on",
        {
            "flops": "machine.time_per_flop flops",
            "words": "machine.time_per_word words",
            "messages": "machine.time_per_message messages",
        },
    ),
    sum_of(
        "energy",
        "what it is spent on",
        {
            "flops": "processors machine.energy_per_flop flops",
            "words": "processors machine.energy_per_word words",
            "messages": "processors machine.energy_per_message messages",
            "memory": "processors machine.memory_power_per_word memory time",
            "leakage": "processors machine.leakage_power time",
        },
    ),
)

WORK = ("processors", "flops")
# how a question changes whose machine states its network
NETWORK = network.NAMES
ON_NETWORK = network.OnNetwork("words", "messages")
HARDWARE = (held("processors", "processors"), held("memory", "processors memory", memory=True))


def costs(g: Any, memory: Any, flops: Any, words: Any, messages: Any) -> dict[str, Any]:
    """Return the metrics of a run from one processor's counts, by (1) and (2).

    ``g``: the namespace a model's equations get. ``memory``, ``flops`` and ``words`` are counts and get their
    unit here as a label; ``messages`` carries it already.
    """
    m, p = g.machine, g.processors
    flops, words, memory = flops * g.flop, words * g.word, memory * g.word
    over = network.passed(m, p, words, messages)
    time = m.time_per_flop * flops + m.time_per_word * over.words_timed + m.time_per_message * over.messages
    energy = p * (
        m.energy_per_flop * flops
        + m.energy_per_word * over.words
        + m.energy_per_message * over.messages
        + m.memory_power_per_word * memory * time
        + m.leakage_power * time
    )
    return {
        **summary(time, energy, p * flops, p),
        "flops": flops,
        "words": words,
        "messages": messages,
        **network.told(m, p),
    }


def summary(time: Any, energy: Any, work: Any, processors: Any) -> dict[str, Any]:
    """Return the metrics that follow from time, energy, all flops (``work``) and the number of processors."""
    found = totals(time, energy, work)
    return found | {"power_per_processor": found["power"] / processors}


def full_messages(g: Any, words: Any) -> Any:
    """Return the messages that carry ``words`` (a count) when each is as large as it may be: S = W/m."""
    return words * g.word / g.machine.max_message


def capacity(g: Any, memory: Any) -> dict[str, Any]:
    """Return the ratio M/Mcap (``memory`` a count of words) where the machine states one."""
    if not hasattr(g.machine, "memory_capacity"):
        return {}
    return {"memory_capacity": memory * g.word / g.machine.memory_capacity}


def message_share(g: Any, memory: Any) -> Any:
    """Return the largest message as a share of ``memory`` (words, a count)."""
    return g.machine.max_message * g.message / (memory * g.word)
