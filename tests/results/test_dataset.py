"""What a dataset holds, and what it is called."""

import dataclasses
import json
import math
from collections.abc import Callable

import numpy as np
import pytest

from dse.models.model import Model
from dse.quantities import Quantity
from results import dataset
from results.dataset import BINDING, CONFLICTING, NOT_APPLICABLE, NOT_BINDING, Layout
from results.solution import Solution, Status
from results.telling.limits import limit_names
from scenarios.question import Decision, Limit, Question


def test_every_variable_has_a_unit_or_flags_and_a_meaning(plan: Layout):
    ds = dataset.to_dataset(plan, dataset.blank(plan))
    for name, array in ds.data_vars.items():
        assert array.attrs["long_name"], name
        told = {"units", "limit_units", "flag_meanings"} & array.attrs.keys()
        assert told or name == "message", name
        if "flag_meanings" in array.attrs:
            assert len(array.attrs["flag_meanings"].split()) == len(array.attrs["flag_values"])
    assert ds.energy.attrs["units"] == "J"
    assert ds.deadline.attrs == {"long_name": "longest time", "path": "limits.time.max", "units": "s"}


def test_units_are_read_by_our_own_registry(plan: Layout):
    from dse.quantities import registry

    for variable in plan.variables:
        if variable.attributes.get("units", "1") != "1":
            registry().parse_units(variable.attributes["units"])


def test_dataset_knows_where_it_comes_from(plan: Layout):
    found = plan.attributes
    assert found["scenario"].startswith("title")
    assert found["scenario_hash"] == "e1438081e22b796ad2c66fa2d25139fbb188e2cc58f516b6bf3afcf2379b00f5"
    assert found["method"] == "made up"
    assert found["Conventions"].startswith("CF-")
    assert {"numpy", "zarr", "pyomo"} <= set(json.loads(found["versions"]))
    assert json.loads(found["objectives"]) == {"energy": "min"}


def test_each_swept_machine_is_recorded_with_its_parameters(plan: Layout):
    machines = json.loads(plan.attributes["machine_parameters"])
    assert set(machines) == {"small", "large"}
    assert machines["large"]["leakage_power"] == 1.0
    assert machines["small"]["time_per_flop"] == 2.5e-12


def test_a_swept_machine_parameter_is_not_recorded_as_one_number(
    question: Question, make_axis: type, make_grid: type
):
    axis = make_axis("flop_energy", "machine.energy_per_flop", "J/flop", "energy per flop", (1e-10, 2e-10))
    plan = dataset.layout(make_grid((axis,), question))
    assert "energy_per_flop" not in json.loads(plan.attributes["machine_parameters"])


def test_limits_on_both_sides_have_two_names(question: Question):
    assert limit_names(question)[:6] == (
        "time",
        "power",
        "power.min",
        "processors",
        "processors.min",
        "memory",
    )
    assert set(limit_names(question)[6:]) == {"one_copy", "replication"}


def test_sides_of_a_limit_are_told_apart_across_limits_and_bounds(question: Question):
    asked = dataclasses.replace(question, limits=(Limit("memory", minimum=10.0),))
    assert {n for n in limit_names(asked) if n.startswith("memory")} == {"memory.min", "memory"}


def test_a_waived_limit_is_not_listed(question: Question):
    assert "replication" not in limit_names(dataclasses.replace(question, waive=frozenset({"replication"})))


def test_solutions_fill_their_points(plan: Layout, answer: Callable[..., Solution]):
    kinds = [
        Status.OPTIMAL,
        Status.FEASIBLE,
        Status.INFEASIBLE,
        Status.ERROR,
        Status.EVALUATED,
        Status.UNBOUNDED,
    ]
    arrays = dataset.to_arrays(plan, [answer(3.0, k) for k in kinds], (3, 2))
    assert arrays["status"].ravel().tolist() == [1, 2, 3, 5, 6, 4]
    assert arrays["energy"][0, 0] == 3.0
    assert arrays["processors"][0, 0] == 4.0
    assert math.isnan(arrays["energy"][1, 0])
    assert arrays["message"][1, 1] == "gave up at 3.0"
    assert arrays["message"][0, 0] == ""
    time, lower = plan.limits.index("time"), plan.limits.index("power.min")
    assert arrays["binding"][0, 0, time] == BINDING
    assert arrays["binding"][0, 0, lower] == NOT_BINDING
    assert arrays["binding"][1, 0, time] == CONFLICTING
    assert arrays["binding"][1, 0, lower] == NOT_APPLICABLE
    assert arrays["elasticity"][0, 0, time] == -0.7
    assert np.isnan(arrays["elasticity"][1, 0]).all()


def test_numbers_of_an_answer_that_failed_its_check_are_no_result(
    plan: Layout, answer: Callable[..., Solution]
):
    arrays = dataset.to_arrays(plan, [answer(3.0, Status.ERROR)], (1, 1))
    assert np.isnan(arrays["energy"]).all()
    assert arrays["seconds"][0, 0] == 3.0


def test_wrong_number_of_solutions_is_refused(plan: Layout, answer: Callable[..., Solution]):
    with pytest.raises(ValueError, match="1 solutions for a block of 4 points"):
        dataset.to_arrays(plan, [answer(1.0)], (2, 2))


def test_choices_become_codes_with_meanings(question: Question, make_axis: type, make_grid: type):
    machine = {n.removeprefix("machine."): v for n, v in question.given.items() if n.startswith("machine.")}
    named = {n: {f"machine.{k}": v for k, v in machine.items()} for n in ("arm", "big x86")}
    given = {n: v for n, v in question.given.items() if not n.startswith("machine.")}
    choice = Decision("machine", choices=("arm", "big x86"))
    asked = dataclasses.replace(question, given=given, machines=named, decide=(choice, *question.decide))
    plan = dataset.layout(make_grid((make_axis("deadline", "limits.time.max", "s", "t", (1.0, 2.0)),), asked))
    solutions = [Solution(Status.OPTIMAL, variables={"machine": "big x86"}), Solution(Status.ERROR)]
    arrays = dataset.to_arrays(plan, solutions, (2,))
    assert arrays["machine"].tolist() == [1, -1]
    ds = dataset.to_dataset(plan, arrays)
    assert ds.machine.attrs["flag_meanings"].split() == ["not_decided", "arm", "big_x86"]
    assert ds.machine.attrs["flag_values"] == [-1, 0, 1]
    assert set(json.loads(plan.attributes["machine_parameters"])) == {"arm", "big x86"}


def test_a_decided_variable_named_like_a_metric_keeps_both(make_axis: type, make_grid: type):
    size = Quantity("memory", "M", "word", "words decided")
    model = Model(
        "m",
        "t",
        "s",
        (),
        (size,),
        (Quantity("memory", "M", "word", "used"),),
        (),
        lambda g: {"memory": g.memory},
    )
    asked = Question(model=model, given={}, decide=(Decision("memory"),))
    plan = dataset.layout(
        make_grid((make_axis("memory_cap", "limits.memory.max", "word", "cap", (1.0,)),), asked)
    )
    arrays = dataset.to_arrays(
        plan, [Solution(Status.FEASIBLE, variables={"memory": 1.0}, metrics={"memory": 2.0})], (1,)
    )
    assert arrays["memory"].tolist() == [2.0]
    assert arrays["decided.memory"].tolist() == [1.0]


def test_an_axis_named_like_a_metric_keeps_both(question: Question, make_axis: type, make_grid: type):
    plan = dataset.layout(
        make_grid((make_axis("time", "limits.time.max", "s", "cap", (1.0, 2.0)),), question)
    )
    ds = dataset.to_dataset(plan, dataset.blank(plan))
    assert ds.time.dims == ("time",)
    assert ds["metric.time"].dims == ("time",)


def test_an_axis_may_not_take_the_name_of_an_answer(question: Question, make_axis: type, make_grid: type):
    with pytest.raises(ValueError, match="cannot be named 'status'"):
        dataset.layout(make_grid((make_axis("status", "bodies", "", "", (1.0,)),), question))
