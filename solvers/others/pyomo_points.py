"""The points of a grid through Pyomo, by a solver of the user's: one model for each structure, its parameters set."""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import scenarios
from dse.system.records import dataclass
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.open_axes import Axes, opened
from formulations.problem import Problem, formulate
from formulations.pyomo_models.user_variables import NoModel
from results.solution import THROUGH, Solution
from scenarios import Grid, Scenario
from scenarios.question import Question, combinations
from solvers import work
from solvers.others import pyomo_answers, pyomo_models, pyomo_solvers

MODELS_KEPT = 32
"""Models that are kept; of more structures each is built again when its turn comes."""
CHOICES_TRIED = 64
"""Choices among names of which it is seen beforehand whether axes can stay open."""
SLOW = "each point is built or set, solved, re-evaluated, and held against our own bound"


@dataclass(frozen=True, slots=True)
class By:
    """Who solves: a solver that Pyomo knows, each choice among names within so many seconds."""

    solver: str
    seconds: float = 60.0

    def words(self) -> str:
        """Return all that decides about its answers, in words."""
        return f"{self.solver}{THROUGH}, {self.seconds:g} s for each choice"

    def answer(self, question: Question) -> Solution:
        """Answer one question, of a model of its own."""
        return pyomo_answers.answered(question, self.solver, self.seconds)


def by(solver: str, seconds: float) -> By:
    """Return who solves; raises SolverError where there is no such solver."""
    pyomo_solvers.check(solver)
    return By(solver, seconds)


def read(text: str) -> By:
    """Return who solved, from what ``By.words`` said of it."""
    solver, _, rest = text.partition(THROUGH)
    return By(solver, float(rest.split()[1]))


@dataclass(slots=True)
class _Held:
    """A model, and the values that its variables began with."""

    model: Any
    start: list[tuple[Any, float | None]]


@dataclass(frozen=True, slots=True)
class Points:
    """A grid and who solves it; ``axes``: which of its axes stay open in a model, and why the others do not.

    ``within``: where these are only some places along each axis, these places.
    """

    grid: Grid
    by: By
    axes: Axes
    within: tuple[Sequence[int], ...] | None = None
    _models: OrderedDict[Any, _Held] = field(default_factory=OrderedDict, compare=False)

    @property
    def method(self) -> str:
        """How, in words for the dataset."""
        return f"each point by {self.by.words()}; its design re-evaluated, optimal where our own bound confirms it"

    @property
    def why(self) -> str:
        """Say how many models there are, and why."""
        first = self.grid.first
        shut = [n for i, n in enumerate(self.grid.shape) if i not in self.axes.open]
        count = math.prod(shut) * math.prod(len(c) for _, c in _choices_by_name(first))
        each = [f"of {name}, since {text}" for name, text in self.axes.shut.items()]
        each += [f"of {name}, which is chosen" for name, _ in _choices_by_name(first)]
        several = f", one for each value {'; '.join(each)}" if count > 1 else ""
        opened = ", ".join(self.grid.axes[i].name for i in self.axes.open)
        sets = f" with {opened} as mutable parameter{'s' * (len(self.axes.open) > 1)}" if opened else ""
        return f"{self.by.words()}, which is slow ({SLOW}); {count} model{'s' * (count > 1)}{sets}{several}"

    @property
    def work(self) -> float:
        """Declared seconds of a point: our own answer, and that of a solver for each choice."""
        question = self.grid.first
        choices = math.prod(len(c) for _, c in _choices_by_name(question))
        return work.alone(question) + work.seconds("audit point", choices)

    def answer(self, place: tuple[int, ...]) -> Solution:
        """Answer one point; raises SolverError where the solver takes no such model."""
        if self.within is not None:
            place = tuple(int(of[i]) for of, i in zip(self.within, place, strict=True))

        def build(choice: Mapping[str, str], problem: Problem) -> Any:
            return self._model(place, choice, problem)

        return pyomo_answers.answered(self.grid.question(place), self.by.solver, self.by.seconds, build)

    def part(self, places: Sequence[Any]) -> Points:
        """Return some places along each axis: their models, and so their answers, are those of the whole grid."""
        outer = self.within
        found = places if outer is None else [[o[i] for i in p] for o, p in zip(outer, places, strict=True)]
        return replace(self, within=tuple(found))

    def checked(self, file: str) -> None:
        """Refuse beforehand what no point would have an answer to; raises ScenarioError and SolverError."""
        place = (0,) * len(self.grid.axes)
        choice, question = next(combinations(self.grid.question(place)))
        if not question.decide:
            return
        try:
            pyomo_solvers.takes(self._model(place, choice, formulate(question)), self.by.solver)
        except NoModel as refusal:
            raise scenarios.ScenarioError.of(
                file,
                "model",
                f"{self.by.solver} cannot be asked: {refusal}",
                "leave --solver out, and it is answered by our own methods",
            ) from None
        except ArithmeticError:
            return  # at this point alone, which will say so itself

    def _model(self, place: tuple[int, ...], choice: Mapping[str, str], problem: Problem) -> Any:
        """Return the model of a point, its parameters set, and nothing in it from the point before."""
        first = tuple(0 if i in self.axes.open else k for i, k in enumerate(place))
        key = (first, tuple(choice.items()))
        held = self._models.pop(key, None)
        if held is None:
            made = self._built(first, choice)
            if made is None:
                return pyomo_answers.model_of(problem)
            held = _Held(made, [(v, v.value) for v in _pyomo_variables(made)])
        self._models[key] = held
        if len(self._models) > MODELS_KEPT:
            self._models.popitem(last=False)
        for variable, value in held.start:
            variable.set_value(value, skip_validation=True)
        for i in self.axes.open:
            axis = self.grid.axes[i]
            held.model.axes[axis.name].set_value(float(axis.values[place[i]]))
        return held.model

    def _built(self, place: tuple[int, ...], choice: Mapping[str, str]) -> Any:
        """Build the model of a structure at its first point; None where that cannot be written, but others may."""
        try:
            return pyomo_models.one(self.grid, self.axes, place, choice)
        except (NoModel, ArithmeticError):
            if not self.axes.open:
                raise
            return None


def points(asked: Scenario, grid: Grid, who: By) -> Points:
    """Return how the points of a grid are answered; raises ScenarioError where no solver can be asked."""
    first = grid.first
    if first.search is not None:
        raise scenarios.ScenarioError.of(
            asked.file, "search", "a sampler and a solver are both asked for", "leave one of them out"
        )
    return Points(grid, who, _open_axes(grid, first))


def _open_axes(grid: Grid, first: Question) -> Axes:
    """Find the axes that stay open with every choice among names."""
    found = pyomo_models.open_axes(grid)
    if not found.open or not first.decide:
        return found
    try:
        for _, question in itertools.islice(combinations(first), CHOICES_TRIED):
            opened(grid, found.open, formulate(question))
    except NotPosynomial as refusal:
        return Axes((), {**found.shut, **{grid.axes[i].name: str(refusal) for i in found.open}})
    return found


def _choices_by_name(question: Question) -> list[tuple[str, tuple[str, ...]]]:
    return [(d.name, tuple(d.choices)) for d in question.decide if d.choices is not None]


def _pyomo_variables(model: Any) -> list[Any]:
    import pyomo.environ as pyo

    return list(model.component_data_objects(pyo.Var))
