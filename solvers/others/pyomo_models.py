"""The Pyomo door: models of a scenario to take to any solver, and designs that come back."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import scenarios
from dse.names import did_you_mean
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.open_axes import Axes, axes, loosest, opened
from formulations.problem import Kind, formulate
from formulations.pyomo_models.disjunctive import chosen, disjunctive
from formulations.pyomo_models.model_marks import Origin, changes, marks, values
from formulations.pyomo_models.user_model import FORMS, PLAIN, Open, user_model
from formulations.pyomo_models.user_variables import NoModel
from results.solution import Solution
from scenarios import Grid, Scenario
from scenarios.question import Question, combinations, fixed
from solvers import anchors
from solvers.answer import answer
from solvers.others import pyomo_answers, pyomo_solvers
from solvers.others.solver_errors import SolverError

MOST_MODELS = 200
AXIS_VALUE = 1e-9
Key = Any


class Models(dict[Key, Any]):
    """Models by what they are of: a chosen name, a value of an axis, or a tuple of them; ``why`` there are several."""

    why: str = ""


def models(
    asked: Scenario,
    form: str = PLAIN,
    choice: Mapping[str, str] | str | None = None,
    *,
    gdp: bool = False,
    tight: bool = True,
) -> Any:
    """Return the Pyomo model of a scenario, or Models where one cannot hold it; see ``dse.api.pyomo``."""
    if form not in FORMS:
        raise scenarios.ScenarioError.of(
            asked.file, "form", f"there is no form {form!r}", f"take {' or '.join(map(repr, FORMS))}"
        )
    grid = scenarios.grid(asked)
    first = grid.first
    if len(first.objectives) > 1:
        raise scenarios.ScenarioError.of(
            asked.file, "objective", "a Pyomo model has one objective", "keep one, and limit the others"
        )
    wanted = _wanted_choice(asked, first, choice)
    try:
        return _models(asked, grid, form, wanted, gdp=gdp, tight=tight)
    except NoModel as refusal:
        text = f"there is no Pyomo model of this question: {refusal}"
        right = "dse solve answers it by other means"
        raise scenarios.ScenarioError.of(asked.file, "model", text, right) from None


def _models(
    asked: Scenario, grid: Grid, form: str, wanted: Mapping[str, str] | None, *, gdp: bool, tight: bool
) -> Any:
    found = open_axes(grid)
    try:
        return _models_over_axes(asked, grid, found, form, wanted, gdp=gdp, tight=tight)
    except NotPosynomial as refusal:
        # at other values of an axis that is shut, what was open may not be
        names = {grid.axes[i].name: str(refusal) for i in found.open}
        return _models_over_axes(
            asked, grid, Axes((), {**found.shut, **names}), form, wanted, gdp=gdp, tight=tight
        )


def open_axes(grid: Grid) -> Axes:
    """Return which axes of a grid stay open in a model, and why the others do not."""
    if grid.axes and anchors.has_anchors(grid.first):
        return Axes(
            (), {a.name: "a limit depends on an optimum, which may change along it" for a in grid.axes}
        )
    return axes(grid) if grid.axes else Axes()


def _models_over_axes(
    asked: Scenario,
    grid: Grid,
    found: Axes,
    form: str,
    wanted: Mapping[str, str] | None,
    *,
    gdp: bool,
    tight: bool,
) -> Any:
    """Build the models over all values of the axes that are not open, and over all choices."""
    shut = [i for i in range(len(grid.axes)) if i not in found.open]
    ranges = [range(len(a.values)) if i in shut else (0,) for i, a in enumerate(grid.axes)]
    made = Models()
    if math.prod(map(len, ranges)) > MOST_MODELS:
        why = "; ".join(f"{name}: {text}" for name, text in found.shut.items())
        raise NoModel(f"it would be {math.prod(map(len, ranges))} models ({why}); ask for fewer values")
    if tight and math.prod(map(len, ranges)) > 1:
        # one that has no model is found before much time is spent on the others
        _models_over_axes(asked, grid, found, form, wanted, gdp=False, tight=False)
    for place in itertools.product(*ranges):
        question = _with_numbers(grid.question(place))
        every = [wanted] if wanted is not None else [c for c, _ in combinations(question)]
        if len(made) + len(every) > MOST_MODELS:
            raise NoModel(
                f"it would be more than {MOST_MODELS} models: name a choice, or fewer values of axes"
            )
        several = [one(grid, found, place, c, form, disjunctions=gdp, tight=tight) for c in every]
        here = tuple(grid.axes[i].values[place[i]] for i in shut)
        at = {grid.axes[i].name: place[i] for i in shut}
        if gdp and len(several) > 1:
            both = disjunctive(question, several)
            both.axes = {}
            both.origin = Origin(asked.hash, at, marks(both), {}, tuple(every), values(both))
            made[_key(here)] = both
            continue
        for c, m in zip(every, several, strict=True):
            m.origin = Origin(asked.hash, at, marks(m), c, (), values(m))
            made[_key((*here, *(c.values() if wanted is None else ())))] = m
    if list(made) == [()]:
        return made[()]
    made.why = _why_several_models(grid, found, asked)
    return made


def _key(values: tuple[Any, ...]) -> Key:
    return values[0] if len(values) == 1 else values


def _why_several_models(grid: Grid, found: Axes, asked: Scenario) -> str:
    parts = [f"one model for each value of {name}, since {text}" for name, text in found.shut.items()]
    named = [d.name for d in grid.first.decide if d.choices is not None]
    parts += [f"one model for each choice of {name}" for name in named]
    return f"{asked.file}: {'; '.join(parts)}"


def _with_numbers(question: Question) -> Question:
    """Return a question with numbers in place of limits that hang on an optimum."""
    at = anchors.anchored(question, lambda q: answer(q, neighbours=False))
    if at.refusal is not None:
        raise NoModel("a limit depends on an optimum that does not exist")
    return at.question


def one(
    grid: Grid,
    found: Axes,
    place: tuple[int, ...],
    choice: Mapping[str, str],
    form: str | None = None,
    *,
    disjunctions: bool = False,
    tight: bool = True,
) -> Any:
    """Build the model of one place on the axes that are not open, for a solver if in no ``form``; raises NoModel."""
    problem = formulate(fixed(_with_numbers(grid.question(place)), choice))
    left = opened(grid, found.open, problem) if found.open else Open()
    box = None
    if tight and problem.program is None and problem.kind not in {Kind.EVALUATION, Kind.BLACK_BOX}:
        wide = loosest(grid, found.open, place)
        box = None if wide is None else pyomo_answers.box(fixed(_with_numbers(grid.question(wide)), choice))
    try:
        as_asked = form or pyomo_answers.form_of(problem)
        return user_model(problem, as_asked, box, left, disjunctions=disjunctions)
    except NoModel as refusal:
        at = {
            a.name: a.values[k]
            for i, (a, k) in enumerate(zip(grid.axes, place, strict=True))
            if i not in found.open
        }
        where = ", ".join(f"{name} = {value}" for name, value in {**at, **choice}.items())
        raise NoModel(f"with {where} {refusal}" if where else str(refusal)) from None


def _wanted_choice(
    asked: Scenario, question: Question, choice: Mapping[str, str] | str | None
) -> Mapping[str, str] | None:
    """Read which of the choices among names is meant; raises ScenarioError."""
    named = {d.name: d.choices for d in question.decide if d.choices is not None}
    if choice is None:
        return None
    if not named:
        raise scenarios.ScenarioError.of(
            asked.file, "choice", "this scenario decides nothing among names", "leave choice out"
        )
    if isinstance(choice, str):
        if len(named) > 1:
            raise scenarios.ScenarioError.of(
                asked.file, "choice", f"{', '.join(named)} are chosen", "give a mapping of names to choices"
            )
        choice = {next(iter(named)): choice}
    for name in (*named, *choice):
        value = choice.get(name, "")
        options = named.get(name) or ()
        if value not in options:
            raise scenarios.ScenarioError.of(
                asked.file,
                "choice",
                f"{value!r} is not a choice of {name}" if name in choice else f"no choice of {name}",
                f"take one of {', '.join(options) or ', '.join(named)}{did_you_mean(str(value), options)}",
            )
    return {name: choice[name] for name in named}


def read(model: Any, asked: Scenario, solver: str | None = None, seconds: float = 60.0) -> Solution:
    """Return the design that a model holds as an answer to its scenario; see ``dse.api.read``."""
    origin = getattr(model, "origin", None)
    if not isinstance(origin, Origin):
        raise scenarios.ScenarioError.of(
            asked.file,
            "model",
            "this is not a model that dse.pyomo made",
            "take the model from dse.pyomo(scenario)",
        )
    if origin.scenario != asked.hash:
        raise scenarios.ScenarioError.of(
            asked.file, "model", "the model is of another scenario", "give the scenario of the model"
        )
    changed = changes(model, origin.said)
    if solver is not None:
        said = pyomo_solvers.run(model, solver, seconds)
        if not said.design:
            raise SolverError(f"{said}: the model holds no design")
        claim = str(said)
    else:
        pyomo_solvers.no_disjunctions(model)
        if origin.start and values(model) == origin.start:
            raise SolverError(
                "the model still holds its initial values: was it solved, and were its values loaded?"
            )
        claim = "the design of a Pyomo model"
    choice = origin.choice
    if origin.choices:
        found = chosen(model, origin.choices)
        if found is None:
            raise SolverError(
                "the model has made none of its choices: was it solved, and were its values loaded?"
            )
        choice = found
    question = scenarios.grid(asked).question(_place(model, asked, origin))
    return pyomo_answers.brought_back(
        question, choice, lambda q: pyomo_answers.design(model, q), claim, changed
    )


def _place(model: Any, asked: Scenario, origin: Origin) -> tuple[int, ...]:
    """Find the point of the grid that a model stands at."""
    import pyomo.environ as pyo

    found = []
    for axis in scenarios.grid(asked).axes:
        if axis.name in origin.place:
            found.append(origin.place[axis.name])
            continue
        now = float(pyo.value(model.axes[axis.name]))
        near = min(range(len(axis.values)), key=lambda k: abs(float(axis.values[k]) - now))
        if abs(float(axis.values[near]) - now) > AXIS_VALUE * abs(now):
            wrong = f"the model stands at {axis.name} = {now:g}, which is not a point of the axis"
            raise scenarios.ScenarioError.of(
                asked.file, f"sweep.{axis.name}", wrong, f"the nearest one is {axis.values[near]!r}"
            )
        found.append(near)
    return tuple(found)
