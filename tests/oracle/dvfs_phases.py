"""Phases on the settings of a Jetson TK1: their question, and its answer written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dse import machines, models
from dse.models.model import Model
from dse.models.platforms.dvfs import DVFS
from dse.models.shared.structure import Parts, Row

JETSON = machines.get("jetson-tk1")
MENU = [str(s["name"]) for s in JETSON.settings]
# kinds of operations, and what they cost: count, energy, operations per cycle, of which clock
KINDS = [
    ("flops", "energy_per_flop", 384.0, "core_frequency"),
    ("flops_double", "energy_per_flop_double", 16.0, "core_frequency"),
    ("integer_operations", "energy_per_integer_operation", 192.0, "core_frequency"),
    ("bytes", "energy_per_byte", 16.0, "memory_frequency"),
]
# the six phases of the cases: flops, double flops, integer operations, bytes
SIX = {
    "U": (6e11, 0.0, 3e11, 2e9),
    "V": (4e10, 0.0, 6e10, 6e10),
    "W": (5e10, 0.0, 2e10, 1e10),
    "X": (2e10, 1e9, 3e10, 1.2e10),
    "UP": (0.0, 8e9, 2e10, 4e9),
    "DOWN": (0.0, 6e9, 4e10, 1e10),
}
CLOSE = 1e-12
# what the cases' answers are printed to
CASE = 1e-6
Counts = Mapping[str, Sequence[float]]


def rows(phases: Counts) -> tuple[Row, ...]:
    return tuple(Row(name, stated=frozenset(k[0] for k in KINDS)) for name in phases)


def expanded(
    phases: Sequence[Row],
    menu: Sequence[Mapping[str, Any]] = JETSON.settings,
    asked: tuple[str, ...] = (),
) -> Model:
    assert DVFS.expand is not None
    return DVFS.expand(
        Parts(rows={"phases": tuple(phases)}, settings=tuple(menu), asked=dict.fromkeys(asked))
    )


def values(plain: Model, machine: machines.Machine = JETSON) -> dict[str, Any]:
    """What the plain model takes of a machine, and nothing else."""
    menu = {f"machine.{s['name']}.{k}": v for s in machine.settings for k, v in s.items()}
    menu |= {f"machine.{k}": v for k, v in machine.parameters.items()}
    own = {k for k in plain.parameters() if k.startswith("machine.")}
    return {k: menu[k] for k in own & set(menu)} | {"switch_time": 0.0, "switch_energy": 0.0}


def run(phases: Counts, setting: Any, **given_: Any) -> dict[str, Any]:
    """All metrics at ``setting``: one number for all phases, or one per phase."""
    plain = expanded(rows(phases))
    counts = {f"phases.{p}.{k[0]}": n for p, of in phases.items() for k, n in zip(KINDS, of, strict=True)}
    each = (
        {f"setting.{p}": s for p, s in setting.items()} if isinstance(setting, dict) else {"setting": setting}
    )
    return dict(models.evaluate(plain, values(plain) | counts | each | given_))


def by_hand(counts: Sequence[float], s: Mapping[str, Any]) -> tuple[float, float]:
    """Time and energy of a phase at a setting: rates per cycle, then (9)."""
    time = max(n / (rate * s[clock]) for n, (_, _, rate, clock) in zip(counts, KINDS, strict=True))
    energy = sum(n * s[cost] for n, (_, cost, _, _) in zip(counts, KINDS, strict=True))
    return time, energy + s["constant_power"] * time
