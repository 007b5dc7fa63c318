"""Where the order of two questions changes, of infinite and whole numbers, and where it stays."""

from typing import Any

import pytest

import dse
from scenarios import ScenarioError

ROOFLINE = {"model": "roofline", "machine": "gtx-titan-choi2014", "given": {"flops": 1e9, "intensity": 2}}


@pytest.mark.parametrize("falling", ["time / 1 s", "0 - time / 1 s"])
@pytest.mark.parametrize("first", [True, False])
def test_a_crossing_is_found_where_one_number_begins_infinite(falling: str, first: bool) -> None:
    level = "1 / 1000" if falling.startswith("time") else "0 - 1 / 1000"
    sides = [{**ROOFLINE, "define": {"own": own}} for own in (level, falling)]
    found = dse.compare(
        *(sides if first else sides[::-1]),
        over="given.intensity", start=0, stop=8, points=2, metric="own",
    )  # fmt: skip
    # bytes of 1e9 flops in 1 ms; at intensity 0 the time is infinite
    per_byte = dse.machines.get("gtx-titan-choi2014").parameters["time_per_byte"]
    (crossing,) = found.curve.crossings
    assert crossing.at == pytest.approx(1e9 * per_byte / 1e-3, rel=1e-5)
    assert crossing.proved is not None


def test_over_a_number_that_counts_only_whole_values_are_searched():
    question = dse.load("serving_largest_batch_within_latency").model_dump(
        exclude_none=True, exclude_defaults=True
    )
    slower = {**question, "title": "slower", "limits": {"time_per_output_token": {"max": "60 ms"}}}
    found = dse.compare(question, slower, over="given.layers", start=30, stop=300, points=5)
    curve = found.curve
    assert all(v.is_integer() for v in curve.values)
    first = next(c for c in curve.crossings if "no design" in c.after)
    assert first.high.at - first.low.at == 1.0
    for at, status in ((first.low.at, "optimal"), (first.high.at, "infeasible")):
        asked = {**question, "given": {**question["given"], "layers": at}}
        assert dse.solve(asked).status == status
    told = "\n".join(curve.sentences())
    assert f"given.layers between {first.low.at:g} and {first.high.at:g}: below" in told
    assert "5 whole values of given.layers from 30 to 300, evenly by ratio, rounded" in told


def test_an_end_where_no_whole_number_can_be_is_one_mistake():
    question = dse.load("serving_largest_batch_within_latency").model_dump(
        exclude_none=True, exclude_defaults=True
    )
    with pytest.raises(ScenarioError) as found:
        dse.compare(question, {**question, "title": "again"}, over="given.layers", start=-5, stop=30)
    assert [p.key for p in found.value.problems] == ["start (--from)"]


def test_one_baseline_against_two_whose_order_changes_names_none_as_least_everywhere() -> None:
    made = {"base": "gtx-titan-choi2014", "constant_power": "1 kW"}
    found = dse.compare(
        {**ROOFLINE, "machine": made}, ROOFLINE, {**ROOFLINE, "machine": "arndale-gpu-choi2014"},
        over="given.intensity", start=0.5, stop=8, points=3, metric="energy",
    )  # fmt: skip
    assert found.curve.crossings == ()
    assert "no crossing: the order with the baseline stays" in found.curve.sentences()[0]


@pytest.mark.parametrize("points", [5, 16])
def test_a_crossing_on_a_searched_value_is_one_crossing(points: int) -> None:
    """At 2, one of 5 values searched, both are 4: that was told as two changes, neither of them proved."""
    given = {**ROOFLINE["given"], "t": 1.0}
    sides = [{**ROOFLINE, "given": given, "define": {"own": own}} for own in ("t**2", "2 * t")]
    found = dse.compare(*sides, over="given.t", start=0.5, stop=8, points=points, metric="own")
    (crossing,) = found.curve.crossings
    assert crossing.at == pytest.approx(2, rel=1e-6)
    assert crossing.proved is not None


@pytest.mark.parametrize("metric", [None, "power"])
def test_why_a_side_has_no_answer_is_not_looked_for(
    metric: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A curve tells where there are answers; which limits conflict would take many times as long to find."""

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError

    asked = {
        "model": "nbody",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "decide": {"processors": {"max": 64}, "memory": {}},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": "1 s"}},
    }
    sides = [{**asked, "machine": m} for m in ("balanced", "jaketown")]
    expected = dse.compare(*sides, over="given.bodies", start=1e4, stop=1e7, points=5, metric=metric)
    assert {"optimal", "infeasible"} <= {s for one in expected.curve.status for s in one}
    monkeypatch.setattr("solvers.mechanisms.why.minimal_sets", never)
    monkeypatch.setattr("solvers.many_points.block_answers.minimal_sets", never)
    found = dse.compare(*sides, over="given.bodies", start=1e4, stop=1e7, points=5, metric=metric)
    assert found.curve.status == expected.curve.status
    assert repr(found.curve.numbers) == repr(expected.curve.numbers)
