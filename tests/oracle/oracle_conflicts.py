"""Every minimal set of limits that cannot hold together, by asking the brute force about every subset."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from brute_force import answer
from oracle_equations import Ask, Range

ALWAYS_ON = {"nbody", "matmul", "strassen", "lu"}
NO_CAP = 400.0  # halvings: as good as a parameter of zero


def limits_of(ask: Ask) -> list[str]:
    """Names of all limits of a question: the user's, bounds of decided quantities, the model's own."""
    names = list(ask.limits)
    bounded = [n for n, r in ask.decide.items() if (r.low, r.high) != (None, None)]
    names += [bound(ask, n) for n in bounded if n not in names]
    names += [f"machine.{n}" for n in ask.reductions]
    own = ("one_copy", "replication") if ask.model in ALWAYS_ON else ()
    return names + [n for n in own if n not in ask.waive]


def bound(ask: Ask, name: str) -> str:
    """What an answer calls the bounds of a decided quantity: least memory may be the model's range."""
    return "valid.message_share" if ask.valid and name == "memory" else name


def keeping(ask: Ask, names: frozenset[str]) -> Ask:
    """The question with only these limits."""
    own = {"one_copy", "replication"} - names
    whole = ask.model == "fft"  # elsewhere whole numbers are part of the limit that bears the variable's name
    return replace(
        ask,
        limits={n: b if n in names else (None, None) for n, b in ask.limits.items()},
        decide={n: r if bound(ask, n) in names else Range(whole=whole) for n, r in ask.decide.items()},
        reductions={n: h if f"machine.{n}" in names else NO_CAP for n, h in ask.reductions.items()},
        waive=ask.waive | own,
    )


def minimal_conflicts(ask: Ask) -> frozenset[frozenset[str]]:
    """All minimal infeasible subsets, smallest first; empty where the question is feasible."""
    names = frozenset(limits_of(ask))
    # what is feasible without one limit stays so without more
    feasible = [names - {n} for n in names if answer(keeping(ask, names - {n})).feasible]
    found: list[frozenset[str]] = []
    for size in range(1, len(names) + 1):
        for chosen in map(frozenset, combinations(sorted(names), size)):
            if any(f <= chosen for f in found) or any(chosen <= f for f in feasible):
                continue
            if not answer(keeping(ask, chosen)).feasible:
                found.append(chosen)
    return frozenset(found)
