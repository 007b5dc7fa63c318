"""One design for many worlds: closed forms, enumeration on grids, other solvers, and what users read."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import decide_now_instances as instances
import numpy as np
import pytest

import dse
from dse import machines
from dse.cli import main
from formulations.uncertainty.measures import MEAN, WORST, Weighing, cvar
from formulations.uncertainty.worlds import Worlds, judged, of_values
from scenarios.questions import question
from scenarios.uncertainty.drawing import draw
from solvers.answer import answer
from solvers.robust.asked import Asked
from solvers.robust.decide_now import answer_now
from solvers.robust.robust_answers import answered

NBODY: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 4096}, "memory": {}},
    "objective": {"minimize": "energy", "measure": "mean"},
    "limits": {"time": {"max": "70 ms"}},
    "uncertain": {
        "machine.energy_per_flop": {"uniform": [1.5e-10, 3e-10]},
        "machine.time_per_flop": {"uniform": [0.9e-9, 1.2e-9]},
    },
}


def asked(**changes: Any) -> dict[str, Any]:
    return {**NBODY, **changes}


def solved(**changes: Any) -> Any:
    return answer_now(question(dse.load(asked(**changes))))


@pytest.mark.parametrize("seed", range(20))
def test_random_questions_agree_with_a_refined_grid(seed: int) -> None:
    """Two-point numbers, at most 12 worlds; 200 of these: ``python tests/oracle/decide_now_instances.py 200``."""
    machine = {n: float(machines.get("balanced").parameters[n]) for n in instances.PARAMETERS}
    drawn = instances.instance(np.random.default_rng([0, seed]), machine)
    assert instances.wrong(drawn) == ""


def test_where_nine_tenths_of_samples_lie_ends_at_infinity_where_many_are_infinite() -> None:
    found = dse.solve(
        {
            "model": "roofline",
            "machine": "gtx-titan-choi2014",
            "given": {"intensity": 4},
            "decide": {"flops": {"max": 1e14}},
            "objective": {"maximize": "flops", "measure": "mean"},
            "limits": {"time": {"max": "2 s"}},
            # flops alone take 122 W at their highest rate: with less the cap is reached at any intensity
            "uncertain": {"machine.usable_power": {"uniform": ["100 W", "150 W"]}},
        }
    )
    low, high = found.spread["balance_high"]
    assert math.isfinite(low)
    assert high == math.inf


def test_the_measures_are_what_their_definitions_say() -> None:
    dice = np.random.default_rng(1)
    for count in (1, 2, 7, 12):
        losses = dice.lognormal(0, 1, count)
        assert MEAN.value(losses) == pytest.approx(losses.mean())
        assert WORST.value(losses) == losses.max()
        for level in (0.1, 0.5, 0.9, 0.99):
            # least over t of t + mean(max(loss - t, 0))/(1 - level); it is attained at a loss
            told = min(t + np.maximum(losses - t, 0).mean() / (1 - level) for t in losses)
            measure = cvar(level)
            assert measure.value(losses) == pytest.approx(told, rel=1e-12)
            weights = measure.weights(losses)
            assert weights.sum() == pytest.approx(1)
            assert weights @ losses == pytest.approx(told, rel=1e-12)
            assert measure.value(-losses, maximize=True) == pytest.approx(-told, rel=1e-12)


def test_the_mean_of_a_lognormal_cost_of_a_flop() -> None:
    """The flops of a run are f n^2 whatever is decided, so that their energy only shifts the mean energy."""
    median, factor = 2e-10, 1.2
    told = solved(uncertain={"machine.energy_per_flop": {"lognormal": [median, factor]}})
    base = {k: v for k, v in asked(objective={"minimize": "energy"}).items() if k != "uncertain"}
    nominal = dse.solve(base)
    flops = 10 * 1e5**2
    samples = draw(
        question(
            dse.load(asked(uncertain={"machine.energy_per_flop": {"lognormal": [median, factor]}}))
        ).uncertain,
        1024,
    )
    mean = samples["machine.energy_per_flop"].mean()
    assert told.status == "optimal"
    assert told.objective == pytest.approx(nominal.objective + flops * (mean - median), rel=1e-8)
    # the mean of a lognormal is its median times exp(sigma^2/2); 1024 Sobol numbers have it to a thousandth
    assert mean == pytest.approx(median * math.exp(math.log(factor) ** 2 / 2), rel=1e-3)
    assert told.variables["memory"] == pytest.approx(nominal.variables["memory"], rel=1e-5)


def test_the_worst_of_a_box_is_its_dear_corner() -> None:
    told = solved(objective={"minimize": "energy", "measure": "worst"})
    machine = {"base": "balanced", "energy_per_flop": 3e-10, "time_per_flop": 1.2e-9}
    base = {
        k: v for k, v in asked(machine=machine, objective={"minimize": "energy"}).items() if k != "uncertain"
    }
    corner = dse.solve(base)
    assert told.status == corner.status == "optimal"
    assert told.objective == pytest.approx(corner.objective, rel=1e-7)
    assert "vertex" in told.certificate
    assert told.worlds == 1


def test_a_limit_at_its_worst_beside_a_mean_over_samples() -> None:
    """The sampled times stay a little below the box's worst time, so that the limit over the box is the tighter one."""
    mean = solved()
    held = solved(limits={"time": {"max": "70 ms", "worst": True}})
    q = question(dse.load(NBODY))
    corner = {**q.given, "machine.energy_per_flop": 3e-10, "machine.time_per_flop": 1.2e-9}
    plain = dataclasses.replace(q, uncertain=None, given=corner)
    worst = judged(of_values(plain, {}), held.variables).metrics["time"][0]
    assert worst == pytest.approx(0.07, rel=1e-8)
    assert held.status == "optimal"
    assert held.objective > mean.objective
    assert held.limits["time"].value == pytest.approx(0.07, rel=1e-8)


def test_the_worst_power_of_a_roofline_peaks_inside() -> None:
    """Both ends of the intensities draw less than 260 W, the balance point 287 W: no vertex is worst."""
    text = {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e9, "intensity": 10.0},
        "uncertain": {"intensity": {"loguniform": [1, 100]}},
        "objective": {"minimize": "power", "measure": "worst"},
    }
    told = answer_now(question(dse.load(text)))
    grid = np.geomspace(1, 100, 20_001)
    base = dataclasses.replace(question(dse.load(text)), uncertain=None)
    powers = judged(of_values(base, {"intensity": grid}), {}).metrics["power"]
    assert max(powers[[0, -1]]) < 260 < powers.max()
    assert told.objective == pytest.approx(powers.max(), rel=1e-6)
    assert "adversary" in told.certificate


def test_the_mean_power_is_not_the_ratio_of_means() -> None:
    told = solved(objective={"minimize": "power", "measure": "mean"})
    assert told.status == "optimal"
    at = judged(_worlds(NBODY), told.variables)
    assert told.objective == pytest.approx((at.metrics["energy"] / at.metrics["time"]).mean(), rel=1e-12)
    assert told.objective != pytest.approx(at.metrics["energy"].mean() / at.metrics["time"].mean(), rel=1e-4)


def _worlds(text: dict[str, Any]) -> Worlds:
    q = question(dse.load(text))
    assert q.uncertain is not None
    return of_values(dataclasses.replace(q, uncertain=None), draw(q.uncertain, q.uncertain.sampling.samples))


def test_cvar_of_a_geometric_program_beside_cvxpy() -> None:
    """The epigraph of Rockafellar and Uryasev in log variables, solved by Clarabel."""
    cp = pytest.importorskip("cvxpy")
    drawn = dse.load(
        asked(
            objective={"minimize": "energy", "cvar": 0.8},
            uncertain={**NBODY["uncertain"], "sampling": {"samples": 24}},
        )
    )
    told = answer_now(question(drawn))
    m = {n: float(machines.get("balanced").parameters[n]) for n in instances.PARAMETERS}
    q = question(drawn)
    assert q.uncertain is not None
    worlds = draw(q.uncertain, 24)
    n, f, y = 1e5, 10.0, cp.Variable(2)
    losses, limits = [], []
    for i in range(24):
        at = {**m, **{k.removeprefix("machine."): float(v[i]) for k, v in worlds.items()}}
        over = at["time_per_word"] + at["time_per_message"] / at["max_message"]
        sent = at["energy_per_word"] + at["energy_per_message"] / at["max_message"]
        time = [(at["time_per_flop"] * f * n**2, -1, 0), (over * n**2, -1, -1)]
        energy = [(at["energy_per_flop"] * f * n**2, 0, 0), (sent * n**2, 0, -1)]
        energy += [(at["memory_power_per_word"] * c, 1 + a, 1 + b) for c, a, b in time]
        energy += [(at["leakage_power"] * c, 1 + a, b) for c, a, b in time]
        rows = [
            cp.hstack([math.log(c) + a * y[0] + b * y[1] for c, a, b in terms]) for terms in (time, energy)
        ]
        limits.append(cp.log_sum_exp(rows[0]) <= math.log(0.07))
        losses.append(cp.sum(cp.exp(rows[1])) / told.objective)
    t = cp.Variable()
    goal = t + sum(cp.pos(loss - t) for loss in losses) / 24 / 0.2
    p, memory = y[0], y[1]
    box = [p >= 0, p <= math.log(4096), memory >= 0, memory + p >= math.log(n), memory + p / 2 <= math.log(n)]
    value = cp.Problem(cp.Minimize(goal), [*limits, *box]).solve(solver="CLARABEL")
    assert told.status == "optimal"
    # the tolerance of Clarabel's exponential cones
    assert value == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("measure", [MEAN, cvar(0.8)])
def test_what_no_method_proves_is_feasible_with_a_bound(measure: Weighing) -> None:
    """Something gains from a maximum here: the least power at a throttle is a search in boxes."""
    base = question(
        dse.load(
            {
                "model": "roofline",
                "machine": "gtx-titan-choi2014",
                "given": {"flops": 1e9, "intensity": 10.0},
                "decide": {"throttle": {"min": 1, "max": 100}},
                "limits": {"time": {"max": "10 ms"}},
                "objective": {"minimize": "power"},
            }
        )
    )
    worlds = of_values(base, {"intensity": np.geomspace(2, 60, 12)})
    told = answered(Asked(worlds, measure, "of power"))
    assert told.status in {"feasible", "optimal"}
    grid = np.linspace(1, 100, 4001)
    at = judged(worlds, {"throttle": grid[:, None]})
    holds = np.all([(r <= 1 + 1e-8).all(-1) for r in at.ratios.values()], axis=0)
    assert at.objective is not None
    best = measure.value(at.objective)[holds].min()
    assert told.bound <= best * (1 + 1e-8)
    assert told.objective <= best * (1 + 1e-3)


def test_an_impossible_deadline_names_the_limit_and_what_would_do() -> None:
    told = solved(limits={"time": {"max": "4 ms"}})
    assert told.status == "infeasible"
    assert list(told.conflict) == ["time", "processors"]
    enough, more = told.conflict["time"], told.conflict["processors"]
    assert enough is not None
    assert more is not None
    assert solved(limits={"time": {"max": enough * (1 + 1e-6)}}).status == "optimal"
    wider = {"processors": {"max": more * (1 + 1e-6)}, "memory": {}}
    assert solved(limits={"time": {"max": "4 ms"}}, decide=wider).status == "optimal"
    assert solved(limits={"time": {"max": enough * (1 - 1e-4)}}).status == "infeasible"
    assert "sample" in told.certificate


def test_a_bound_on_powers_is_a_limit_like_others() -> None:
    fft: dict[str, Any] = {
        "model": "fft",
        "machine": "balanced",
        "given": {"points": 2.0**24, "all_to_all": "tree"},
        "objective": {"minimize": "energy", "measure": "worst"},
        "limits": {"time": {"max": "60 ms"}},
        "uncertain": {"machine.time_per_flop": {"uniform": [0.9e-9, 1.1e-9]}},
    }
    told = dse.solve({**fft, "decide": {"processors": {"powers_of": 2, "max": 4}}})
    assert told.conflicts == (("time", "processors"),)
    assert told.conflict["processors"] == 128.0
    for most, status in ((64, "infeasible"), (128, "optimal")):
        assert dse.solve({**fft, "decide": {"processors": {"powers_of": 2, "max": most}}}).status == status


def test_two_limits_that_exclude_each_other_in_some_world() -> None:
    told = solved(limits={"time": {"max": "60 ms"}, "power": {"max": "700 W"}})
    assert told.status == "infeasible"
    assert set(told.conflict) == {"time", "power"}
    power = told.conflict["power"]
    assert power is not None
    assert solved(limits={"time": {"max": "60 ms"}, "power": {"max": power * (1 + 1e-6)}}).status == "optimal"


def test_the_end_that_would_have_to_give_is_the_one_that_is_told() -> None:
    few = {"uncertain": {**NBODY["uncertain"], "sampling": {"samples": 4}}}
    # of 50 bodies no design takes as long as that: the upper end does not help, the lower one does
    few |= {"given": {"bodies": 50, "flops_per_pair": 10}, "decide": {"processors": {"max": 8}, "memory": {}}}
    fast = solved(**few, limits={"time": {"min": "1 s", "max": "2 s"}})
    assert fast.status == "infeasible"
    assert 1e-7 < fast.conflict["time"] < 1.0
    assert (
        solved(**few, limits={"time": {"min": 0.999 * fast.conflict["time"], "max": 2}}).status == "optimal"
    )


def test_what_the_time_limit_is_worth() -> None:
    """The sensitivity beside a difference of two answers."""
    told = solved(objective={"minimize": "energy", "cvar": 0.9})
    more = solved(objective={"minimize": "energy", "cvar": 0.9}, limits={"time": {"max": 0.07 * 1.001}})
    rate = math.log(more.objective / told.objective) / math.log(1.001)
    assert told.limits["time"].elasticity == pytest.approx(rate, rel=1e-2)
    assert told.limits["time"].share == pytest.approx(1 / 1024)


def test_whole_numbers_beside_every_number_tried() -> None:
    decide = {"processors": {"max": 2000, "integer": True}, "memory": {}}
    few = {**NBODY["uncertain"], "sampling": {"samples": 8}}
    told = solved(decide=decide, uncertain=few, limits={"time": {"max": "80 ms"}})
    assert told.status == "optimal"
    assert told.variables["processors"] == round(told.variables["processors"])
    around = [told.variables["processors"] + k for k in (-1, 1)]
    for p in around:
        other = solved(
            given={**NBODY["given"], "processors": p},
            decide={"memory": {}},
            uncertain=few,
            limits={"time": {"max": "80 ms"}},
        )
        assert other.status == "infeasible" or other.objective >= told.objective * (1 - 1e-9)


def test_unbounded_numbers_make_worst_mean_the_samples() -> None:
    told = solved(
        uncertain={"machine.energy_per_flop": {"lognormal": [2e-10, 1.2]}},
        objective={"minimize": "energy", "measure": "worst"},
    )
    assert told.status == "optimal"
    assert "worst means these samples, since machine.energy_per_flop has no end" in told.measure


def test_nothing_decided_is_evaluated_in_every_sample() -> None:
    fixed = {**NBODY["given"], "processors": 1500, "memory": 2500}
    told = solved(given=fixed, decide={}, limits={"time": {"max": "90 ms"}})
    assert told.status == "evaluated"
    broken = solved(given=fixed, decide={}, limits={"time": {"max": "70 ms"}})
    assert broken.status == "infeasible"
    assert "is broken most in sample" in broken.certificate


def test_a_certain_question_is_its_own_answer_in_one_world() -> None:
    q = question(
        dse.load({k: v for k, v in asked(objective={"minimize": "energy"}).items() if k != "uncertain"})
    )
    alone, worlds = answer(q), answered(Asked(of_values(q, {}), MEAN, "energy"))
    assert worlds.objective == pytest.approx(alone.objective, rel=1e-9)
    assert worlds.limits["time"].elasticity == pytest.approx(alone.limits["time"].elasticity, rel=1e-5)


TOML = """
title   = "Least mean energy"
model   = "nbody"
machine = "balanced"
[given]
bodies         = 1e5
flops_per_pair = 10
[decide]
processors = { max = 4096 }
memory     = {}
[uncertain]
"machine.energy_per_flop" = { uniform = ["150 pJ/flop", "300 pJ/flop"] }
"machine.time_per_flop"   = { uniform = ["0.9 ns/flop", "1.2 ns/flop"] }
[objective]
minimize = "energy"
measure  = "mean"
[limits]
time = { max = "70 ms" }
"""


@pytest.mark.parametrize(("deadline", "code"), [("70 ms", 0), ("4 ms", 3)])
def test_the_command_says_over_what_it_answers(
    deadline: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "now.toml"
    path.write_text(TOML.replace("70 ms", deadline))
    with pytest.raises(SystemExit) as ended:
        main(["solve", str(path), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert ended.value.code == code
    assert told["worlds"] == 1024
    assert told["measure"] == "mean of energy over 1024 samples (sobol, seed 0)"
    if code == 0:
        low, high = told["spread"]["energy"]
        assert low < told["objective"] < high
        assert told["limits"]["time"]["share"] == pytest.approx(1 / 1024)


def test_without_a_measure_the_question_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "now.toml"
    path.write_text(TOML.replace('measure  = "mean"', ""))
    with pytest.raises(SystemExit) as ended:
        main(["solve", str(path)])
    assert ended.value.code == 2
    assert "no measure of the objective is given" in capsys.readouterr().err


def test_a_sweep_of_deadlines_prices_robustness_and_is_judged_in_every_world() -> None:
    axis = {"deadline": {"path": "limits.time.max", "values": [0.06, 0.07, 0.09, 0.004]}}
    grid = dse.sweep(dse.load(asked(sweep=axis)), progress=False)
    assert grid["status"].values.tolist() == [1, 1, 1, 3]
    alone = solved(limits={"time": {"max": 0.07}})
    assert float(grid["objective"][1]) == pytest.approx(alone.objective, rel=1e-12)
    found = json.loads(grid.attrs["audit"])
    assert found["wrong"] == 0
    assert float(grid["objective"][0]) > float(grid["objective"][2])
