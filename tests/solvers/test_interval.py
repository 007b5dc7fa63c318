"""Interval branch and bound: certified optimum and certified infeasibility without any structure."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from method_questions import BODIES, NBODY, fft, least_energy_by_deadline, nbody

import dse
from formulations import evaluation
from formulations.tolerances import HOLDS
from results.solution import Status
from scenarios import load
from scenarios.question import Decision, Question
from scenarios.questions import question as asked
from solvers import boxes, enumeration
from solvers.nonlinear import interval, methods, search
from solvers.outcome import Outcome
from solvers.sampling import sampler


def value(question: Question, found: Outcome) -> float:
    """The objective at the design found, after checking that it holds its limits."""
    assert found.x is not None
    worst, goal = boxes.measured(question, np.array([[found.x[d.name] for d in question.decide]]))
    assert worst[0] <= 1 + 1e-8
    return float(evaluation.to_minimise(question, goal[0]))


def closes(question: Question, found: Outcome, expected: float) -> None:
    """Bound and value embrace the expected optimum within the tolerance asked."""
    assert found.status is Status.OPTIMAL, found
    assert found.bound is not None
    sign = -1 if question.objectives[0].maximize else 1
    assert sign * found.bound <= sign * expected + 1e-9 * abs(expected)
    assert found.bound == pytest.approx(expected, rel=1e-6)
    assert value(question, found) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        # reference cases, dense scan and multi-start search: nbody-09, -13, -17
        (nbody("time", p=Decision("processors", maximum=13300), power=(None, 52.9468)), 0.76556420211),
        (
            nbody("time", p=Decision("processors", maximum=181), power_per_processor=(None, 0.412917)),
            0.553003601298,
        ),
        (
            nbody(
                "time",
                p=Decision("processors", maximum=1330000),
                energy=(None, 42.1555),
                power=(None, 806.281),
            ),
            0.0609790111333,
        ),
        # fft-15 with whole processors
        (fft("energy_delay"), 1.53402914212e-06),
        # and fft-03
        (fft(p=Decision("processors", values=tuple(2.0**k for k in range(21)))), 0.0690284527616),
    ],
    ids=["total power", "power per processor", "energy and power", "whole", "powers of two"],
)
def test_reference_cases(question: Question, expected: float) -> None:
    closes(question, interval.solve(question), expected)


@given(st.floats(0.05, 20), st.floats(0.2, 5), st.floats(0.2, 5))
@settings(max_examples=4, deadline=None)
def test_deadline_in_closed_form(deadline: float, dear: float, slow: float) -> None:
    machine = NBODY | {
        "energy_per_word": NBODY["energy_per_word"] * dear,
        "time_per_word": NBODY["time_per_word"] * slow,
    }
    question = nbody(machine=machine, time=(None, deadline), p=Decision("processors", maximum=1e7))
    found = interval.solve(question)
    closes(question, found, least_energy_by_deadline(machine, BODIES, deadline))


def test_real_processors_with_logarithms() -> None:
    # reference: golden section on the continuous function of one variable
    question = fft(p=Decision("processors"))
    u = np.linspace(math.log(400), math.log(700), 200001)
    _, goal = boxes.measured(question, np.exp(u)[:, None])
    closes(question, interval.solve(question), float(goal.min()))


def test_maximising_gives_an_upper_bound() -> None:
    question = fft(maximize="performance", p=Decision("processors", maximum=100))
    found = interval.solve(question)
    exact = enumeration.optimum(
        fft(maximize="performance", p=Decision("processors", maximum=100, integer=True))
    )
    assert exact.bound is not None
    closes(question, found, exact.bound)


@pytest.mark.parametrize(
    "question",
    [
        fft("time", power=(None, 1000.0)),
        fft("time", energy=(None, 0.068338)),
        fft("time", p=Decision("processors"), energy=(None, 0.06902830)),
        nbody(p=Decision("processors", maximum=133), time=(None, 0.729744)),
    ],
    ids=["fft-07", "fft-11", "just below the least energy", "nbody-05"],
)
def test_infeasible_is_proved(question: Question) -> None:
    assert interval.solve(question).status is Status.INFEASIBLE


def test_a_limit_at_its_least_value_is_met_and_a_hair_below_is_refused() -> None:
    # E* of V.A in closed form; the designs form a single M
    least = least_energy_by_deadline(NBODY, BODIES, math.inf)
    at = nbody("time", p=Decision("processors", maximum=100), energy=(None, least * (1 + 1e-12)))
    found = interval.solve(at)
    assert found.status is Status.OPTIMAL
    below = nbody("time", p=Decision("processors", maximum=100), energy=(None, least * (1 - 1e-7)))
    assert interval.solve(below).status is Status.INFEASIBLE


def test_an_optimum_held_only_by_the_end_of_its_box_is_unbounded() -> None:
    # without the replication limit more memory always saves words, and no end of it is the user's
    question = nbody("words", p=Decision("processors", minimum=10, maximum=10))
    free = Question(
        question.model, question.given, question.decide, question.objectives, waive=frozenset(["replication"])
    )
    found = interval.solve(free)
    assert found.status is Status.UNBOUNDED
    assert found.endless == "memory grows without limit"


def test_where_nothing_is_minimised_the_first_design_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four free numbers of a served model, which a sampler would go on trying 2000 times."""

    def sampled(*_: object) -> Outcome:
        raise AssertionError("a design was found before")

    monkeypatch.setattr(sampler, "solve", sampled)
    found = dse.solve(
        {
            "model": "transformer_inference",
            "machine": "a100-sxm-80gb-measured",
            "given": {
                "layers": 80, "hidden": 8192, "heads": 64, "kv_heads": 8, "ffn": 28672, "gated": "on",
                "vocabulary": 128256, "prompt": 300, "output": 64, "parameter_bytes": 0.5,
            },
            "decide": {
                "tensor_parallel": {"divides": "heads"},
                "pipeline_parallel": {"divides": "layers"},
                "batch": {"integer": True},
                "replicas": {"integer": True},
            },
            "limits": {"time_per_output_token": {"max": 0.0607}},
        }
    )  # fmt: skip
    assert found.status is Status.FEASIBLE
    assert found.metrics["time_per_output_token"] <= 0.0607 * (1 + 1e-8)


def test_designs_that_all_need_the_slack_of_a_limit_are_searched_to_the_end() -> None:
    """A limit just below its metric's least value: the designs fill an ellipse, of which the far end is known."""
    low = 5e-9
    question = asked(
        load(
            {
                "model": "nbody",
                "machine": "contrived",
                "waive": ["replication", "one_copy"],
                "given": {"bodies": 10000, "flops_per_pair": 10},
                "decide": {
                    "processors": {"min": 1.0, "max": 4.0, "integer": False},
                    "memory": {"min": 1.0, "max": 4.0},
                },
                "define": {
                    "held": "memory / 1 word",
                    "bowl": "1 + 1e-3 * (processors - 2)**2 + (held - 3)**2",
                    "goal": "processors + held",
                },
                "objective": {"minimize": "goal"},
                "limits": {"bowl": {"max": 1 - low}},
            }
        )
    )
    closes(question, interval.solve(question, work=20_000), 5 - math.sqrt((HOLDS - low) * 1001))


def test_work_that_runs_out_leaves_a_bound_and_no_claim() -> None:
    found = interval.solve(
        nbody("energy_delay", energy=(None, 41.0), p=Decision("processors", maximum=300)), work=3
    )
    assert found.status in (Status.FEASIBLE, Status.OPTIMAL)
    assert found.bound is not None


def test_a_bound_of_another_method_leaves_one_gap_told() -> None:
    """The best design of several methods has the best of their bounds, and no word of a gap that is its own alone."""
    question = nbody("energy_delay", energy=(None, 41.0), p=Decision("processors", maximum=300))
    stopped = interval.solve(question, work=3)
    assert stopped.status is Status.FEASIBLE
    assert stopped.bound is not None
    nearer = replace(stopped, x=None, bound=stopped.bound * (1 + 1e-9))
    told = methods.best_tried(question, [stopped, nearer])
    assert told.bound == nearer.bound
    assert "stopped after" in told.certificate
    assert "gap" not in told.certificate


def test_a_choice_among_names_is_refused() -> None:
    with pytest.raises(ValueError, match="processors is a choice among names"):
        interval.solve(fft(p=Decision("processors", choices=("a", "b"))))


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("2 - log(processors + 1)", 2 - math.log(101)),
        ("log(processors) - 100", math.log(3000) - 100),
        # of 1 over it the least would be the one that is negative and nearest to 0
        ("5 - log(processors)", 5 - math.log(100)),
    ],
)
def test_what_is_made_greatest_may_be_negative(goal: str, expected: float) -> None:
    scenario = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10, "memory": 1000},
        "decide": {"processors": {"max": 3000, "integer": True}},
        "define": {"goal": goal},
        "objective": {"maximize": "goal"},
    }
    closes(asked(load(scenario)), interval.solve(asked(load(scenario))), expected)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_what_is_negative_is_bounded_to_second_order_too(scale: float, *, maximize: bool) -> None:
    """By its own ends alone a parabola below 0 took more than 20 000 boxes, and no answer came in a minute."""
    product = f"{scale} * (x - 3.25) * (x - 9)"
    scenario = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10, "memory": 1000, "processors": 200},
        "decide": {"x": {"min": 1, "max": 20}},
        "define": {"goal": f"-({product})" if maximize else product},
        "objective": {"maximize" if maximize else "minimize": "goal"},
    }
    least = -scale * (9 - 3.25) ** 2 / 4
    closes(
        asked(load(scenario)), interval.solve(asked(load(scenario)), work=500), -least if maximize else least
    )


def test_designs_are_found_where_ends_are_far_out_and_most_of_an_energy_cancels() -> None:
    """The flops' energy is decided down to 0, and memory has no end: a design 12.6 % worse was handed out."""
    scenario: dict[str, Any] = {
        "model": "nbody",
        "machine": "jaketown",
        "given": {"bodies": 1e6, "flops_per_pair": 20},
        "decide": {"processors": {"max": 4096}, "memory": {}, "saved": {"min": 0.1, "max": 1}},
        "define": {"machine.energy_per_flop": "machine.energy_per_flop - 1e-9 J/flop * saved"},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": "4 s"}},
    }
    by_hand = {"processors": 14.7175, "memory": 67948.6, "saved": 0.378024}
    alone = {"decide": {}, "objective": {}, "given": {**scenario["given"], **by_hand}}
    known = dse.solve({k: v for k, v in (scenario | alone).items() if v}).metrics["energy"]
    question = asked(load(scenario))
    assert value(question, interval.solve(question, work=methods.SHORT_SEARCH)) <= known * (1 + 1e-4)


@pytest.mark.parametrize("least", [None, 1.0])
@pytest.mark.parametrize(("messages", "processors"), [(3.0, 8.0), (20.0, None)])
def test_an_end_of_a_domain_that_is_written_out_is_granted_no_slack(
    least: float | None, messages: float, processors: float | None
):
    """Below one processor log₂p messages are less than none, and a limit over them tells nothing."""
    p = Decision("processors", minimum=least, maximum=6730)
    found = interval.solve(fft("power", p=p, messages=(messages, None)), work=1000)
    assert found.status is (Status.INFEASIBLE if processors is None else Status.OPTIMAL)
    if processors is not None:
        assert found.x is not None
        assert found.x["processors"] == pytest.approx(processors)


STEP = {
    "model": "exabounds",
    "machine": {
        "frequency": "2 GHz",
        "voltage": "1 V",
        "dynamic_capacitance": "0.5 nF",
        "count.core": 4,
        "cache.L1D": "32 KiB",
        "latency.L2": "10 cycle",
        "latency.DRAM": "80 ns",
    },
    "given": {
        "instructions": 1e12,
        "data_reuse": [
            {"name": "near", "distance": "128 KiB", "share": 0.9},
            {"name": "far", "share": 0.1},
        ],
    },
    "decide": {"machine.cache.L2": {}, "machine.count.die": {"integer": True, "max": 8}},
    "objective": {"minimize": "power"},
}
"""13.25 cycles per instruction from 128 KiB on, 85.25 below, and at most 4.4e7 or 1.8e9 J*s with one core."""


def test_a_search_that_has_found_nothing_for_long_cuts_more_boxes_at_a_time(monkeypatch: pytest.MonkeyPatch):
    """Beside a step few boxes stay open, to the last digit of a float: rounds are what they cost."""
    rounds, enclose = [0], boxes.enclose

    def counted(*given: Any) -> Any:
        rounds[0] += 1
        return enclose(*given)

    monkeypatch.setattr(boxes, "enclose", counted)
    monkeypatch.setattr(search, "UNSUCCESSFUL_BOXES", 100)
    question = asked(load(STEP | {"limits": {"cpi": {"max": 20}, "energy_delay": {"min": 1e8}}}))
    found = interval.solve(question, work=800)
    assert found.status is Status.ERROR
    assert "neither a design nor a proof" in found.message
    assert rounds[0] < 30
