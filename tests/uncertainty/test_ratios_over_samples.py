"""Blocks that share their work freely, over samples: ratios of sums, against designs drawn at random."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dse
from formulations.uncertainty.worlds import judged
from results.solution import Solution, Status
from scenarios.questions import question
from solvers.robust import decide_now

MACHINES = {"b0": "gtx680-choi2014", "b1": "apu-gpu-choi2014"}
SAMPLES = 8
# with each kind of number another part of the ratio differs from sample to sample
UNCERTAIN: dict[str, dict[str, Any]] = {
    "what is divided": {"machine.b0.energy_per_flop": {"uniform": ["20 pJ/flop", "90 pJ/flop"]}},
    "both": {"bytes": {"uniform": ["0.2 TB", "2 TB"]}},
}
OBJECTIVES: list[dict[str, Any]] = [
    {"minimize": "time", "measure": "mean"},
    {"minimize": "energy", "measure": "mean"},
    {"minimize": "energy", "cvar": 0.5},
    {"minimize": "energy", "cvar": 0.9},
    {"maximize": "efficiency", "measure": "mean"},
]


def asked(uncertain: str, objective: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": "blocks",
        "machine": MACHINES,
        "given": {"flops": "1 Tflop", "bytes": "1 TB", "sharing": "free", "fixed_power": "20 W"},
        "uncertain": {**UNCERTAIN[uncertain], "sampling": {"samples": SAMPLES, "seed": 3}},
        "objective": objective,
        "limits": {"blocks": {"max": 3}, "time": {"max": "200 s"}},
    }


def measured(values: np.ndarray, objective: dict[str, Any]) -> np.ndarray:
    """The measure of losses (designs, samples), by its definition."""
    tail = round((1.0 - objective.get("cvar", 0.0)) * values.shape[1])
    return np.asarray(np.sort(values, axis=1)[:, -tail:].mean(axis=1))


def others(solution: Solution) -> np.ndarray:
    """Designs (count, busy of each kind) at random, and near the answer."""
    dice = np.random.default_rng(0)
    counts = dice.integers(0, 4, (2000, 2)).astype(float)
    busy = counts * np.where(dice.random((2000, 2)) < 0.4, 1.0, dice.random((2000, 2)))
    at = np.array([solution.variables[f"{n}.{b}"] for n in ("count", "busy") for b in MACHINES], dtype=float)
    near = np.clip(at[2:] * (1.0 + 0.02 * dice.standard_normal((500, 2))), 0.0, at[:2])
    return np.vstack([np.hstack([counts, busy]), np.hstack([np.tile(at[:2], (500, 1)), near])])


@pytest.mark.parametrize("uncertain", list(UNCERTAIN))
@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_no_other_design_is_better(uncertain: str, objective: dict[str, Any]) -> None:
    text = asked(uncertain, objective)
    found = dse.solve(text)
    assert found.status is Status.OPTIMAL, found.certificate
    assert "boxes" not in found.certificate
    posed = question(dse.load(text))
    certain, caps = decide_now.parted(posed)
    names = [d.name for d in posed.decide]
    worlds = replace(decide_now.sampled(certain), caps=caps)
    with np.errstate(all="ignore"):
        at = judged(worlds, {n: v[:, None] for n, v in zip(names, others(found).T, strict=True)})
    holds = np.all(
        [np.broadcast_to(r, (2500, SAMPLES)).max(1) <= 1 + 1e-9 for r in at.ratios.values()], axis=0
    )
    assert holds.sum() > 100
    sign = -1.0 if "maximize" in objective else 1.0
    assert at.objective is not None
    values = measured(sign * np.broadcast_to(at.objective, (2500, SAMPLES))[holds], objective)
    # the gap that is asked for
    assert found.objective is not None
    assert values.min() >= sign * found.objective - 1e-6 * abs(found.objective)


BOARDS: dict[str, Any] = {
    "model": "blocks",
    "machine": {"b0": "apu-gpu-choi2014", "b1": "arndale-gpu-choi2014"},
    "given": {"flops": 1e12, "bytes": 5e10, "sharing": "free"},
    "decide": {"count.b0": {"max": 2}, "count.b1": {"max": 2}},
    "uncertain": {
        "machine.b1.time_per_byte": {"uniform": [8.3e-11, 1.6e-10]},
        "sampling": {"samples": 4},
    },
    "objective": {"minimize": "energy", "measure": "mean"},
}
AT_STANDSTILL: dict[str, Any] = {"base": "arndale-gpu-choi2014", "constant_power": 0}


@pytest.mark.parametrize("cap", [None, 40.0])
def test_what_is_divided_bounds_what_divides(cap: float | None) -> None:
    """A board at least draws 1.28 W, so that none of as little energy does next to nothing: the bound was -inf."""
    found = dse.solve(BOARDS | ({} if cap is None else {"limits": {"power": {"max": cap}}}))
    assert found.status is Status.OPTIMAL, found.certificate
    # one board at work, in closed form: 110.1 J of its work, and 1.28 W for 1e12 flop at 33 GFLOPS
    assert found.objective == pytest.approx(110.1 + 1.28 * 1e12 / 33e9, rel=1e-6)


@pytest.mark.parametrize("objective", [{"minimize": "energy"}, {"maximize": "efficiency"}], ids=str)
@pytest.mark.parametrize("measure", ["mean", "worst"])
def test_boards_that_draw_nothing_at_a_standstill_have_a_ratio(
    objective: dict[str, Any], measure: str
) -> None:
    """Doing nothing with no power is no ratio: "energy is infinite in some sample", an error, was the answer."""
    asked = BOARDS | {
        "machine": BOARDS["machine"] | {"b1": AT_STANDSTILL},
        "objective": {**objective, "measure": measure},
        "limits": {"power": {"max": 3}},
    }
    found = dse.solve(asked)
    assert found.status is Status.OPTIMAL, found.message
    assert found.metrics["energy"] == pytest.approx(110.1, rel=1e-6)
    assert found.metrics["power"] == pytest.approx(3.0, rel=1e-6)


@pytest.mark.parametrize("number", ["bytes", "machine.b1.time_per_byte"])
@pytest.mark.parametrize("measure", ["mean", "worst"])
def test_of_as_much_energy_the_fastest_boards_are_handed_out(number: str, measure: str) -> None:
    """Two boards need the energy of one for each flop, in half the time: one was handed out, without a word."""
    spread = [3e10, 8e10] if number == "bytes" else [8.3e-11, 1.6e-10]
    asked = BOARDS | {
        "uncertain": {number: {"uniform": spread}, "sampling": {"samples": 4}},
        "objective": {"minimize": "energy", "measure": measure},
    }
    found = dse.solve(asked)
    assert found.status is Status.OPTIMAL
    assert found.variables["count.b1"] == 2
    assert found.metrics["time"] == pytest.approx(1e12 / 66e9, rel=1e-6)
