"""Where the numbers of a machine come from, for answers that say so: a kind for each parameter."""

from __future__ import annotations

import re

from dse.machines.catalogue import Machine

DERIVED, NOT_SAID = "derived", "not said"
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def kinds(machine: Machine) -> dict[str, str]:
    """Return what each parameter of a machine rests on: a kind of evidence, or "not said".

    What is computed from figures of one kind, such as a time of a flop from a peak rate, is of that kind; where it lies
    in an interval it is "derived", since the figures alone do not say it.
    """
    return {name: _origin_behind(machine, name) for name in machine.parameters}


def _origin_behind(machine: Machine, name: str) -> str:
    own = machine.evidence.get(name, "") or NOT_SAID
    if own != DERIVED or name in machine.intervals:
        return own
    figures = {n for n in _NAME.findall(machine.provenance.get(name, "")) if n in machine.figures}
    behind = {machine.figures[n].evidence for n in figures}
    return (behind.pop() or NOT_SAID) if len(behind) == 1 else own
