"""A number over a sum of counts (a time, a mean time to failure) over samples: measured by its sum where that tells."""

from __future__ import annotations

import tomllib
from itertools import product
from typing import Any

import numpy as np
import pytest

import dse
from formulations.uncertainty.measures import MEAN, WORST, Measured, Quantile, cvar
from formulations.uncertainty.wanted import Wanted
from formulations.uncertainty.worlds import judged
from results.solution import Status
from scenarios.questions import question
from solvers.robust import decide_now
from solvers.robust.masters import program_chances, robust_program
from solvers.robust.searches import scan

KINDS = {"a": "arndale-gpu-choi2014", "n": "nuc-gpu-choi2014", "p": "pandaboard-choi2014"}

MEASURES = [WORST, MEAN, cvar(0.75), Quantile(0.8), Quantile(0.5)]
RATES: dict[str, Any] = {
    "machine.a.usable_power": {"uniform": ["3 W", "6 W"]},
    "machine.n.time_per_byte": {"uniform": ["40 ps/byte", "90 ps/byte"]},
}


def asked(seed: int, measure: Measured, of_time: dict[str, Any] = RATES) -> Wanted:
    """The least time within a limit on power, of which some is uncertain, and so may be what time depends on."""
    dice = np.random.default_rng(seed)
    uncertain: dict[str, Any] = {
        **of_time,
        "fixed_power": {"uniform": ["1 W", "20 W"]},
        "sampling": {"samples": 16, "seed": seed},
    }
    text = {
        "model": "blocks",
        "machine": KINDS,
        "given": {"flops": "1 Tflop", "bytes": "300 GB", "fixed_power": "10 W"},
        "objective": {"minimize": "time", "measure": "mean"},
        "limits": {"nameplate_power": {"max": f"{dice.uniform(60, 120)} W"}},
        "uncertain": uncertain,
    }
    return Wanted(decide_now.sampled(question(dse.load(text))), measure)


@pytest.mark.parametrize(("seed", "measure"), list(product(range(4), MEASURES)))
def test_the_design_is_the_best_of_all_designs(seed: int, measure: Measured) -> None:
    """Against every design judged in every sample."""
    wanted = asked(seed, measure)
    every = scan.minimise(wanted).outcome
    if isinstance(measure, Quantile):
        found = program_chances.found(wanted, tied=False).outcome
    else:
        found = robust_program.minimise(wanted.worlds, measure).outcome
    assert found.status is every.status is Status.OPTIMAL
    assert found.bound == pytest.approx(every.bound, rel=2e-6)


@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_the_same_in_every_sample_is_its_own_mean(seed: int) -> None:
    wanted = asked(seed, MEAN, {})
    found, every = robust_program.minimise(wanted.worlds, MEAN).outcome, scan.minimise(wanted).outcome
    assert found.status is every.status is Status.OPTIMAL
    assert found.bound == pytest.approx(every.bound, rel=2e-6)


def test_samples_whose_limits_leave_different_amounts_are_one_program() -> None:
    """Which of two terms of a roofline is the larger tells them apart, and so does how many blocks a limit leaves."""
    text = tomllib.loads(dse.load("blocks_one_kind_throttled").text or "")
    uncertain = {
        "machine.apu_cpu.constant_power": {"uniform": ["16 W", "24 W"]},
        "machine.gtx580.energy_per_flop": {"uniform": ["79.8 pJ/flop", "120 pJ/flop"]},
        "sampling": {"samples": 16},
    }
    objective = {"maximize": "performance", "quantile": 0.9}
    found = dse.solve({**text, "uncertain": uncertain, "objective": objective})
    assert found.status is Status.OPTIMAL, found.certificate
    # neither of the two is in it
    assert found.objective == pytest.approx(dse.solve(text).objective, rel=1e-6)


def test_a_quantile_of_a_time_to_failure_is_proved() -> None:
    """What a limit leaves of a count differs from sample to sample, and failures are some 1e-6 a second."""
    text = tomllib.loads(dse.load("station_longest_mttf_in_10_kw").text or "")
    power = {"cards.of 128.power": {"uniform": ["0.0684 W", "0.1596 W"]}, "sampling": {"samples": 32}}
    del text["decide"]["machine.socket"]
    scenario = {
        **text,
        "machine": {"socket": "at91sam9m10"},
        "uncertain": power,
        "objective": {"maximize": "mttf", "quantile": 0.9},
    }
    found = dse.solve(scenario)
    assert found.status is Status.OPTIMAL
    assert found.bound is not None
    at = judged(decide_now.sampled(question(dse.load(scenario))), found.variables)
    assert at.objective is not None
    assert found.objective == pytest.approx(at.objective.min(), rel=1e-12)
    assert found.bound == pytest.approx(found.objective, rel=1e-6)
