"""Unknowns: decided unless the file says otherwise; menus; zeros; what plays no part."""

from dataclasses import replace
from typing import Any

import pytest

from dse.models import registry
from dse.models.shared.structure import Parts, Row
from scenarios import ScenarioError, load
from scenarios.question import Decision, Limit, Question, fixed, settled
from scenarios.questions import question


def decided(question: Question) -> dict[str, Decision]:
    return {d.name: d for d in question.decide}


def test_unknowns_are_decided_without_a_word(ask: Any) -> None:
    assert decided(ask().question(())) == {
        "count.cpu": Decision("count.cpu", integer=True, count=True),
        "count.gpu": Decision("count.gpu", integer=True, count=True),
        "lane.a": Decision("lane.a", values=(1.0, 2.0)),
        "lane.b": Decision("lane.b", values=(1.0, 2.0)),
    }


def test_what_is_given_or_swept_is_not_decided(ask: Any) -> None:
    axis = {"boxes": {"path": "count.gpu", "values": [0, 1, 2]}}
    swept = ask(given={"count": {"cpu": 3}, "lane.a": "fast"}, sweep=axis)
    question = swept.question((0,))
    assert set(decided(question)) == {"lane.b"}
    assert (question.given["count.cpu"], question.given["lane.a"], question.given["count.gpu"]) == (3, 2, 0)


def test_a_whole_family_given_decided_or_swept_leaves_no_unknowns(ask: Any) -> None:
    assert "lane.a" not in decided(ask(given={"lane": "slow"}).question(()))
    assert set(decided(ask(decide={"lane": {}}).question(()))) == {"lane", "count.cpu", "count.gpu"}
    axis = {"speed": {"path": "lane", "values": ["fast", "slow"]}}
    swept = ask(sweep=axis)
    assert "lane.b" not in decided(swept.question((0,)))
    assert [swept.question((i,)).given["lane"] for i in range(2)] == [2.0, 1.0]


@pytest.mark.parametrize("decide", [{"count": {"gpu": {"max": 50}}}, {"count.gpu": {"max": 50}}])
def test_nested_and_dotted_decisions_are_the_same(ask: Any, decide: Any) -> None:
    assert decided(ask(decide=decide).question(()))["count.gpu"] == Decision(
        "count.gpu", None, 50.0, integer=True, count=True
    )


@pytest.mark.parametrize("limits", [{"time": {"max": 9, "cpu": {"max": "1 s"}}}, {"time.cpu": {"max": 1}}])
def test_nested_and_dotted_limits_are_the_same(ask: Any, limits: Any) -> None:
    question = ask(limits=limits).question(())
    assert Limit("time.cpu", None, 1.0) in question.limits
    assert (Limit("time", None, 9.0) in question.limits) == ("time" in limits)


def test_integrality_stays_unless_the_file_writes_it(ask: Any) -> None:
    def gpu(**entry: Any) -> Decision:
        return decided(ask(decide={"count.gpu": entry}).question(()))["count.gpu"]

    assert gpu(min=1).integer
    assert not gpu(integer=False).integer
    assert gpu(values=[0, 2]) == Decision("count.gpu", integer=True, values=(0.0, 2.0), count=True)
    assert gpu(powers_of=2, max=8).values[:4] == (1.0, 2.0, 4.0, 8.0)
    assert gpu(min=0, max=3) == Decision("count.gpu", 0.0, 3.0, integer=True, count=True)


def test_zero_is_a_value_where_the_floor_is_zero(ask: Any) -> None:
    assert ask(given={"count.cpu": 0}).question(()).given["count.cpu"] == 0.0
    axis = {"least": {"path": "decide.count.cpu.max", "values": [0, 4]}}
    swept = ask(decide={"count.cpu": {}}, sweep=axis)
    assert [decided(swept.question((i,)))["count.cpu"].maximum for i in range(2)] == [0.0, 4.0]


@pytest.mark.parametrize(
    ("decide", "key", "wrong", "right"),
    [
        ({"count": {"gpu": {"mx": 5}}}, "decide.count.gpu.mx", "unknown key", "did you mean 'max'"),
        ({"count": {"gpv": {"max": 5}}}, "decide.count.gpv", 'no input or machine parameter', "count.gpu"),
        ({"count": {"max": 5}}, "decide.count", "no input or machine parameter", "count.cpu"),
        ({"count.gpu": {"values": [1.5]}}, "decide.count.gpu.values", "1.5 is not a whole number", "integer = false"),
        ({"count.gpu": {"min": -1}}, "decide.count.gpu.min", "-1 is negative", "at least 0"),
        ({"count.gpu": {"min": 1.2, "max": 1.8}}, "decide.count.gpu", "no whole number", "integer = false"),
        ({"count.gpu": {}, "count": {"gpu": {"max": 5}}}, "decide.count.gpu", "is given twice", "keep one"),
        ({"lane.a": {"values": ["medium"]}}, "decide.lane.a.values[0]", '"medium" is not a lane', "slow, fast"),
        ({"lane.a": {"values": [3]}}, "decide.lane.a.values[0]", "3 is not a lane", "from 1 to 2"),
        ({"lane.a": {"values": []}}, "decide.lane.a.values", "empty", "at least one"),
        ({"lane.a": {"max": 1}}, "decide.lane.a", "from a menu and has no max", 'values = ["slow", "fast"]'),
        ({"lane.c": {}}, "decide.lane.c", "no input or machine parameter", "lane.a"),
        ({"rate.cpu": {"max": 5}}, "decide.rate.cpu", 'is not used with mode = "even"', "leave it out"),
        ({"time.cpu": {"max": 5}}, "decide.time.cpu", "is a metric", "[limits]"),
    ],
)  # fmt: skip
def test_mistakes_in_decisions(complaint: Any, decide: Any, key: str, wrong: str, right: str) -> None:
    found = complaint(decide=decide)
    assert (found.key, wrong in found.wrong, right in found.right) == (key, True, True), found


@pytest.mark.parametrize(
    ("given", "key", "wrong", "right"),
    [
        ({"count": {"cpv": 1}}, "given.count.cpv", 'no input of toy "count.cpv"', "did you mean 'count.cpu'"),
        ({"count": {"cpu": 1, "gpu": "2 W"}}, "given.count.gpu", "a power (W)", "20"),
        ({"count": {"cpu": -1}}, "given.count.cpu", "-1 is negative", "at least 0"),
        ({"count.cpu": 1, "count": {"cpu": 1}}, "given.count.cpu", "is given twice", "one of the two"),
        ({"count.cpu": 1.5}, "given.count.cpu", "1.5 is not a whole number", "how many are on) is a whole number"),
        ({"lane": {"a": 1.5}}, "given.lane.a", "1.5 is not a lane", "slow, fast"),
        ({"lane.a": "quick"}, "given.lane.a", '"quick" is not a lane', "slow, fast"),
        ({"lane.a": ["fast"]}, "given.lane.a", 'no list of toy "lane.a"', "jobs, links"),
        ({"rate.cpu": 5}, "given.rate.cpu", 'is not used with mode = "even"', "leave it out"),
        ({"machine": {"cpu": {"usable_power": 5}}}, "given.machine.cpu.usable_power", "machine table", "cpu = {"),
        ({"mode": "evn"}, "given.mode", '"evn" is not a choice of mode', "did you mean 'even'"),
    ],
)  # fmt: skip
def test_mistakes_in_given_unknowns(complaint: Any, given: Any, key: str, wrong: str, right: str) -> None:
    found = complaint(given=given)
    assert (found.key, wrong in found.wrong, right in found.right) == (key, True, True), found


def test_swept_unknowns_are_whole(complaint: Any) -> None:
    found = complaint(sweep={"boxes": {"path": "count.gpu", "values": [0, 0.5]}})
    assert (found.key, found.wrong) == ("sweep.boxes.values[1]", "0.5 is not a whole number")


def _placed(region: dict[str, Any], **more: Any) -> dict[str, Any]:
    machine = {"cpu": "i7-2600k", "gpu": "gtx-titan-tang2017"}
    regions = [{"name": "a", "flops": 1e9, "bytes": 1e9} | region]
    return {"model": "partition", "machine": machine, "given": {"regions": regions} | more}


def test_a_region_that_is_not_divisible_has_no_half_share() -> None:
    with pytest.raises(ScenarioError) as caught:
        load(_placed({"divisible": False}, **{"share.a.cpu": 0.5}))
    (found,) = caught.value.problems
    assert (found.key, found.wrong) == ("given.share.a.cpu", "0.5 is not a whole number")
    assert found.right.endswith("is 0 or 1, since region a is not divisible")
    assert question(load(_placed({"divisible": False}, **{"share.a.cpu": 1}))).given["share.a.cpu"] == 1.0
    assert question(load(_placed({}, **{"share.a.cpu": 0.5}))).given["share.a.cpu"] == 0.5


def test_a_region_of_nothing_is_refused() -> None:
    with pytest.raises(ScenarioError) as caught:
        load(_placed({"flops": 0, "bytes": 0.0}))
    (found,) = caught.value.problems
    assert found.key == "given.regions[0]"
    assert found.right.startswith("a region has flops or bytes")
    assert question(load(_placed({"flops": 0}))).given["regions.a.flops"] == 0.0


def test_menus_are_read_by_name_and_by_number(ask: Any) -> None:
    given = ask(given={"lane.a": "fast", "lane.b": 1}).question(()).given
    assert (given["lane.a"], given["lane.b"]) == (2.0, 1.0)
    one = decided(
        ask(decide={"lane.a": {"values": ["fast"]}, "lane.b": {"values": [2, "slow"]}}).question(())
    )
    assert (one["lane.a"].values, one["lane.b"].values) == ((2.0,), (1.0, 2.0))


def test_what_the_texts_leave_without_a_part_is_dropped(ask: Any) -> None:
    assert "rate.cpu" not in decided(ask().question(()))
    free = decided(ask(given={"mode": "free"}).question(()))
    assert free["rate.cpu"] == Decision("rate.cpu")


def test_swept_texts_drop_unknowns_point_by_point(ask: Any) -> None:
    axis = {"how": {"path": "mode", "values": ["even", "free"]}}
    swept = ask(sweep=axis, limits={"rate.cpu": {"max": 5}}, decide={"rate.cpu": {}})
    assert ["rate.cpu" in decided(swept.question((i,))) for i in range(2)] == [False, True]
    assert [any(x.name == "rate.cpu" for x in swept.question((i,)).limits) for i in range(2)] == [False, True]


def test_chosen_texts_drop_unknowns_once_they_are_chosen(ask: Any) -> None:
    open_ = ask(decide={"mode": {}}).question(())
    assert "rate.gpu" in decided(open_)
    assert settled(open_) is open_
    left = {mode: decided(fixed(open_, {"mode": mode})) for mode in ("even", "free")}
    assert ("rate.gpu" in left["even"], "rate.gpu" in left["free"]) == (False, True)
    assert "mode" not in left["even"]
    assert fixed(open_, {"mode": "free"}).given["mode"] == "free"


def test_an_objective_that_may_play_no_part_is_refused(complaint: Any) -> None:
    found = complaint(decide={"mode": {}, "rate.cpu": {}}, objective={"maximize": "rate.cpu"})
    assert 'rate.cpu is not used with mode = "even"' in found.wrong


def test_a_decided_unknown_may_be_limited_and_ranked_without_being_listed(ask: Any) -> None:
    question = ask(limits={"count.cpu": {"max": 3}}, objective={"maximize": "count.gpu"}).question(())
    assert Limit("count.cpu", None, 3.0) in question.limits
    assert question.objectives[0].name == "count.gpu"


def test_nested_inputs_of_a_model_without_lists(toy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain model may have families of inputs, too; a table of numbers stands for dotted names there."""
    plain = toy.expand(Parts({"jobs": (Row("a"),), "links": ()}, ("cpu", "gpu")))
    # without machine parameters its times are plain numbers
    metrics = tuple(replace(q, unit="") for q in plain.metrics)
    plain = replace(plain, name="flat_toy", machine=(), unused=None, metrics=metrics)
    monkeypatch.setitem(registry._registered, "flat_toy", plain)
    given = {"count": {"cpu": 1, "gpu": 2}, "jobs": {"a": {"flops": "3 flop"}}}
    asked = question(load({"model": "flat_toy", "given": given}))
    assert [asked.given[n] for n in ("count.cpu", "count.gpu", "jobs.a.flops")] == [1.0, 2.0, 3.0]
    with pytest.raises(ScenarioError, match=r'"count.cpu" is given twice'):
        load({"model": "flat_toy", "given": given | {"count.cpu": 3}})
    with pytest.raises(ScenarioError, match=r"given.jobs.a.flop: there is no input"):
        load({"model": "flat_toy", "given": given | {"jobs": {"a": {"flop": 3, "flops": 2}}}})
