"""One design of whole numbers for many samples, bounded by the best design of each."""

from __future__ import annotations

import tomllib
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import qmc

import dse
from formulations.uncertainty.measures import MEAN, WORST, Measured, Quantile, cvar
from formulations.uncertainty.wanted import Wanted
from results.solution import Status
from scenarios.questions import question
from solvers.linear.points import mixed
from solvers.robust import decide_now
from solvers.robust.boxes import robust_boxes
from solvers.robust.searches import each_sample, scan

KINDS = {"a": "arndale-gpu-choi2014", "n": "nuc-gpu-choi2014", "p": "pandaboard-choi2014"}
WITH_A_HOST: dict[str, Any] = {
    "model": "blocks",
    "given": {"flops": "1 Tflop", "bytes": "300 GB", "fixed_power": "10 W"},
    "machine": KINDS,
    "objective": {"minimize": "energy", "measure": "mean"},
    "limits": {"nameplate_power": {"max": "60 W"}},
}


def asked(seed: int, measure: Measured) -> Wanted:
    """A question with three random numbers uncertain, and a limit that some samples keep only with other counts."""
    dice = np.random.default_rng(seed)
    of = {"fixed_power": f"{dice.uniform(1, 30)} W"}
    uncertain: dict[str, Any] = {
        "bytes": {"loguniform": ["10 GB", "3 TB"]},
        "machine.a.energy_per_flop": {"loguniform": ["10 pJ/flop", "200 pJ/flop"]},
        "machine.n.constant_power": {"uniform": ["1 W", "20 W"]},
        "sampling": {"samples": 16, "seed": seed},
    }
    limits = {"nameplate_power": {"max": "60 W"}, "time": {"max": f"{dice.uniform(2, 70)} s"}}
    asked = {"given": {**WITH_A_HOST["given"], **of}, "uncertain": uncertain, "limits": limits}
    q = question(dse.load({**WITH_A_HOST, **asked}))
    return Wanted(decide_now.sampled(q), measure)


@pytest.mark.parametrize(
    ("seed", "measure"), list(product(range(6), [MEAN, cvar(0.75), WORST, Quantile(0.8)]))
)
def test_the_design_is_the_best_of_all_designs(seed: int, measure: Measured) -> None:
    """Against every design judged in every sample."""
    wanted = asked(seed, measure)
    found, every = each_sample.minimise(wanted).outcome, scan.minimise(wanted).outcome
    assert found.status is every.status
    if every.bound is None:
        assert found.status is Status.INFEASIBLE
        return
    # a gap of 1e-6 is asked for
    assert found.bound == pytest.approx(every.bound, rel=2e-6)


@pytest.mark.parametrize(("seed", "measure"), list(product(range(3), [MEAN, Quantile(0.8)])))
def test_boxes_of_few_counts_find_the_same(seed: int, measure: Measured) -> None:
    """What is left of a box of whole numbers is often one design, which has a bound of its own."""
    wanted = asked(seed, measure)
    found, every = robust_boxes.minimise(wanted).outcome, scan.minimise(wanted).outcome
    assert found.status is every.status
    assert every.bound is None or found.bound == pytest.approx(every.bound, rel=2e-6)


def test_a_quantile_of_a_ratio_of_many_counts_is_proved() -> None:
    """Boxes of twelve counts left 86 % open."""
    text = tomllib.loads(dse.load("blocks_least_energy_with_host").text or "")
    power = {"machine.gtx680.usable_power": {"uniform": ["116 W", "174 W"]}, "sampling": {"samples": 16}}
    found = dse.solve({**text, "uncertain": power, "objective": {"minimize": "energy", "quantile": 0.9}})
    assert found.status is Status.OPTIMAL, found.certificate


def test_a_mean_of_ratios_of_many_counts_is_proved() -> None:
    """Boxes of twelve counts left 86 % open, and a design that is 10 % worse."""
    text = dse.load("blocks_least_energy_with_host").text
    uncertain = {
        "flops": {"uniform": ["0.8 Pflop", "1.2 Pflop"]},
        "machine.gtx_titan.energy_per_byte": {"uniform": ["200 pJ/byte", "400 pJ/byte"]},
        "sampling": {"samples": 128},
    }
    of = tomllib.loads(text) | {"uncertain": uncertain}
    found = dse.solve({**of, "objective": {"minimize": "energy", "measure": "mean"}})
    assert found.status == "optimal"
    assert "the best designs of each sample" in found.certificate
    assert found.gap is not None
    assert found.gap <= 1e-6


def test_a_limit_that_may_fail_in_no_sample_holds_in_each() -> None:
    """So many designs are there that none of 440 may fail: boxes found neither a design nor a proof."""
    limits = {"nameplate_power": {"max": "60 W"}, "time": {"max": "1000 s"}}
    uncertain = {
        "bytes": {"uniform": ["200 GB", "400 GB"]},
        "machine.a.energy_per_flop": {"uniform": ["30 pJ/flop", "90 pJ/flop"]},
        "sampling": {"samples": 440, "method": "random"},
    }
    promised = {"max": "1000 s", "probability": 0.9}
    sure = dse.solve({**WITH_A_HOST, "uncertain": uncertain, "limits": limits})
    found = dse.solve({**WITH_A_HOST, "uncertain": uncertain, "limits": {**limits, "time": promised}})
    assert "may fail in 0 of 440 samples" in found.measure
    assert found.status == sure.status == "optimal"
    assert found.objective == sure.objective


@pytest.mark.parametrize("measure", [{"measure": "mean"}, {"cvar": 0.9}])
def test_supplies_suffice_for_the_sample_that_needs_most(measure: dict[str, Any]) -> None:
    """Steps of about 800 W have to be more than those of 1200 W, not all of which are then needed."""
    scenario = tomllib.loads(dse.load("station_cheapest_mix_in_10_kw").text)
    scenario["uncertain"] = {
        "power_step": {"uniform": ["800 W", "1200 W"]},
        "sampling": {"samples": 16},
    }
    scenario["objective"].update(measure)
    found = dse.solve(scenario)
    assert found.status is Status.OPTIMAL, found.message
    steps = found.variables["power_steps"]
    assert isinstance(steps, float)
    least = 800.0 + 400.0 * qmc.Sobol(1, scramble=True, rng=np.random.default_rng(0)).random(16).min()
    assert (steps - 1) * least < found.metrics["power"] <= steps * least


UNCERTAIN_KINDS: dict[str, Any] = {
    "model": "blocks",
    "machine": KINDS,
    "given": {"flops": "10 Pflop", "bytes": "1 PB"},
    "uncertain": {
        "machine.n.time_per_byte": {"uniform": ["5.8e-11 s/byte", "6.7e-11 s/byte"]},
        "sampling": {"samples": 16, "method": "random", "seed": 1},
    },
}


def test_counts_that_change_nothing_stay_within_the_search() -> None:
    """One board needs as much energy as a million: a million were handed out, at an end of the search, unproved."""
    found = dse.solve(UNCERTAIN_KINDS | {"objective": {"minimize": "energy", "measure": "mean"}})
    assert found.status is Status.OPTIMAL
    assert found.gap == pytest.approx(0.0, abs=1e-6)
    counts = [v for n, v in found.variables.items() if n.startswith("count.")]
    assert sorted(counts) == [0.0, 0.0, 1.0]


def test_without_an_upper_end_a_mean_has_no_end() -> None:
    """As of one sample; it was called feasible, with a million of each kind."""
    found = dse.solve(UNCERTAIN_KINDS | {"objective": {"maximize": "performance", "measure": "mean"}})
    assert found.status is Status.UNBOUNDED
    assert found.runaway.startswith("count.")


@pytest.mark.parametrize("most", [1e6, 1e9, 1e14])
def test_an_end_that_the_user_sets_beyond_that_of_a_search_is_reached(most: float) -> None:
    """A million of each were called optimal, where the user allows more."""
    decide = {f"count.{kind}": {"max": most} for kind in KINDS}
    found = dse.solve(
        UNCERTAIN_KINDS | {"decide": decide, "objective": {"maximize": "performance", "measure": "mean"}}
    )
    counts = [v for n, v in found.variables.items() if n.startswith("count.")]
    assert found.status is Status.OPTIMAL
    # the gap that is asked for leaves a millionth
    assert counts == pytest.approx([most] * len(KINDS), rel=1e-6)


LISTED: dict[str, Any] = {
    "model": "partition",
    "machine": {"cpu": "xeon-8480", "gpu": "h100-pcie"},
    "given": {
        "link_bandwidth": "50 GB/s",
        "link_latency": "10 us",
        "link_energy_per_byte": "60 pJ/byte",
        "order": "listed",
        "regions": [
            {"name": "read", "flops": "1 Gflop", "bytes": "20 GB", "divisible": False},
            {"name": "mesh", "flops": "200 Gflop", "bytes": "40 GB"},
            {"name": "assembly", "flops": "2 Tflop", "bytes": "100 GB"},
            {"name": "solver", "flops": "10 Tflop", "bytes": "2 TB"},
            {"name": "post", "flops": "500 Gflop", "bytes": "60 GB", "divisible": False},
        ],
        "transfers": [
            {"from": "read", "to": "mesh", "bytes": "10 GB"},
            {"from": "mesh", "to": "assembly", "bytes": "8 GB"},
            {"from": "assembly", "to": "solver", "bytes": "12 GB"},
            {"from": "solver", "to": "post", "bytes": "4 GB"},
        ],
        "share.read.cpu": 1,
    },
    "objective": {"minimize": "energy", "measure": "mean"},
    "limits": {"power": {"max": "500 W"}, "time": {"max": "1.5 s"}},
    "uncertain": {
        "link_bandwidth": {"triangular": ["10 GB/s", "50 GB/s", "60 GB/s"]},
        "sampling": {"samples": 4},
    },
}


def test_a_mean_over_schedules_is_proved_by_one_program_of_all_samples() -> None:
    """Each sample takes a search of its own, and parts of the box have the bound of the whole: it had no end."""
    found = dse.solve(LISTED)
    assert found.status is Status.OPTIMAL, found.certificate
    assert "one program of every sample" in found.certificate
    assert found.gap == pytest.approx(0.0, abs=1e-9)
    # the optimum for each sample by itself is lower, but no design is the best of all
    assert found.objective == pytest.approx(625.8784103854744, rel=1e-6)


@pytest.mark.parametrize(("most", "by"), [("420 W", {"measure": "mean"}), ("420 W", {"cvar": 0.5})])
def test_one_program_of_all_samples_finds_what_parts_of_the_box_close_in_on(
    most: str, by: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two regions, where both ways end."""
    regions = [
        {"name": "a", "flops": "100 Gflop", "bytes": "90 GB"},
        {"name": "b", "flops": "900 Gflop", "bytes": "300 GB"},
    ]
    given = LISTED["given"] | {
        "regions": regions,
        "transfers": [{"from": "a", "to": "b", "bytes": "9 GB"}],
        "share.a.cpu": 1,
    }
    del given["share.read.cpu"]
    text = LISTED | {
        "given": given,
        "objective": {"minimize": "time", **by},
        "limits": {"power": {"max": most}},
        "uncertain": {
            "link_bandwidth": {"uniform": ["2 GB/s", "60 GB/s"]},
            "sampling": {"samples": 4},
        },
    }
    parts = dse.solve(text)
    monkeypatch.setattr(mixed, "MOST_LINEAR_NODES", -1)
    one = dse.solve(text)
    assert parts.status is one.status is Status.OPTIMAL
    assert "one program of every sample" in one.certificate
    assert "one program of every sample" not in parts.certificate
    assert one.objective == pytest.approx(parts.objective, rel=2e-6)
    assert one.bound is not None
    assert parts.objective is not None
    assert one.bound <= parts.objective * (1.0 + 1e-9)
