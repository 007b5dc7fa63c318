"""Fitted models: their files, read strictly, and what their function gives on every arithmetic."""

from __future__ import annotations

import contextlib
import math
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import dse
import formulations.pyomo_models.pyomo_model  # noqa: F401  (teaches maximum what a Pyomo expression is)
from dse import models
from dse.models.described.fitted import Column, Derived, Facet, Fitted, Term, fit_of
from dse.models.described.fitted import model as model_of
from dse.models.described.model_files import ModelFileError, read, shipped
from dse.models.described.model_text import written
from dse.papers import clock_model
from formulations.arithmetics.intervals import Interval
from formulations.arithmetics.posynomial import Ratio, symbol
from formulations.grids import batch
from formulations.problem import formulate
from formulations.row_keys import RowKey
from scenarios import from_text, grid, load
from scenarios.language.errors import ScenarioError
from scenarios.language.scenario import Scenario
from solvers.answer import answer

TERMS = (
    Term(5e-6, {}, 1),
    Term(4e-15, {"m": 1.0, "n": 1.0, "k": 1.0}, 2),
    Term(2e-12, {"m": 0.8, "n": 1.0}, 3),
    Term(3e-12, {"n": 1.0, "k": 0.9}, 3),
)
AT = {"m": 200.0, "n": 3000.0, "k": 512.0}


def fitted(form: str, **more: Any) -> Fitted:
    terms = TERMS if form != "posynomial" else tuple(Term(t.coefficient, t.exponents) for t in TERMS)
    about: dict[str, Any] = {
        "name": "gemm",
        "target": "latency",
        "unit": "s",
        "columns": tuple(Column(n, "", 1.0, 1e5) for n in "mnk"),
        "form": form,
        "terms": terms,
        "source": "a test",
        "sharpness": 2.5 if form == "softmax" else math.inf,
        "derived": (Derived("rate", "flop/s", (Term(2.0, {"m": 1, "n": 1, "k": 1, "latency": -1}),)),),
        "error": {"split": "5 folds", "mean": 0.05, "confidence": 0.9, "low": 0.8, "high": 1.25},
        "residuals": tuple(round(0.004 * i, 4) for i in range(-50, 51)),
    }
    return Fitted(**(about | more))


def by_hand(form: str, at: dict[str, float]) -> float:
    parts = [t.coefficient * math.prod(at[n] ** e for n, e in t.exponents.items()) for t in TERMS]
    groups = [parts[0], parts[1], parts[2] + parts[3]]
    if form == "posynomial":
        return sum(parts)
    return max(groups) if form == "max" else sum(g**2.5 for g in groups) ** (1 / 2.5)


@pytest.mark.parametrize("form", ["posynomial", "softmax", "max"])
def test_the_function_is_what_the_file_says_on_every_arithmetic(form: str):
    fit = fitted(form)
    wanted = by_hand(form, AT)
    assert fit.value(AT) == pytest.approx(wanted, rel=1e-12)
    many = {n: np.array([v, 2 * v]) for n, v in AT.items()}
    assert fit.value(many)[0] == pytest.approx(wanted, rel=1e-12)
    box = fit.value({n: Interval(0.9 * v, 1.1 * v) for n, v in AT.items()})
    assert float(box.lo) <= wanted <= float(box.hi)
    block = pyo.ConcreteModel()
    block.x = pyo.Var(list(AT), initialize=AT)
    assert pyo.value(fit.value({n: block.x[n] for n in AT})) == pytest.approx(wanted, rel=1e-12)
    if form == "posynomial":
        ratio = fit.value({n: symbol(n) for n in AT})
        assert isinstance(ratio, Ratio)
        assert ratio.numerator(**AT) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("form", ["posynomial", "softmax", "max"])
def test_a_file_says_all_of_a_fit_and_is_identified_by_what_it_holds(form: str):
    fit = fitted(form, hull=(Facet({"m": 1.0, "n": -0.5}, 1e4),), notes="two\nlines", title='with "quotes"')
    text = written(fit, ("a comment",))
    again = read(text, "a.toml")
    names = [n for n in fit.__slots__ if n != "digest"]
    assert {n: getattr(again, n) for n in names} == {n: getattr(fit, n) for n in names}
    assert again.digest == read(text, "elsewhere.toml").digest != read(text + "\n", "a.toml").digest


GOOD = written(fitted("softmax"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("format = 1", "format = 2", "it must say format = 1"),
        ('form   = "softmax"', 'form   = "spline"', "form is one of posynomial, softmax, max"),
        ("sharpness = 2.5", "sharpness = 0.5", "sharpness = 0.5 is out of range"),
        ("sharpness = 2.5", "sharpnes = 2.5", "did you mean 'sharpness'"),
        ('name = "latency"', 'name = "m"', "is given twice"),
        ('name = "latency"', 'name = "machine"', "is a reserved name"),
        ('name = "latency"', 'name = "__import__(1)"', "is a name of letters"),
        ('unit = "s"', 'unit = "ms"', "is not an SI unit"),
        ('unit = "s"', 'unit = "parsec"', "unknown unit"),
        *(
            ('unit = "s"', f'unit = "{u}"', f"'{u}' is not a unit")
            for u in ("1,5 s", "3 s", "5", "１０ s", " s")
        ),
        ("least = 1.0", "least = 0", "out of range"),
        ("least = 1.0", "least = 1e6", "least is above greatest"),
        ("least = 1.0", 'least = "1"', "is a number, not"),
        ("least = 1.0", "least = nan", "out of range"),
        ("coefficient = 5e-06", "coefficient = -5e-06", "out of range"),
        ("coefficient = 5e-06", "coefficient = true", "is a number, not true"),
        ("exponents = { m = 0.8, n = 1.0 }", "exponents = { q = 1.0 }", "there is no column"),
        ("exponents = { m = 0.8, n = 1.0 }", "exponents = { m = 400 }", "out of range"),
        ("exponents = { m = 0.8, n = 1.0 }", "exponents = [1]", "is a table such as"),
        ("group = 3", "group = 5", "without gaps"),
        ("group = 3", "group = -1", "is a whole number"),
        ("low = 0.8", "low = 2.0", "two ends of an interval"),
        ("mean = 0.05", 'mean = "5 %"', "error.mean is a number"),
        ("confidence = 0.9", "confidence = 1.9", "error.confidence = 1.9 is out of range"),
        ("least = 1.0\n", "", "least is missing: it is a number"),
        ("-0.2", "0.9", "from the least to the greatest"),
        ('source = "a test"', 'source = "a\\u001b[31m"', "control characters"),
        ("[target]", "[targets]", "[target] is missing"),
        ("= 5e-06", "= = 5e-06", "not valid TOML"),
        ('name = "rate"', 'name = "latency_high"', "is given twice"),
        ("coefficient = 4e-15", "coefficient = 1e299", "is not a number"),
    ],
)
def test_a_file_is_read_strictly(old: str, new: str, said: str):
    assert old in GOOD
    with pytest.raises(ModelFileError, match=r"model file x\.toml") as caught:
        read(GOOD.replace(old, new), "x.toml")
    assert said in str(caught.value)


@pytest.mark.parametrize("given", ["[1, 2]", "[2, 1, nan]", '"none"'])
def test_errors_on_runs_held_out_are_101_quantiles(given: str):
    bad = re.sub(r"(?s)residuals = \[.*?\]", f"residuals = {given}", GOOD)
    with pytest.raises(
        ModelFileError, match=r"error\.residuals is a list of 101 evenly spaced quantiles"
    ) as caught:
        read(bad, "x.toml")
    assert len(caught.value.problems) == 1


def test_everything_that_is_wrong_is_told_at_once():
    bad = GOOD.replace("sharpness = 2.5", "sharpness = 0.5").replace("least = 1.0", "least = -1")
    with pytest.raises(ModelFileError) as caught:
        read(bad.replace("low = 0.8", 'low = "a"'), "x.toml")
    assert len(caught.value.problems) == 5


@pytest.mark.parametrize("cut", range(0, len(GOOD), 97))
def test_a_file_that_was_cut_off_is_refused_or_read_and_never_a_traceback(cut: int):
    with contextlib.suppress(ModelFileError):
        read(GOOD[:cut], "x.toml")


def test_a_machine_file_is_not_taken_for_a_model():
    with pytest.raises(ModelFileError, match="name it under machine"):
        read("[parameters.time_per_flop]\nvalue = 1.0\n", "x.toml")


QUESTION = """
model = "./gemm.toml"
[given]
n = 4096
k = 1024
[decide]
m = {{ min = 4 }}
[objective]
{objective}
[limits]
{limits}
"""


def question(folder: Path, form: str, objective: str, limits: str = "", top: str = "") -> Scenario:
    (folder / "gemm.toml").write_text(written(fitted(form)), encoding="utf-8")
    file = folder / "ask.toml"
    file.write_text(top + QUESTION.format(objective=objective, limits=limits), encoding="utf-8")
    return load(file)


KINDS = [
    ('minimize = "latency"', "", "GP"),
    ('maximize = "m"', "latency = { max = 1e-4 }", "GP"),
    ('maximize = "rate"', "latency_high = { max = 1e-4 }", "GP"),
    ('minimize = "m"', "latency = { min = 1e-4 }", "NLP"),
    ('maximize = "latency"', "m = { max = 500 }", "NLP"),
]


@pytest.mark.parametrize("form", ["posynomial", "softmax"])
@pytest.mark.parametrize(("objective", "limits", "kind"), KINDS)
def test_what_pushes_down_stays_a_geometric_program_and_all_else_is_proved_too(
    form: str, objective: str, limits: str, kind: str, tmp_path: Path
):
    asked = question(tmp_path, form, objective, limits)
    assert formulate(grid(asked).question(())).kind == kind
    found = dse.solve(asked)
    assert found.status == "optimal"
    # by hand: on a fine grid of m nothing that keeps the limits is better
    m = np.geomspace(4, 1e5, 20001)
    y = np.array([by_hand(form, {"m": v, "n": 4096.0, "k": 1024.0}) for v in m])
    at = {"m": m, "latency": y, "latency_high": 1.25 * y, "rate": 2 * m * 4096 * 1024 / y}
    way, _, name = objective.replace('"', "").partition(" = ")
    keeps = np.ones(m.size, bool)
    for limit in filter(None, [limits]):
        of, _, rest = limit.partition(" = ")
        side, value = rest.strip("{} ").split(" = ")
        keeps &= at[of] >= float(value) if side == "min" else at[of] <= float(value)
    best = at[name][keeps].min() if way == "minimize" else at[name][keeps].max()
    assert found.objective == pytest.approx(best, rel=1e-3)
    assert found.objective <= best * (1 + 1e-9) if way == "minimize" else found.objective >= best * (1 - 1e-9)


def test_a_maximum_gets_a_variable_of_its_own(tmp_path: Path):
    found = dse.solve(question(tmp_path, "max", 'maximize = "m"', "latency = { max = 1e-4 }"))
    assert found.status == "optimal"
    at = {"m": found.objective, "n": 4096.0, "k": 1024.0}
    assert by_hand("max", at) == pytest.approx(1e-4, rel=1e-6)


def test_the_range_of_the_runs_binds_unless_it_is_waived(tmp_path: Path):
    held = dse.solve(question(tmp_path, "posynomial", 'maximize = "m"', "latency = { max = 1000 }"))
    assert held.variables["m"] == pytest.approx(1e5)
    assert "range of the measurements (measured_range.m.max)" in str(held)
    free = dse.solve(
        question(
            tmp_path, "posynomial", 'maximize = "m"', "latency = { max = 1000 }", 'waive = ["measured_range"]'
        )
    )
    assert free.status == "optimal"
    assert free.variables["m"] > 1e6
    assert "set aside" in str(free)
    one = question(
        tmp_path,
        "posynomial",
        'maximize = "m"',
        "latency = { max = 1000 }",
        'waive = ["measured_range.m.max"]',
    )
    assert grid(one).question(()).waive == {"measured_range.m.max"}


def test_a_given_value_beyond_the_runs_is_no_answer_and_named(tmp_path: Path):
    asked = question(tmp_path, "posynomial", 'minimize = "latency"')
    far = from_text(asked.text.replace("n = 4096", "n = 2e5"))
    found = dse.solve(far)
    assert found.status == "infeasible"
    assert list(found.conflict) == ["measured_range.n.max"]


@pytest.mark.parametrize("more", ["", 'n = "k - 1024"'])
def test_a_fitted_model_is_not_asked_at_0(more: str, tmp_path: Path):
    """A number that is given is refused at once; one that is computed is named."""
    (tmp_path / "gemm.toml").write_text(written(fitted("softmax")), encoding="utf-8")
    text = f'model = "./gemm.toml"\n[given]\nm = {int(bool(more))}\nk = 1024\n'
    (tmp_path / "ask.toml").write_text(text + (f"[define]\n{more}\n" if more else "n = 5\n"))
    if not more:
        with pytest.raises(ScenarioError, match=r"given.m: 0 is outside its domain[\s\S]*m .* is above 0"):
            load(tmp_path / "ask.toml")
        return
    with pytest.raises(
        ScenarioError, match=r"define.n: n of gemm is 0, and it was fitted to numbers above 0"
    ):
        load(tmp_path / "ask.toml")


def test_whole_columns_without_a_least_value_are_not_tried_at_0(tmp_path: Path):
    """Whole numbers were rounded to 0 near the lower end of their domain, and the question refused for it."""
    decide = "n = { integer = true, max = 100 }\n" + "".join(
        f"{x} = {{ min = 1, max = 5 }}\n" for x in ("one", "two", "three")
    )
    text = f'model = "./gemm.toml"\n[given]\nm = 2000\nk = 1024\n[decide]\n{decide}[define]\n'
    text += 'goal = "one + two + three + n"\n'
    (tmp_path / "gemm.toml").write_text(written(fitted("softmax")), encoding="utf-8")
    (tmp_path / "ask.toml").write_text(f'{text}[objective]\nminimize = "goal"\n')
    asked = load(tmp_path / "ask.toml")
    assert asked.define


def test_the_hull_is_a_limit_of_its_own():
    fit = fitted("posynomial", hull=(Facet({"m": 1.0, "n": 1.0}, 1e6),))
    model = model_of(fit)
    assert RowKey("measured_range.hull.1", "model").name in [x.name for x in model.limits]
    found = models.evaluate(model, {"m": 2000.0, "n": 1000.0, "k": 10.0})
    assert found["measured_range.hull.1"] == pytest.approx(2.0)


def test_a_stored_question_says_what_the_file_held(tmp_path: Path):
    asked = question(tmp_path, "posynomial", 'minimize = "latency"')
    assert "# model file" in asked.text
    again = from_text(asked.text)
    assert answer(grid(again).question(())).status == "optimal"
    path = tmp_path / "gemm.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("5e-06", "6e-06"), encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"model file .* has changed since this question was stored"):
        from_text(asked.text, folder=tmp_path)


def test_a_sweep_over_a_fitted_model_is_solved_like_one_over_a_written_one(tmp_path: Path):
    asked = question(tmp_path, "posynomial", 'maximize = "m"', "latency = { max = 1e-4 }")
    axis = '[sweep.t]\npath = "limits.latency.max"\nstart = 5e-5\nstop = 1e-3\nnum = 12\n'
    swept = from_text(f"{asked.text}\n{axis}")
    # what many points at once are solved as
    assert batch.structure(grid(swept).question((0,))) is not None
    found = dse.sweep(swept)
    assert (found["status"] == 1).all()
    for t, m in zip(found["t"].to_numpy(), found["m"].to_numpy(), strict=True):
        assert by_hand("posynomial", {"m": m, "n": 4096.0, "k": 1024.0}) == pytest.approx(t, rel=1e-6)


@pytest.mark.parametrize(
    ("text", "said"),
    [('model = "./none.toml"', "cannot be read"), ('model = "gemm-h10"', "did you mean 'gemm-h100'")],
)
def test_a_model_that_is_not_there_is_one_clear_message(text: str, said: str):
    with pytest.raises(ScenarioError, match=said):
        from_text(f'{text}\n[objective]\nminimize = "latency"\n')


def test_what_ships_is_the_fit_of_the_sample_that_ships():
    """To a percent: a search from several starts ends elsewhere in the last digits on another processor."""
    from dse.papers.gemm import comparison
    from dse.papers.gemm.shipped import made

    fit = fit_of(models.get("gemm-a100"))
    assert fit is not None
    columns = comparison.sample("a100").columns
    again = made("a100").fitted
    assert np.abs(again.value(columns) / fit.value(columns) - 1).max() < 0.01
    assert again.source == fit.source


@pytest.mark.parametrize("name", sorted(shipped()))
def test_what_ships_can_be_asked_and_says_where_it_comes_from(name: str):
    model = models.get(name)
    fit = fit_of(model)
    assert fit is not None
    assert "Apache-2.0" in model.source
    assert fit.error["mean"] < 0.09
    assert models.our_own(model)
    assert name in models.fitted_names()
    from scenarios import template

    assert dse.solve(from_text(template(name))).status == "optimal"


def test_the_clock_model_that_ships_is_the_fit_of_its_runs_and_near_them():
    """Every run within 4 % of power, time and energy by the model; least energy within a step of where theirs is."""
    lines = (files("dse.papers") / "data" / "clocks" / "clocks_a4000_fp32.csv").read_text().splitlines()[1:]
    clock, time, power = np.array([line.split(",") for line in lines], float).T * [[1e6], [1e-3], [1.0]]
    made = fit_of(models.get("fp32-a4000"))
    again = clock_model.made().fitted
    x = {"core_frequency": clock}
    assert np.allclose(made.value(x), again.value(x), rtol=1e-6)
    for name, measured in (("power", power), ("time", time), ("energy", time * power)):
        assert np.allclose(made.metric(name, x), measured, rtol=0.04), name
    best = dse.solve(
        {"model": "fp32-a4000", "decide": {"core_frequency": {}}, "objective": {"minimize": "energy"}}
    )
    assert best.status == "optimal"
    assert best.objective == pytest.approx((time * power).min(), rel=0.02)
    assert abs(best.variables["core_frequency"] - clock[(time * power).argmin()]) < 195e6
