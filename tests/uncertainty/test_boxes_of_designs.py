"""One design for many worlds by boxes of designs: what no geometric or linear program takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import box_instances
import decide_now_instances as plain
import numpy as np
import pytest
from plain_roofline import PRICE, TWO_UNCERTAIN

import dse
from dse import machines
from dse.models.arithmetic import CannotTake
from formulations.arithmetics import enclosures
from formulations.uncertainty.measures import MEAN, Quantile
from formulations.uncertainty.wanted import Chance, Wanted, reached
from formulations.uncertainty.worlds import Cap, of_values
from results.solution import Status
from scenarios.question import Objective, Question
from scenarios.questions import question
from scenarios.uncertainty.drawing import draw
from solvers import boxes
from solvers.answer import answer
from solvers.robust import decide_now
from solvers.robust.boxes import box_lines, line_bounds, robust_boxes
from solvers.robust.decide_now import answer_now
from solvers.robust.searches import robust_ways

MACHINE = {n: float(machines.get("balanced").parameters[n]) for n in plain.PARAMETERS}
POWER: dict[str, Any] = {
    "model": "nbody",
    "machine": "jaketown",
    "given": {"bodies": 1e6, "flops_per_pair": 20},
    "decide": {"processors": {"max": 2048}, "memory": {}},
    "uncertain": {
        "machine.time_per_flop": {"uniform": ["2.52 ps/flop", "4.11 ps/flop"]},
        "machine.energy_per_flop": {"uniform": ["185 pJ/flop", "378 pJ/flop"]},
        "machine.time_per_word": {"loguniform": ["156 ps/word", "1.25 ns/word"]},
        "sampling": {"samples": 1024},
    },
    "objective": {"minimize": "time", "measure": "mean"},
}


@pytest.mark.parametrize("number", range(5))
def test_random_questions_of_power_agree_with_a_grid(number: int) -> None:
    """One of each kind; 200 of these: ``python tests/oracle/box_instances.py 200``."""
    assert box_instances.wrong(box_instances.instance(number, MACHINE)) == ""


def _with_more_room(question: Question) -> Question:
    limits = [replace(x, maximum=None if x.maximum is None else 1.5 * x.maximum) for x in question.limits]
    return replace(question, limits=tuple(limits))


@pytest.mark.parametrize("number", range(20, 30))
def test_what_is_known_of_a_box_holds_at_every_point_of_it(number: int) -> None:
    asked = box_instances.asked(box_instances.instance(number, MACHINE))
    asked = replace(asked, worlds=asked.worlds.changed(_with_more_room))
    wanted = Wanted(asked.worlds, asked.measure, tuple(Chance(p.names, k) for p, k in asked.promised))
    where, dice = boxes.space(asked.worlds.nominal), np.random.default_rng(number)
    bodies = float(asked.worlds.nominal.given["bodies"])
    p = np.exp(dice.uniform(0, 1, 40) * np.log(where.high[0]))
    middle = np.stack([p, bodies / p ** dice.uniform(0.5, 1, 40)], axis=1)
    wide = np.exp(10 ** dice.uniform(-4, 0, (40, 2)))
    low, high = np.maximum(middle / wide, where.low), np.minimum(middle * wide, where.high)
    known = box_lines.known(wanted, low, high)
    near, far = line_bounds.contracted(known.lines, known.width[0], known.width[1])
    keys = np.maximum(line_bounds.least(known.goal, known.lines, near, far), known.flat)
    centre = np.log(enclosures.centres(low, high))
    held = 0
    for u in dice.uniform(0, 1, (60, 2)):
        y = np.log(low) + u * np.log(high / low)
        found = reached(wanted, dict(zip(where.names, np.exp(y).T, strict=True)))
        rows, goal = found.rows, found.goal
        key = np.array([box_lines.key_of(wanted, float(v)) for v in goal])
        room = 1e-9 * (1 + np.abs(key))
        delta = (y - centre).T
        assert (known.goal.cut + (known.goal.slope * delta).sum(0) <= key + room).all()
        assert (known.flat <= key + room).all()
        holds = np.max(list(rows.values()), axis=0) <= 1.0
        held += int(holds.sum())
        assert not (holds & known.dead).any()
        for line in known.lines:
            assert (line.cut + (line.slope * delta).sum(0) <= 1e-9)[holds].all()
        assert ((near - 1e-9 <= delta) & (delta <= far + 1e-9)).all(0)[holds].all()
        assert (keys <= key + room)[holds].all()
    assert held


SHARE: dict[str, Any] = {
    **PRICE,
    "define": {
        "price": "rise * x + fall / x",
        "slow": "maximum(fall / x, 0.2 * fall)",
        "ratio": "price / (slow + 1)",
    },
    "uncertain": {**TWO_UNCERTAIN, "sampling": {"samples": 128}},
}
GRID = np.exp(np.linspace(np.log(0.1), np.log(10), 8001))
STEP = 2e-3  # between neighbours of the grid no measure changes by more


def metrics(method: str) -> dict[str, np.ndarray]:
    """The metrics of all designs of the grid in all samples."""
    sampling = {"samples": 128, "method": method}
    uncertain = question(
        dse.load({**SHARE, "uncertain": {**SHARE["uncertain"], "sampling": sampling}})
    ).uncertain
    assert uncertain is not None
    drawn = draw(uncertain, 128)
    rise, fall = drawn["rise"], drawn["fall"]
    x = GRID[:, None]
    price, slow = rise * x + fall / x, np.maximum(fall / x, 0.2 * fall[None])
    return {"price": price, "slow": slow, "ratio": price / (slow + 1.0)}


def quantile(values: np.ndarray, level: float) -> np.ndarray:
    return np.sort(values, axis=-1)[:, int(np.ceil(level * values.shape[-1])) - 1]


def tail(values: np.ndarray, level: float) -> np.ndarray:
    return np.sort(values, axis=-1)[:, round(level * values.shape[-1]) :].mean(-1)


def solved(objective: dict[str, Any], limits: dict[str, Any]) -> Any:
    return dse.solve({**SHARE, "objective": objective, "limits": limits})


def test_a_ratio_of_sums_may_fail_in_some_samples() -> None:
    at = metrics("random")
    for most in (0.95, 1.1, 1.4):
        limits = {"ratio": {"max": most, "probability": 0.9, "confidence": 0}}
        found = solved({"minimize": "slow", "quantile": 0.8}, limits)
        best = quantile(at["slow"], 0.8)[np.count_nonzero(at["ratio"] > most, axis=1) <= 12].min()
        assert found.status == "optimal"
        assert found.bound <= best
        assert found.objective == pytest.approx(best, rel=STEP)


def test_a_limit_on_the_tail_of_a_ratio_and_the_greatest_mean_of_one() -> None:
    at, measures = metrics("sobol"), {"much": {"of": "ratio", "cvar": 0.75}}
    found = solved({"minimize": "slow", "measure": "mean", "measures": measures}, {"much": {"max": 1.3}})
    best = at["slow"].mean(-1)[tail(at["ratio"], 0.75) <= 1.3].min()
    assert found.status == "optimal"
    assert found.bound <= best
    assert found.objective == pytest.approx(best, rel=STEP)
    most = solved({"maximize": "ratio", "measure": "mean"}, {"price": {"max": 6.0}})
    best = at["ratio"].mean(-1)[at["price"].max(-1) <= 6.0].max()
    assert most.status == "optimal"
    assert most.bound >= best
    assert most.objective == pytest.approx(best, rel=STEP)


def test_a_cvar_beside_a_probability() -> None:
    limits = {"slow": {"max": 0.9, "probability": 0.75, "confidence": 0}}
    found = solved({"minimize": "price", "cvar": 0.875}, limits)
    at = metrics("random")
    best = tail(at["price"], 0.875)[np.count_nonzero(at["slow"] > 0.9, axis=1) <= 32].min()
    assert found.status == "optimal"
    assert found.bound <= best
    assert found.objective == pytest.approx(best, rel=STEP)


def test_power_with_a_probability_of_a_thousand_samples() -> None:
    found = dse.solve({**POWER, "limits": {"power": {"max": "40 kW", "probability": 0.95}}})
    assert found.status == "optimal"
    assert found.gap <= 1e-6
    assert 0 < found.bound <= found.objective
    assert found.limits["power"].value <= 40e3 * (1 + 1e-8)
    assert "27" in found.certificate


def test_power_that_no_design_keeps_often_enough_names_the_limit_and_what_would_do() -> None:
    few = {**POWER["uncertain"], "sampling": {"samples": 100}}

    def at(most: float) -> Any:
        limit = {"max": most, "probability": 0.9, "confidence": 0}
        return dse.solve({**POWER, "uncertain": few, "limits": {"power": limit}})

    found = at(20.0)
    assert found.status == "infeasible"
    assert found.conflicts == (("power",),)
    would = found.conflict["power"]
    assert would is not None
    assert at(would * 1.00001).status == "optimal"


def test_work_that_ends_leaves_a_bound() -> None:
    """One round of boxes does not close the gap: what is told then is still below every design."""
    asked = question(dse.load({**POWER, "limits": {"time": {"max": "200 ms"}}}))
    base = replace(asked, uncertain=None, measure=None, objectives=(Objective("power", maximize=False),))
    dice = np.random.default_rng(5)
    worlds = of_values(base, {"machine.time_per_flop": dice.uniform(2e-12, 5e-12, 50)})
    wanted = Wanted(worlds, Quantile(0.8))
    some, all_of_it = robust_boxes.minimise(wanted, work=1).outcome, robust_boxes.minimise(wanted).outcome
    assert all_of_it.status == "optimal"
    assert some.bound is not None
    assert some.bound <= all_of_it.bound


def test_a_limit_on_a_mean_is_broken_in_no_sample_of_its_own() -> None:
    """Nothing is decided: the certificate speaks of the mean over all samples, not of one of them."""
    fixed = {**POWER["given"], "processors": 300, "memory": 5000}
    measures = {"drawn": {"of": "power", "measure": "mean"}}
    found = dse.solve(
        {
            **POWER,
            "given": fixed,
            "decide": {},
            "objective": {**POWER["objective"], "measures": measures},
            "limits": {"drawn": {"max": "1 kW"}},
        }
    )
    assert found.status == "infeasible"
    assert "drawn, mean of power over all 1024 samples, is broken" in found.certificate


def test_one_design_for_power_caps_is_no_better_than_each_world_by_itself() -> None:
    """The mean of the optima of all worlds lies below the mean that one design has, and below its bound."""
    asked = question(dse.load({**POWER, "limits": {"power": {"max": "40 kW"}}}))
    worlds = decide_now.sampled(asked, 6)
    each = [answer(worlds.at(i), neighbours=False, brief=True) for i in range(6)]
    one = robust_boxes.minimise(Wanted(worlds, MEAN)).outcome
    assert one.bound is not None
    assert one.bound >= np.mean([a.objective for a in each]) * (1 - 1e-9)


def test_equations_without_slopes_are_searched_without_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes refuse the equations: a design that holds in every sample is found, and no bound is claimed."""
    asked = {**POWER, "limits": {"power": {"max": "40 kW"}}}
    proved = answer_now(question(dse.load(asked)), fresh=False)

    def refuses(*_: Any, **__: Any) -> None:
        raise CannotTake("a table between its rows")

    for name in ("robust_geometric", "robust_ratios"):
        monkeypatch.setattr(getattr(robust_ways, name), "minimise", refuses)
    monkeypatch.setattr(box_lines, "known", refuses)
    found = answer_now(question(dse.load(asked)), fresh=False)
    assert found.status is Status.FEASIBLE, found.message
    assert found.bound is None
    assert "searched without proof" in found.certificate
    assert "a table between its rows" in found.certificate
    assert proved.objective * (1 - 1e-6) <= found.objective <= proved.objective * 1.01


def test_what_nothing_here_decides_is_said_in_plain_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """An equation that boxes cannot take: the message names the limit, what is decided and what would be possible."""

    def refuses(*_: Any, **__: Any) -> None:
        raise CannotTake("a table between its rows")

    monkeypatch.setattr(robust_boxes, "minimise", refuses)
    few = {**POWER["uncertain"], "sampling": {"samples": 100}}
    limit = {"max": "40 kW", "probability": 0.9, "confidence": 0}
    found = dse.solve({**POWER, "uncertain": few, "limits": {"power": limit}})
    assert found.status == "error"
    assert found.message.startswith(
        "limits.power with a probability, decided now over processors, memory, is not treated"
    )
    assert "a table between its rows" in found.message
    assert "possible are whole numbers or listed values" in found.message
    assert "NotPosynomial" not in found.message


@pytest.mark.parametrize("size", [1e12, 1e15])
def test_a_box_on_which_a_number_has_no_end_is_not_bounded_in_its_unit(size: float) -> None:
    # on wide boxes the divisor may be 0 by intervals; the largest mean is 4/3 times the size, at one half
    given = {**SHARE["given"], "size": size}
    define = {**SHARE["define"], "rate": "size * rise / (x * x - x + 1)"}
    asked = {**SHARE, "given": given, "define": define}
    sampling = {**SHARE["uncertain"], "sampling": {"samples": 16}}
    found = dse.solve({**asked, "uncertain": sampling, "objective": {"maximize": "rate", "measure": "mean"}})
    assert found.status == "optimal"
    drawn = draw(question(dse.load({**asked, "uncertain": sampling})).uncertain, 16)  # type: ignore[arg-type]
    best = 4 / 3 * size * drawn["rise"].mean()
    assert found.objective == pytest.approx(best, rel=1e-6)
    assert found.bound is not None
    assert found.bound >= best * (1 - 1e-9)


def test_a_limited_mean_without_end_on_a_box_is_no_reason_to_drop_it() -> None:
    define = {**SHARE["define"], "rate": "1e12 * rise / (x * x - x + 1)"}
    objective = {"minimize": "price", "measure": "mean"}
    worlds = of_values(
        question(dse.load({**SHARE, "define": define, "objective": objective})),
        {"rise": np.array([0.9, 1.1])},
    )
    worlds = replace(worlds, caps=(Cap("rate", MEAN, "min", 1e12),))
    known = box_lines.known(Wanted(worlds, MEAN), np.array([[0.01]]), np.array([[100.0]]))
    assert not known.dead.any()
    # at the centre, 1, the mean is 1e12
    assert (np.array([line.cut for line in known.lines]) <= 0).all()


def test_a_quantile_that_may_be_negative_has_no_bound_of_0() -> None:
    define = {**SHARE["define"], "net": "rise * x - fall"}
    asked = {**SHARE, "define": define, "uncertain": {**SHARE["uncertain"], "sampling": {"samples": 16}}}
    wanted = Wanted(
        of_values(
            question(dse.load({**asked, "objective": {"minimize": "net"}})), {"rise": np.array([1.0, 2.0])}
        ),
        Quantile(0.5),
    )
    assert box_lines.objective_at(wanted, -np.inf) == -np.inf
    assert box_lines.objective_at(wanted, -2.0) == -2.0


def test_no_proof_rests_on_an_end_of_the_search() -> None:
    # a second asks for 1e20 processors, a million times what a search begins with
    asked = {
        **POWER,
        "given": {"bodies": 1e15, "flops_per_pair": 20},
        "decide": {"processors": {}, "memory": {}},
    }
    del asked["uncertain"]
    posed = question(
        dse.load({**asked, "objective": {"minimize": "energy"}, "limits": {"time": {"max": "1 s"}}})
    )
    worlds = of_values(posed, {"machine.time_per_flop": np.array([2.6e-12, 4e-12])})
    assert robust_boxes.minimise(Wanted(worlds, MEAN), 2000).outcome.status is not Status.INFEASIBLE


def test_a_search_that_ends_early_says_why_and_which_gap_is_left() -> None:
    asked = box_instances.asked(box_instances.instance(0, MACHINE))
    wanted = Wanted(asked.worlds, asked.measure, tuple(Chance(p.names, k) for p, k in asked.promised))
    whole, short = robust_boxes.minimise(wanted), robust_boxes.minimise(wanted, work=10 * asked.worlds.size)
    assert whole.outcome.status is Status.OPTIMAL
    assert short.outcome.status is Status.FEASIBLE
    assert "boxes times samples that a search may take left a gap of" in short.outcome.certificate


STATION = {
    "model": "exabounds",
    "given": {
        "instructions": 36e12,
        "data_reuse": [
            {"name": "same antenna", "distance": "1 KiB", "share": 0.99},
            {"name": "new sample", "share": 0.01},
        ],
    },
    "decide": {
        "machine.count.rack": {"integer": True, "max": 1e6},
        "machine.voltage": {"values": ["0.7 V", "0.9 V", "1.1 V", "1.3 V"]},
        "machine.frequency": {"min": "10 MHz", "max": "5 GHz"},
    },
    "uncertain": {"control_share": {"uniform": [0.09, 0.21]}, "sampling": {"samples": 16}},
    "objective": {"maximize": "performance", "measure": "mean"},
    "limits": {"power": {"max": "10 kW"}},
}
PLATFORMS = ["platform-c55x", "platform-cortex-a8", "platform-server-power"]


def test_of_choices_searched_together_the_best_is_that_of_each_by_itself() -> None:
    alone = [dse.solve({**STATION, "machine": m}) for m in PLATFORMS]
    # the circuits of the last one fill its die to the last digit
    assert [s.status for s in alone] == [Status.OPTIMAL] * 3
    decide = {"machine": {"values": PLATFORMS}, **STATION["decide"]}
    found = dse.solve({**STATION, "decide": decide})
    best = max(alone, key=lambda s: s.objective or 0.0)
    assert found.status is Status.OPTIMAL
    assert found.variables["machine"] == PLATFORMS[alone.index(best)]
    assert found.objective == pytest.approx(best.objective, rel=1e-7)
    assert (found.bound or 0.0) >= (best.objective or 0.0) * (1 - 1e-9)
    for one, told in zip(alone, found.alternatives, strict=True):
        bound = one.bound or 0.0
        assert 0.9 * bound <= (told.objective or 0.0) <= bound * (1 + 1e-9)
