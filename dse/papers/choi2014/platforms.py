"""The twelve platforms of Table I: what the paper prints, and our model on the machines of the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

import scenarios
import scenarios.questions
from dse import machines
from dse.papers.asking import metrics
from dse.papers.sources import rounding, table
from formulations import evaluation

PAPER = "choi2014"
RUN_WORK = 1e12
# cells of a platform that fix its time, energy and power in single precision, and the parameter each becomes
CELLS = {
    "sust_single_flop_per_s": "time_per_flop",
    "sust_mem_B_per_s": "time_per_byte",
    "eps_single_J_per_flop": "energy_per_flop",
    "eps_mem_J_per_byte": "energy_per_byte",
    "pi1_W": "constant_power",
    "delta_pi_W": "usable_power",
}
Spec = str | Mapping[str, Any]


@cache
def cells() -> Mapping[str, Mapping[str, str]]:
    """Table I as printed, in SI units, by platform; a cell that the table leaves empty is an empty text."""
    return {row["platform_id"]: row for row in table("choi2014/platforms")}


def label(platform: str) -> str:
    """Name of a platform as Table I has it, without the code name in quotes."""
    return cells()[platform]["table_label"].split(' "', maxsplit=1)[0]


def machine(platform: str) -> str:
    """Name of a platform's machine in the catalogue."""
    return f"{platform.replace('_', '-')}-choi2014"


def uncapped(platform: str) -> Mapping[str, Any]:
    """Return a platform's machine without its power cap: the earlier model of the same authors."""
    parameters = machines.get(machine(platform)).parameters
    return {name: value for name, value in parameters.items() if name != "usable_power"}


def run(spec: Spec, **given: Any) -> Mapping[str, float]:
    """Every metric of the roofline model; ``spec`` is a platform, or a machine as a table."""
    where = machine(spec) if isinstance(spec, str) else spec
    return metrics("roofline", where, {"flops": RUN_WORK} | given)


def stream(spec: Spec, **given: Any) -> Mapping[str, float]:
    """Every metric of a run that only moves bytes."""
    return run(spec, flops=0.0, bytes=RUN_WORK, **given)


def compute(spec: Spec, **given: Any) -> Mapping[str, float]:
    """Every metric of a run that only computes."""
    return run(spec, bytes=0.0, **given)


def curves(platform: str, intensity: np.ndarray[Any, Any], **given: Any) -> Mapping[str, Any]:
    """Every metric at many intensities at once."""
    asked = {"flops": RUN_WORK, "intensity": 1.0} | given
    question = scenarios.questions.question(
        scenarios.load({"model": "roofline", "machine": machine(platform), "given": asked})
    )
    many: Mapping[str, Any] = {**question.given, "intensity": intensity}
    at = replace(question, given=many)
    return evaluation.metrics(at, {})


@dataclass(frozen=True, slots=True)
class Told:
    """A number that the constants give, and by how much the rounding of Table I can move it."""

    value: float
    slack: float

    @property
    def remark(self) -> str:
        """Say how far the rounding of Table I reaches."""
        return f"the rounding of Table I moves it by at most {self.slack:.2g}"


def _rounding(cell: str) -> float:
    """Largest relative error of a cell: Table I prints three digits, of which SI units hide trailing zeros."""
    return rounding(f"{float(cell):.2e}")


def told(answer: Callable[..., float], *platforms: str) -> Told:
    """Return ``answer`` of those platforms' machines, and its change when every cell moves by half a digit.

    The changes of single cells are added up, which is their joint effect to first order.
    """
    plain = [dict(machines.get(machine(p)).parameters) for p in platforms]
    value, slack = answer(*plain), 0.0
    for place, platform in enumerate(platforms):
        for cell, name in CELLS.items():
            error = _rounding(cells()[platform][cell])
            moved = []
            for way in (1.0 - error, 1.0 + error):
                changed = [dict(p) for p in plain]
                changed[place][name] *= way
                moved.append(answer(*changed))
            slack += max(abs(m - value) for m in moved)
    return Told(value, slack)
