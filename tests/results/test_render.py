"""What people read: every fact of an answer, in words and units; nothing from a file becomes markup."""

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from dse.commands.terminal.printing import show
from results.export import answer_files
from results.export.jsonable import to_json
from results.solution import Alternative, LimitState, Solution, Status
from results.summaries import headlines
from results.telling import words
from results.telling.render import renderable, to_html, to_text

NAN = float("nan")
UNITS = {"energy": "J", "time": "s", "power": "W", "efficiency": "flop/J", "memory": "word", "processors": ""}


def test_one_limit_alone_does_not_hold_together_with_others():
    """A conflict of one limit is said in the singular."""
    time = LimitState(1.0, 2.0, "max", "s", -1.0, binding=False)
    one = Solution(Status.INFEASIBLE, limits={"time": time}, units=UNITS, conflict={"time": 2.0})
    assert "this limit cannot be met" in to_text(one)
    two = dataclasses.replace(one, conflict={"time": 2.0, "power": 3.0})
    assert "these limits cannot hold together" in to_text(two)


def test_limits_that_each_fail_alone_are_not_said_to_clash():
    """Two conflicts of one limit each are not one conflict of two, in the table, the headline and beside choices."""
    found = {"conflict": {"heads_split": None, "kv_heads_split": None}}
    alone = Solution(Status.INFEASIBLE, conflicts=(("heads_split",), ("kv_heads_split",)), **found)
    assert "none of these limits can be met" in to_text(alone)
    assert headlines.of_solution(alone).endswith(
        "heads_split and kv_heads_split cannot be met, each by itself."
    )
    clash = dataclasses.replace(alone, conflicts=(("heads_split", "kv_heads_split"),))
    assert "these limits cannot hold together" in to_text(clash)
    assert headlines.of_solution(clash).endswith("heads_split and kv_heads_split cannot hold together.")
    assert words.unless(alone, {"power": None}) == ": power cannot be met"
    assert words.unless(alone, found["conflict"]) == ": heads_split, kv_heads_split cannot all be met"


def test_several_minimal_conflicts_are_each_told_as_a_set(tmp_path: Path):
    """Two pairs that share a limit were one table of three, which "cannot hold together"."""
    sides = {"time": ("max", "s"), "power": ("max", "W"), "energy": ("max", "J")}
    limits = {n: LimitState(NAN, 1.0, side, unit, NAN, binding=False) for n, (side, unit) in sides.items()}
    told = Solution(
        Status.INFEASIBLE,
        limits=limits,
        conflict={"time": 2.0, "power": None},
        conflicts=(("time", "power"), ("time", "energy")),
        units=UNITS,
        alternatives=(Alternative({"machine": "m"}, Status.INFEASIBLE, None, {"time": 2.0, "power": None}),),
    )
    assert "2 sets of limits that conflict: in each of them one has to give" in to_text(told)
    assert "these limits cannot hold together" not in to_text(told)
    assert lines_with(told, "1 ") == ["1 time and power cannot hold together"]
    assert lines_with(told, "2  ") == ["2 time and energy cannot hold together"]
    assert lines_with(told, "time") == ["time ≤ 2 s (asked: ≤ 1 s)"]
    assert lines_with(told, "power") == [
        "power no value of it alone: time and energy also conflict (asked: ≤ 1 W)"
    ]
    assert lines_with(told, "energy") == [
        "energy no value of it alone: time and power also conflict (asked: ≤ 1 J)"
    ]
    assert lines_with(told, "m ") == ["m infeasible unless time ≤ 2 s"]
    assert headlines.of_solution(told) == (
        "There is no such design: time and power cannot hold together; time and energy cannot hold together."
    )
    assert "time and energy cannot hold together</td>" in told._repr_html_()
    assert "time and energy cannot hold together" in dse.report(told, tmp_path / "page.html").read_text()
    one = dataclasses.replace(told, conflicts=told.conflicts[:1])
    assert "these limits cannot hold together" in to_text(one)
    assert "sets of limits" not in to_text(one)


def test_without_an_objective_nothing_is_left_to_prove():
    assert words.status(Solution(Status.FEASIBLE)) == "feasible: all limits hold"
    assert "optimality is not proved" in words.status(Solution(Status.FEASIBLE, objective_name="energy"))


@pytest.mark.parametrize("width", [40, 80, 100])
def test_all_parameters_are_named_whole_or_counted(width: int):
    names = [f"machine.a_rather_long_name_{i}" for i in range(9)]
    worth = Solution(Status.OPTIMAL, objective_name="energy", parameters=dict.fromkeys(names, 1.0))
    text = to_text(worth, width)
    assert "3 more in --json" in " ".join(text.split())
    assert sum(n in text for n in names) == 6


@pytest.fixture
def optimal() -> Solution:
    return Solution(
        Status.OPTIMAL,
        objective=7421.123456,
        bound=7421.12339,
        gap=9e-9,
        variables={"processors": 6000.25, "memory": 12345678.0, "machine": "jaketown"},
        metrics={"time": 0.7297, "energy": 7421.123456, "power": 10170.1, "efficiency": 2.2e9},
        limits={
            "time": LimitState(0.7297, 0.7297, "max", "s", 0.0, binding=True, elasticity=-0.7),
            "power": LimitState(10170.1, 2e4, "max", "W", 0.49, binding=False, elasticity=0.0),
            "power.min": LimitState(
                10170.1, 10170.1, "min", "W", 0.0, binding=True, elasticity=0.2, one_sided=True
            ),
            "processors": LimitState(
                6.0, 6.0, "max", "", 0.0, binding=True, next_change=7.0, next_objective=7e3
            ),
            "one_copy": LimitState(0.83, 1.0, "max", "", 0.17, binding=False),
        },
        ranges={"processors": (6000.25, 8000.0)},
        parameters={
            "machine.energy_per_flop": 0.6,
            "machine.time_per_flop": -0.001,
            "machine.leakage_power": 0.0,
        },
        alternatives=(
            Alternative({"machine": "jaketown"}, Status.OPTIMAL, 7421.1),
            Alternative({"machine": "arm"}, Status.INFEASIBLE, None, {"time": 1.0}),
        ),
        certificate="duality proves the bound",
        solver="interior point",
        seconds=0.0031,
        objective_name="energy",
        units=UNITS,
        title="Least energy",
    )


@pytest.fixture
def infeasible() -> Solution:
    return Solution(
        Status.INFEASIBLE,
        limits={
            "time": LimitState(NAN, 0.7297, "max", "s", NAN, binding=False),
            "memory": LimitState(NAN, 1e9, "max", "word", NAN, binding=False),
        },
        conflict={"time": 0.73094213, "memory": None, "one_copy": 1.0213},
        conflicts=(("time", "memory", "one_copy"), ("time", "power")),
        units=UNITS,
        title="Too much at once",
    )


def lines_with(solution: Solution, start: str) -> list[str]:
    return [
        " ".join(line.split())
        for line in to_text(solution, 160).splitlines()
        if line.strip().startswith(start)
    ]


def test_an_optimum_tells_everything_a_reader_needs(optimal: Solution):
    text = to_text(optimal, 160)
    assert text.startswith("Least energy\n")
    assert "optimal: optimality gap ≤ 9e-09" in text
    assert "least energy 7.42112 kJ" in lines_with(optimal, "least energy")
    assert "duality proves the bound" in text
    assert lines_with(optimal, "processors")[0] == "processors 6000.25 6000.25 to 8000"
    assert "efficiency 2.2 GFLOPS/W" in lines_with(optimal, "efficiency")
    assert lines_with(optimal, "time")[1] == "time ≤ 729.7 ms 729.7 ms binding -0.7 %/%"
    assert lines_with(optimal, "power.min")[0].endswith("+0.2 %/% (relaxing only)")
    assert lines_with(optimal, "processors")[1].endswith("next change at 7: energy 7 kJ")
    assert lines_with(optimal, "one_copy") == ["one_copy model's own 83 % used 17 %"]
    assert lines_with(optimal, "machine.") == [
        "machine.energy_per_flop +0.6 %/%",
        "machine.time_per_flop -0.001 %/%",
    ]
    assert lines_with(optimal, "arm") == ["arm infeasible unless time ≤ 1 s"]
    assert "jaketown 7.4211 kJ optimal (chosen)" in lines_with(optimal, "jaketown")


def test_the_sensitivity_of_a_maximised_objective_has_its_own_sign(optimal: Solution):
    most = dataclasses.replace(optimal, maximize=True, objective_name="performance")
    state = LimitState(1.0, 1.0, "max", "W", 0.0, binding=True, elasticity=0.5)
    assert words.buys(most, state) == "+0.5 %/%"
    assert "greatest performance" in to_text(most)


def test_a_conflict_says_what_would_do(infeasible: Solution):
    text = to_text(infeasible, 160)
    assert "infeasible: no design satisfies all limits" in text
    assert lines_with(infeasible, "time") == ["time ≤ 731 ms (asked: ≤ 729.7 ms)"]
    expected = "memory no value of it alone: time and power also conflict (asked: ≤ 1 Gword)"
    assert lines_with(infeasible, "memory") == [expected]
    assert lines_with(infeasible, "one_copy") == [
        "one_copy the model's own limit, missed by a factor of 1.0213"
    ]


def test_whole_numbers_in_a_conflict_are_called_that():
    """A part of a block is no way out, and is not told as one."""
    needed = {"count.a": 0.503626, "cache": 3000.0}
    clash = Solution(
        Status.INFEASIBLE, conflict=needed, units={"count.a": "", "cache": "B"}, whole=("count.a",)
    )
    assert words.conflict(clash) == [
        ("count.a", "0.503626, if fractions were allowed"),
        ("cache", "3 kB, if any value were allowed"),
    ]


def test_a_conflict_of_the_lower_side_is_told_from_the_upper(infeasible: Solution):
    both = {
        "power": LimitState(NAN, 100.0, "max", "W", NAN, binding=False),
        "power.min": LimitState(NAN, 50.0, "min", "W", NAN, binding=False),
    }
    low = dataclasses.replace(infeasible, limits=both, conflict={"power": 40.0}, conflicts=(("power",),))
    assert lines_with(low, "power") == ["power ≥ 40 W (asked: ≥ 50 W and ≤ 100 W)"]
    high = dataclasses.replace(low, conflict={"power": 120.0})
    assert lines_with(high, "power") == ["power ≤ 120 W (asked: ≤ 100 W and ≥ 50 W)"]


@settings(deadline=None)  # the first example loads pint
@given(st.floats(1e-12, 1e12), st.floats(1e-9, 3.0), st.sampled_from(["max", "min"]))
def test_a_value_that_would_do_still_does_when_typed_in(asked: float, off: float, side: str):
    from dse.quantities import to_si

    needed = asked * (1 + off) if side == "max" else asked / (1 + off)
    state = LimitState(NAN, asked, side, "W", NAN, binding=False)
    solution = Solution(Status.INFEASIBLE, limits={"power": state}, conflict={"power": needed}, units=UNITS)
    shown = (
        dict(words.conflict(solution))["power"].partition(" (asked")[0].removeprefix("≤ ").removeprefix("≥ ")
    )
    typed = to_si(shown, "W")
    # limits hold to 1e-8 relative, the last digits of a float are not the point
    assert typed >= needed * (1 - 1e-11) if side == "max" else typed <= needed * (1 + 1e-11)
    assert typed == pytest.approx(needed, rel=2e-3)


@pytest.mark.parametrize(
    ("solution", "said"),
    [
        (
            Solution(Status.UNBOUNDED, runaway="machine.energy_per_flop"),
            "unbounded in  machine.energy_per_flop",
        ),
        (Solution(Status.ERROR, message="gave up after 60 s"), "gave up after 60 s"),
        (Solution(Status.EVALUATED, objective=2.0, objective_name="time", units=UNITS), "time    2 s"),
        (
            Solution(Status.FEASIBLE, 10.0, 9.0, 0.1, objective_name="energy", units=UNITS),
            "at least 9 J (gap 10 %)",
        ),
        (Solution(Status.OPTIMAL, waived=("replication",)), "limits replication (as asked)"),
        (Solution(Status.OPTIMAL, outside={"message_share": 420819.1}), "message_share 420819, at most 1"),
    ],
)
def test_each_status_has_its_words(solution: Solution, said: str):
    assert said in to_text(solution)
    assert str(solution) == to_text(solution)


def test_text_keeps_to_its_width(optimal: Solution):
    assert max(map(len, to_text(optimal, 60).splitlines())) <= 60


def test_text_from_a_file_stays_text(optimal: Solution):
    nasty = '[red]<script>alert(1)</script>[/red] & "quotes"'
    solution = dataclasses.replace(optimal, title=nasty, certificate=nasty, variables={nasty: nasty})
    page = solution._repr_html_()
    assert "<script>" not in page
    assert "[red]&lt;script&gt;alert(1)&lt;/script&gt;[/red] &amp; &quot;quotes&quot;" in page
    assert nasty in to_text(solution, 200)


def test_html_is_well_formed(optimal: Solution, infeasible: Solution):
    from xml.etree import ElementTree as Tree

    for solution in (optimal, infeasible):
        cells = [c.text for c in Tree.fromstring(to_html(solution)).iter("td")]
        assert len(cells) > 5
    assert "7.42112 kJ" in to_html(optimal)


def test_printing_to_a_file_has_no_colours(optimal: Solution, capsys: pytest.CaptureFixture[str]):
    show(renderable(optimal))
    page = capsys.readouterr().out
    assert "\x1b" not in page
    assert "optimal" in page


def test_json_has_the_agreed_shapes(optimal: Solution):
    found = json.loads(json.dumps(to_json(optimal), allow_nan=False))
    assert found["status"] == "optimal"
    assert (found["objective"], found["bound"], found["gap"]) == (7421.123456, 7421.12339, 9e-9)
    assert found["variables"] == {"processors": 6000.25, "memory": 12345678.0, "machine": "jaketown"}
    assert found["metrics"]["power"] == 10170.1
    assert found["limits"]["time"]["elasticity"] == -0.7
    assert found["limits"]["time"]["binding"] is True
    assert found["limits"]["power"]["side"] == "max"
    assert found["limits"]["power.min"]["side"] == "min"
    assert found["ranges"] == {"processors": [6000.25, 8000.0]}
    assert found["alternatives"][1] == {
        "choice": {"machine": "arm"},
        "status": "infeasible",
        "objective": None,
        "conflict": {"time": 1.0},
    }
    assert found["units"]["efficiency"] == "flop/J"
    assert {"certificate", "solver", "seconds", "scenario", "conflict"} <= set(found)


def test_json_has_no_nan_and_no_infinity(infeasible: Solution):
    wild = dataclasses.replace(infeasible, bound=float("-inf"), metrics={"time": float("inf"), "power": NAN})
    found = json.loads(json.dumps(to_json(wild), allow_nan=False))
    assert found["limits"]["time"] == {
        "value": None,
        "bound": 0.7297,
        "side": "max",
        "slack": None,
        "binding": False,
        "elasticity": None,
        "one_sided": False,
        "next_change": None,
        "next_objective": None,
    }
    assert found["bound"] is None
    assert found["metrics"] == {"time": None, "power": None}
    assert found["conflict"] == {"time": 0.73094213, "memory": None, "one_copy": 1.0213}
    assert found["conflicts"] == [["time", "memory", "one_copy"], ["time", "power"]]


def test_json_takes_numpy_numbers():
    import numpy as np

    solution = Solution(
        Status.OPTIMAL, objective=np.float64(1.5), variables={"p": np.int64(3)}, gap=np.float32(0)
    )
    assert json.loads(json.dumps(to_json(solution)))["variables"] == {"p": 3}


def test_choices_stand_beside_the_chosen_one(optimal: Solution):
    """How many times its objective the others have; nothing where one has none."""
    others = (
        Alternative({"machine": "jaketown"}, Status.OPTIMAL, 7421.1),
        Alternative({"machine": "arm"}, Status.OPTIMAL, 22263.3),
        Alternative({"machine": "wasp"}, Status.INFEASIBLE, None, {"time": 1.0}),
    )
    told = dataclasses.replace(optimal, alternatives=others)
    assert lines_with(told, "choice") == ["choice energy ratio to the chosen remark"]
    assert lines_with(told, "arm") == ["arm 22.2633 kJ 3 times optimal"]
    assert lines_with(told, "wasp") == ["wasp infeasible unless time ≤ 1 s"]


def test_a_models_own_limit_in_a_conflict_says_what_it_means(infeasible: Solution):
    told = dataclasses.replace(infeasible, meanings={"one_copy": "all memory holds the data once"})
    (line,) = lines_with(told, "one_copy")
    assert (
        line == "one_copy all memory holds the data once; the model's own limit, missed by a factor of 1.0213"
    )


def test_a_limit_that_cannot_be_met_by_itself_is_told_as_such(infeasible: Solution):
    alone = dataclasses.replace(infeasible, conflicts=(("time", "memory", "one_copy"), ("clock",)))
    (line,) = lines_with(alone, "memory")
    assert line.endswith("no value of it alone: clock cannot be met either (asked: ≤ 1 Gword)")


def test_of_many_choices_the_best_are_printed(optimal: Solution):
    others = tuple(Alternative({"machine": f"m{k}"}, Status.OPTIMAL, 7421.1 * (40 - k)) for k in range(40))
    told = to_text(dataclasses.replace(optimal, alternatives=others))
    assert "the 24 best; 16 more in --json" in told
    assert "m39" in told
    assert "m15" not in told


def test_a_count_with_a_fraction_is_said_to_need_not_be_whole():
    asked = {
        "model": "nbody",
        "machine": "jaketown",
        "given": {"bodies": 1e6, "flops_per_pair": 20},
        "decide": {"processors": {"max": 4096}, "memory": {}},
        "objective": {"minimize": "processors"},
        "limits": {"time": {"max": "0.5 s"}},
    }
    told = "note processors need not be whole here: integer = true asks for whole numbers"
    found = dse.solve(asked)
    assert isinstance(found.variables["processors"], float)
    assert not found.variables["processors"].is_integer()
    assert told in " ".join(str(found).split())
    assert "need not be whole" in str(answer_files.from_json(to_json(found)))
    whole = {**asked, "decide": {"processors": {"max": 4096, "integer": True}, "memory": {}}}
    assert "need not be whole" not in str(dse.solve(whole))
    # memory is no count of things, and of one processor there is no fraction
    one = {**asked, "decide": {"processors": {"max": 1}, "memory": {}}, "limits": {}}
    assert "need not be whole" not in str(dse.solve(one))
