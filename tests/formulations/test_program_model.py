"""Pyomo's own path to HiGHS agrees with the direct one, and files written for other solvers can be read."""

import itertools
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_questions import kinds, regions, toy
from pyomo.contrib.solver.common.factory import SolverFactory

import scenarios
from dse.models.arithmetic import differs, maximum, per, pick, some
from formulations.problem import formulate
from formulations.programs.program import Program, branch_count, program
from formulations.pyomo_models.model_files import NotLinear, write, written_goal
from formulations.pyomo_models.program_model import goal_in_si, is_ratio, labels, pyomo_program
from formulations.pyomo_models.user_model import user_model
from results.solution import Status
from scenarios.question import Decision, Limit, Objective, Question
from scenarios.questions import question
from solvers.linear import programs

SEED = st.integers(0, 10**6)


def least(p: Program, ratio: float | None) -> tuple[float, dict[str, float]] | None:
    """The least of what the model minimises, SI, and its variables, by Pyomo's interface to HiGHS."""
    m = pyomo_program(p, ratio)
    found = SolverFactory("highs").solve(
        m,
        rel_gap=1e-9,
        threads=1,
        load_solutions=False,
        raise_exception_on_nonoptimal_result=False,
        solver_options={
            "primal_feasibility_tolerance": 1e-9,
            "dual_feasibility_tolerance": 1e-9,
            "mip_feasibility_tolerance": 1e-9,
        },
    )
    if found.incumbent_objective is None:
        return None
    values = found.solution_loader.get_vars()
    at = {n: float(values[m.u[n]]) * m.scale[n] for n in m.u if m.u[n] in values}
    return float(found.incumbent_objective) * m.goal_scale, at


def agree(q: Question) -> None:
    """The optimum of the direct path is what Pyomo's path finds."""
    p = program(q)
    mine = programs.optimise(p)
    best = mine.best
    ratio = best.value if best is not None and is_ratio(p) else None
    if is_ratio(p) and ratio is None:
        ratio = 0.0
    found = least(p, ratio)
    if mine.outcome.status is Status.INFEASIBLE:
        assert found is None
        return
    assert mine.outcome.status is Status.OPTIMAL
    assert best is not None
    assert best.u is not None
    assert p.goal is not None
    assert p.under is not None
    assert found is not None
    value = found[0]
    if is_ratio(p):
        # numerator - ratio * denominator is least, 0, at the least ratio
        assert abs(value) <= 1e-7 * abs(float(p.goal @ best.u))
    elif p.under[:-1].any():
        assert -1.0 / value == pytest.approx(best.value, rel=1e-7)
    else:
        assert value == pytest.approx(best.value, rel=1e-7)


@settings(max_examples=10, deadline=None)
@given(seed=SEED, whole=st.booleans(), most=st.booleans(), goal=st.sampled_from(["time", "energy", "power"]))
def test_partitions_agree(seed: int, whole: bool, most: bool, goal: str) -> None:
    share = regions(seed, 4, 3)
    allowed = float(np.quantile(share.every()["time"], 0.2))
    most = most and goal == "power"
    agree(share.question(goal, Limit("time", maximum=allowed), whole=whole, maximize=most))


@settings(max_examples=8, deadline=None)
@given(seed=SEED, free=st.booleans(), goal=st.sampled_from(["performance", "energy", "time", "efficiency"]))
def test_blocks_agree(seed: int, free: bool, goal: str) -> None:
    system = kinds(seed, 4)
    limits = [Limit("nameplate_power", maximum=1500.0), Limit("block_types", maximum=2.0)]
    most = goal in ("performance", "efficiency")
    how = "free" if free else "proportional"
    agree(system.question(goal, *limits, maximize=most, sharing=how, fixed_power=30.0))


@settings(max_examples=13, deadline=None)
@given(seed=SEED, goal=st.sampled_from(["time", "energy", "top", "mean"]), most=st.booleans())
def test_menus_maxima_and_indicators_agree(seed: int, goal: str, most: bool) -> None:
    r = np.random.default_rng(seed)
    t, e = r.uniform(1.0, 5.0, (3, 3)), r.uniform(1.0, 9.0, (3, 3))

    def run(g: Any) -> dict[str, Any]:
        picks = (g.a, g.b, g.c)
        moved = sum((differs(x, y) for x, y in itertools.pairwise(picks)), 0.0)
        time = sum(pick(s, v) for s, v in zip(picks, t, strict=True)) + 0.3 * moved + 0.5 * g.x
        energy = sum(pick(s, v) for s, v in zip(picks, e, strict=True)) + moved + 2.0 * some(g.x) - 2.0 * g.x
        top = maximum(*(pick(s, v) for s, v in zip(picks, e, strict=True)), 3.0 * g.x)
        return {"time": time, "energy": energy + 20.0, "top": top, "mean": per(energy + 20.0, time)}

    decide = {n: Decision(n, integer=True, values=(1.0, 2.0, 3.0)) for n in "abc"} | {"x": Decision("x")}
    limits = [Limit("time", maximum=11.0), Limit("top", maximum=8.0)]
    # something would gain from the indicator where energy is maximised
    most = most and goal in ("time", "top")
    agree(toy(run, decide, goal, maximize=most, limits=limits, tops={"x": 2.0}))


def test_variables_and_constraints_carry_names() -> None:
    q = regions(1, 2, 3).question("energy", Limit("time", maximum=50.0, minimum=0.1))
    p = program(q)
    m = pyomo_program(p)
    assert set(m.limits) == {("time", "max"), ("time", "min"), ("whole.r0", "model"), ("whole.r1", "model")}
    assert [n for n in m.u if n.startswith("share")] == [d.name for d in q.decide]
    assert {n for n in m.u if not n.startswith("share")} == {"largest_1"}
    assert [name for name, _ in m.definitions] == ["largest_1"] * 6
    assert len(m.component("largest largest_1").disjuncts) == 6
    # one row each over a binary variable, beside the row that one of them holds
    assert sum(1 for _ in m.component_data_objects(pyo.Var, descend_into=True) if _.is_binary()) >= 6


@settings(max_examples=12, deadline=None)
@given(seed=SEED, goal=st.sampled_from(["time", "energy"]), share=st.floats(0.5, 1.5))
def test_a_search_chooses_the_largest_term_as_one_program_for_each_does(
    seed: int, goal: str, share: float
) -> None:
    """A run within a power cap gains from a longer time, which is the largest of six terms."""
    every = regions(seed, 3, 3).every()
    cap = Limit("power", maximum=share * float(np.median(every["power"])))
    q = regions(seed, 3, 3).question(goal, cap)
    apart, searched = program(q), program(q, searched=True)
    assert branch_count(apart) == 6
    assert branch_count(searched) == 1
    one, other = (programs.optimise(p).outcome for p in (apart, searched))
    assert one.status is other.status
    assert one.x == pytest.approx(other.x)
    met = every["power"] <= cap.maximum * (1 + 1e-9)
    assert (other.status is Status.OPTIMAL) == met.any()
    if met.any():
        assert other.bound == pytest.approx(every[goal][met].min())


def test_a_largest_term_without_an_end_is_taken_in_turn() -> None:
    """No row can hold a maximum at a term that has no end."""

    def run(g: Any) -> dict[str, Any]:
        return {"spent": g.x + 9.0 * g.n, "top": maximum(*(k * g.x + g.n for k in (1.0, 2.0, 3.0, 4.0, 5.0)))}

    decide = {"x": Decision("x"), "n": Decision("n", integer=True)}
    p = program(toy(run, decide, "spent", limits=[Limit("top", minimum=15.0)]), searched=True)
    assert branch_count(p) == 5
    assert programs.optimise(p).outcome.x == pytest.approx({"x": 3.0, "n": 0.0})


def test_entries_have_the_names_of_the_menu() -> None:
    def run(g: Any) -> dict[str, Any]:
        return {"time": pick(g.a, (1.0, 2.0)) + differs(g.a, g.b) + some(g.x)}

    decide = {n: Decision(n, integer=True, values=(1.0, 2.0)) for n in "ab"} | {"x": Decision("x")}
    p = program(toy(run, decide, "time", tops={"x": 3.0}))
    assert set(labels(p)) == {
        "a = m1.0",
        "a = m2.0",
        "b = m1.0",
        "b = m2.0",
        "x",
        "a differs from b",
        "any_1",
    }
    m = pyomo_program(p)
    assert ("a", 1) in m.definitions
    assert ("b", 1) in m.definitions
    # two more where something gains from a difference
    assert len([k for k in m.definitions if k[0] == "a differs from b"]) == 2
    gains = toy(lambda g: {"time": pick(g.a, (1.0, 2.0)) + 2.0 - differs(g.a, g.b)}, decide, "time")
    more = pyomo_program(program(gains)).definitions
    assert len([k for k in more if k[0] == "a differs from b"]) == 4


def test_a_ratio_stands_as_it_is_or_with_its_value() -> None:
    q = regions(2, 2, 2).question("power", whole=False)
    p = program(q)
    assert is_ratio(p)
    quotient = pyomo_program(p)
    assert quotient.objective.expr.polynomial_degree() is None
    linear = pyomo_program(p, ratio=100.0)
    assert linear.objective.expr.polynomial_degree() == 1
    for m in (quotient, linear):
        for n in m.u:
            m.u[n].set_value(0.4 / m.scale[n])
    u = np.append(np.full(len(p.columns), 0.4), 1.0)
    assert pyo.value(quotient.objective) == pytest.approx(float(p.goal @ u) / float(p.under @ u))  # type: ignore[operator]
    found = pyo.value(linear.objective) * linear.goal_scale
    assert found == pytest.approx(float(p.goal @ u) - 100.0 * float(p.under @ u))  # type: ignore[operator]


def test_the_model_of_a_problem_is_that_of_its_program() -> None:
    m = user_model(formulate(regions(1, 2, 2).question("time")))
    assert "share.r0.p0" in m.u
    assert m.component("share.r0.p0") is m.decided["share.r0.p0"].variable


def test_a_written_file_is_readable_and_solved_by_itself(tmp_path: Path) -> None:
    q = regions(7, 3, 2).question("energy", Limit("time", maximum=30.0))
    problem = formulate(q)
    file = tmp_path / "energy.lp"
    write(problem, file, "lp")
    text = file.read_text()
    for name in ("u(_share_r0_p0_)", "limits(time_max)", "definitions(largest_1_1)", "u(largest_1)"):
        assert name in text, name
    numbers = [abs(float(n)) for n in re.findall(r"[+-]\d\S*", text)]
    assert max(n for n in numbers if n < 1e20) < 1e4
    import highspy

    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.readModel(str(file))
    h.run()
    m = pyomo_program(program(q))
    best = programs.optimise(program(q)).best
    assert best is not None
    assert h.getInfo().objective_function_value * m.goal_scale == pytest.approx(best.value, rel=1e-7)
    assert text.startswith(f"\\* objective in SI = {m.goal_scale!r} * that of the file *\\\n")
    assert written_goal(problem) in text


@pytest.mark.parametrize("form", ["lp", "gams", "nl"])
def test_names_that_differ_in_signs_which_files_cannot_hold_are_told_apart(form: str, tmp_path: Path) -> None:
    of = ({"flops": "20 Gflop", "bytes": "430 MB"}, {"flops": "3 Gflop", "bytes": "10 GB"})
    asked = {
        "model": "partition",
        "machine": {"cpu": "i7-2600k", "gpu": "gtx-titan-tang2017"},
        "given": {
            "regions": [
                {"name": n} | w for n, w in zip(("step 1", "step-1", "step_1"), (*of, of[0]), strict=True)
            ]
        },
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": "90 ms"}},
    }
    problem = formulate(question(scenarios.load(asked)))
    write(problem, tmp_path / f"p.{form}", form)
    assert (tmp_path / f"p.{form}").stat().st_size > 1000
    if form == "lp":
        import highspy

        h = highspy.Highs()
        h.setOptionValue("output_flag", False)
        h.readModel(str(tmp_path / "p.lp"))
        h.run()
        p = program(problem.question)
        best = programs.optimise(p).best
        assert best is not None
        at = h.getInfo().objective_function_value * pyomo_program(p).goal_scale
        assert at == pytest.approx(best.value, rel=1e-7)


def test_a_file_that_is_not_written_to_its_end_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Any, file: str, **_: Any) -> None:
        Path(file).write_text("min")
        raise RuntimeError("no more")

    monkeypatch.setattr(pyo.ConcreteModel, "write", broken)
    problem = formulate(regions(1, 2, 2).question("time"))
    with pytest.raises(RuntimeError, match="no more"):
        write(problem, tmp_path / "p.lp", "lp")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("form", ["x", "1/x"])
def test_what_is_said_of_the_scale_gives_the_objective_back(form: str, maximize: bool) -> None:
    def run(g: Any) -> dict[str, Any]:
        work = 300.0 * g.x + 50.0
        return {"time": work if form == "x" else per(7.0, work)}

    q = toy(run, {"x": Decision("x", 0.25, 0.5)}, "time")
    q = replace(q, objectives=(Objective("time", maximize),))
    p = program(q)
    m = pyomo_program(p)
    x = 0.25
    m.u["x"].set_value(x / m.scale["x"])
    at_file = goal_in_si(p).removeprefix("objective in SI = ").replace("that of the file", "v")
    assert eval(at_file, {"v": pyo.value(m.objective)}) == pytest.approx(run(SimpleNamespace(x=x))["time"])


@pytest.mark.parametrize("form", ["lp", "nl", "gams"])
def test_all_branches_are_in_one_file(form: str, tmp_path: Path) -> None:
    q = regions(7, 1, 2).question("energy", Limit("time", minimum=0.045))
    problem = formulate(q)
    assert branch_count(program(q)) == 4
    write(problem, tmp_path / f"p.{form}", form)
    assert (tmp_path / f"p.{form}").stat().st_size > 150
    if form == "lp":
        import highspy

        h = highspy.Highs()
        h.setOptionValue("output_flag", False)
        h.readModel(str(tmp_path / "p.lp"))
        h.run()
        best = programs.optimise(program(q)).best
        assert best is not None
        scale = pyomo_program(program(q)).goal_scale
        assert h.getInfo().objective_function_value * scale == pytest.approx(best.value, rel=1e-7)


def test_a_ratio_is_linear_only_with_its_value(tmp_path: Path) -> None:
    problem = formulate(regions(7, 2, 2).question("power", whole=False))
    with pytest.raises(NotLinear, match="ratio"):
        write(problem, tmp_path / "p.lp", "lp")
    write(problem, tmp_path / "p.lp", "lp", ratio=50.0)
    write(problem, tmp_path / "p.nl", "nl")
    assert (tmp_path / "p.lp").stat().st_size > 150
