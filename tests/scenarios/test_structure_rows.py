"""Lists under [given]: what rows say becomes flat, and every mistake in them is told where it stands."""

from dataclasses import replace
from typing import Any

import pytest

from dse.models import registry
from scenarios import Scenario, ScenarioError, from_text
from scenarios.questions import question

A = {"name": "a", "flops": 1e9}
B = {"name": "b", "flops": 1e9}


def test_numbers_of_rows_have_flat_names_and_units(ask: Any) -> None:
    given = ask().question(()).given
    assert given["jobs.a.flops"] == 1e9
    assert given["jobs.b.flops"] == 2e9
    assert (given["jobs.a.bytes"], given["jobs.b.bytes"]) == (0.0, 3.0)
    assert "jobs" not in given


def test_rows_without_a_name_are_numbered(ask: Any) -> None:
    given = ask(given={"jobs": [{"flops": 1}, A, {"flops": 3}]}).question(()).given
    assert [given[f"jobs.{n}.flops"] for n in ("1", "a", "3")] == [1.0, 1e9, 3.0]


def test_what_is_no_number_reaches_the_model(ask: Any) -> None:
    jobs = [A | {"whole": True}, B]
    links = [{"from": "b", "to": "a", "words": 5}]
    notes = ask(given={"jobs": jobs, "links": links}).question(()).model.notes
    assert "flags={'whole': True}" in notes
    assert "flags={'whole': False}" in notes
    assert "refers={'from': 'b', 'to': 'a'}" in notes
    assert "stated=frozenset({'words'})" in notes


def test_toml_rows_and_python_rows_are_the_same_question(toy: Any) -> None:
    text = """
        model = "toy"
        machine = { cpu = "i7-2600k", gpu = "gtx-titan-tang2017" }
        [[given.jobs]]
        name = "stiffness matrix"
        flops = 2.1e9
        [[given.jobs]]
        flops = "1 Gflop"
        whole = true
    """
    jobs = [{"name": "stiffness matrix", "flops": 2.1e9}, {"flops": "1 Gflop", "whole": True}]
    machine = {"cpu": "i7-2600k", "gpu": "gtx-titan-tang2017"}
    made = Scenario(model="toy", machine=machine, given={"jobs": jobs})
    read = from_text(text)
    assert read.text == text
    assert question(read).given == question(made).given == question(from_text(made.text)).given
    assert question(read).given["jobs.stiffness matrix.flops"] == 2.1e9


@pytest.mark.parametrize(
    ("jobs", "key", "wrong", "right"),
    [
        (None, "given.jobs", "there is no job", "[[given.jobs]]"),
        ([], "given.jobs", "there is no job", 'flops = "20 flop"'),
        (3, "given.jobs", "list of tables", "[[given.jobs]]"),
        ({"name": "a", "flops": 1}, "given.jobs", "list of tables", "double brackets"),
        ([A, 4], "given.jobs[1]", "4 is not a table", "[[given.jobs]]"),
        ([A, A], "given.jobs[1].name", '"a" stands in the list twice, at given.jobs[0]', "name of its own"),
        ([{"flops": 1}, {"name": "1", "flops": 1}], "given.jobs[1].name", '"1" stands in', "name of its own"),
        ([{"name": "a.b", "flops": 1}], "given.jobs[0].name", "holds a dot", '"a-b"'),
        ([{"name": 5, "flops": 1}], "given.jobs[0].name", "is text, not 5", "quotes"),
        ([{"name": " ", "flops": 1}], "given.jobs[0].name", "is not a name of a job", "letters"),
        ([{"name": "a\n", "flops": 1}], "given.jobs[0].name", "is not a name of a job", "letters"),
        ([{"name": "max", "flops": 1}], "given.jobs[0].name", "reserved name", '"max_1"'),
        ([{"name": "x" * 99, "flops": 1}], "given.jobs[0].name", "too long", "80"),
        ([{"name": "a"}], "given.jobs[0]", 'job "a" has no flops (flops of the job)', 'flops = "20 flop"'),
        ([A | {"flopz": 2}], "given.jobs[0].flopz", 'no key of a job "flopz"', "did you mean 'flops'"),
        ([A, {"name": "b", "flosp": 2}], "given.jobs[1].flosp", "no key of a job", "did you mean 'flops'"),
        ([A, B | {"whole": "no"}], "given.jobs[1].whole", '"no" is neither true nor false', "in one go"),
        ([A, B | {"bytes": "3 W"}], "given.jobs[1].bytes", "a power (W)", "byte"),
        ([A, B | {"bytes": -3}], "given.jobs[1].bytes", "-3 is negative", "at least 0"),
        ([A | {"flops": [1]}], "given.jobs[0].flops", "not a list", "number"),
        ([A | {"flops": True}], "given.jobs[0].flops", "not true", "number"),
    ],
)
def test_mistakes_in_rows(complaint: Any, jobs: Any, key: str, wrong: str, right: str) -> None:
    found = complaint(given={"jobs": jobs})
    assert (found.key, wrong in found.wrong, right in found.right) == (key, True, True), found


@pytest.mark.parametrize(
    ("link", "key", "wrong", "right"),
    [
        ({"from": "a", "to": "B", "words": 1}, "[0].to", '"B" is none of the jobs', "did you mean 'b'"),
        ({"from": "a", "to": "a", "words": 1}, "[0].to", 'from and to are both "a"', "two different jobs"),
        ({"from": "a", "words": 1}, "[0]", 'link "1" has no to', "there are: a, b"),
        ({"form": "a", "to": "b", "words": 1}, "[0].form", "no key of a link", "did you mean 'from'"),
        ({"from": 1, "to": "b", "words": 1}, "[0].from", "1 is none of the jobs", "a, b"),
        ({"from": "a", "to": "b"}, "[0]", 'link "1" has no words', "links.1.words"),
    ],
)
def test_mistakes_in_references(complaint: Any, link: Any, key: str, wrong: str, right: str) -> None:
    found = complaint(given={"jobs": [A, B], "links": [link]})
    assert (found.key, wrong in found.wrong, right in found.right) == (f"given.links{key}", True, True), found


def test_all_mistakes_of_all_rows_are_told_together(complaints: Any) -> None:
    jobs = [{"name": "a", "flops": "1 W"}, {"name": "b", "flops": -1}, {"name": "c"}]
    found = complaints(given={"jobs": jobs}, limits={"tme": {"max": 1}})
    keys = {p.key for p in found}
    assert keys == {"given.jobs[0].flops", "given.jobs[1].flops", "given.jobs[2]", "limits.tme"}


def test_what_no_row_states_may_be_decided_or_swept(ask: Any) -> None:
    jobs = [A, {"name": "b"}]
    axis = {"work": {"path": "given.jobs.b.flops", "values": [1, "1 kflop"]}}
    swept = ask(given={"jobs": jobs}, sweep=axis)
    assert [swept.question((i,)).given["jobs.b.flops"] for i in range(2)] == [1.0, 1e3]
    decided = ask(given={"jobs": jobs}, decide={"jobs.b.flops": {"max": 9}}).question(())
    assert decided.decide[0].name == "jobs.b.flops"
    assert "jobs.b.flops" not in decided.given


def test_a_number_may_not_be_said_twice(complaint: Any) -> None:
    assert complaint(given={"jobs.a.flops": 3}).wrong == '"jobs.a.flops" has a value in its list as well'
    assert "given and decided" in complaint(decide={"jobs.a.flops": {}}).wrong


def test_a_list_that_the_model_does_not_take(complaint: Any) -> None:
    found = complaint(given={"job": [A]})
    assert found.key == "given.job"
    assert "did you mean 'jobs'? there are: jobs, links" in found.right


def test_what_the_model_cannot_expand_is_a_mistake_with_its_repair(complaint: Any) -> None:
    found = complaint(given={"jobs": [{"name": "forbidden", "flops": 1}]})
    assert (found.key, found.wrong, found.right) == (
        "given",
        "job forbidden cannot be done",
        "call it otherwise",
    )


def test_a_number_that_the_model_makes_nothing_of_is_told_where_it_stands(complaint: Any) -> None:
    """The toy's plain model has no such input, whatever its table says."""
    found = complaint(given={"jobs": [A, B | {"times": 3}]})
    assert found.key == "given.jobs[1].times"


def test_names_that_meet_are_refused(complaint: Any, toy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def expand(parts: Any) -> Any:
        flat = toy.expand(parts)
        return replace(flat, inputs=(*flat.inputs, flat.inputs[-1]))

    monkeypatch.setitem(registry._registered, "toy", replace(toy, expand=expand))
    assert complaint().wrong == 'two quantities would be called "lane.b"'


def test_a_wrong_name_in_a_list_hides_no_mistake_elsewhere() -> None:
    text = """
model = "partition"
[given]
order = "list"
period = "-1 s"
regions = [{ name = "a", flops = 1, bytes = -1 }, { name = "b", flops = 1, bytes = 1 }]
transfers = [{ from = "x", to = "b", bytes = 1 }]
[machine]
cpu = "i7-2600k-tang2017"
gpu = "gtx-750-tang2017"
[objective]
minimize = "tim"
[limits]
"time.gpu" = { max = "1 W" }
"""
    with pytest.raises(ScenarioError) as told:
        from_text(text)
    assert {p.key for p in told.value.problems} == {
        "given.transfers[0].from",
        "given.order",
        "given.period",
        "given.regions[0].bytes",
        "objective.minimize",
        "limits.time.gpu.max",
    }
