"""Systems of building blocks, by the model ``blocks``: so many of one kind, or as many as a budget allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.papers.asking import ask, metrics
from dse.papers.choi2014.platforms import CELLS, RUN_WORK, Spec, machine
from results.solution import Status

KIND = "block"


def _single_precision_part(spec: Spec) -> Any:
    """Return a platform's machine, or those parameters of a table that concern single precision and memory."""
    if isinstance(spec, str):
        return machine(spec)
    return {name: value for name, value in spec.items() if name in CELLS.values()}


def block_system(count: int, spec: Spec, intensity: float) -> Mapping[str, float]:
    """Every metric of that many equal blocks."""
    given = {"flops": RUN_WORK, "intensity": intensity, f"count.{KIND}": count}
    return metrics("blocks", {KIND: _single_precision_part(spec)}, given)


def fastest_within(kinds: Mapping[str, Spec], budget: float, intensity: float) -> dict[str, int]:
    """Return the counts of the fastest system whose nameplate power fits into a budget (W), as proved.

    Raises RuntimeError where no optimum was proved.
    """
    found = ask(
        {
            "model": "blocks",
            "machine": {kind: _single_precision_part(spec) for kind, spec in kinds.items()},
            "given": {"flops": RUN_WORK, "intensity": intensity},
            "objective": {"maximize": "performance"},
            "limits": {"nameplate_power": {"max": budget}},
        }
    )
    if found.status is not Status.OPTIMAL:
        msg = f"blocks within {budget:g} W: {found.status} {found.message}"
        raise RuntimeError(msg)
    return {kind: round(float(found.variables[f"count.{kind}"])) for kind in kinds}


def most_within(spec: Spec, budget: float) -> int:
    """Return the most equal blocks whose nameplate power fits into a budget (W)."""
    return fastest_within({KIND: spec}, budget, 1.0)[KIND]
