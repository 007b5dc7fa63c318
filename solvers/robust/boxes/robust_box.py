"""The worst case over a box of uncertain numbers: vertices where one is proved worst, else an adversary.

Where a vertex is worst (``formulations.signs``) the vertices are worlds like any others. Where it is
not proved of some limit, or of the objective, a design is found for the worlds so far, and an adversary then asks,
at that design, for the worst world of the box: an optimisation question like any other, decided over the uncertain
numbers, with a proved bound. The world it finds is added until nothing gets worse (Mutapcic and Boyd, Optimization
Methods and Software 24, 2009). The designs' measure over some worlds bounds the worst case from below, the
adversary's bound from above.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from dse.quantities import plural
from dse.system.records import dataclass
from formulations import signs
from formulations.arithmetics.posynomial import NotPosynomial
from formulations.row_keys import RowKey
from formulations.signs import Span, Worst
from formulations.uncertainty.worlds import Array, Worlds, of_values
from results.solution import Solution, Status
from scenarios.question import Decision, Limit, Objective, Question
from solvers import choices
from solvers.certain import answer

ADVERSARY_ROUNDS = 25
ADVERSARY_CLOSE = 5e-7
"""A worst case is found where the adversary's bound is above the worlds' worst by no more than this, relative."""
ADVERSARY_BROKEN = 1e-8
START = 4
"""Numbers without a proved end up to which the first worlds are all their vertices."""
MEASURE = "measure"
"""The side of what is told at its worst, and neither limited nor minimised."""
Solve = Callable[[Worlds], Solution]


@dataclass(frozen=True, slots=True)
class Boxed:
    """What is asked at its worst over a box of given numbers.

    ``samples``: the worlds over which the objective is measured, and in which all limits hold, where only the limits
    ``wide`` hold over the whole box; None: everything is asked at its worst. ``listed``: of numbers that have a few
    values only, these: between them there is no world.
    """

    nominal: Question
    box: Mapping[str, Span]
    samples: Worlds | None = None
    wide: frozenset[str] = frozenset()
    listed: Mapping[str, tuple[float, ...]] = dataclasses.field(default_factory=dict)

    def asks(self, key: RowKey | None) -> bool:
        """Tell whether a limit (None: the objective) is asked at its worst."""
        return self.samples is None or (key is not None and key.name in self.wide)

    def worlds(self, values: Mapping[str, Array], word: str) -> Worlds:
        """Return the worlds to be solved for: some of the box, beside the samples."""
        if self.samples is None:
            return of_values(self.nominal, values, word)
        return self.samples.with_more(values, self.wide)


def answered(asked: Boxed, solve: Solve) -> Solution:
    """Answer a question at its worst over a box, each choice among names alone; ``solve`` answers for some worlds."""
    if choices.categorical(asked.nominal):

        def one(question: Question) -> Solution:
            return answered(_boxed_with_choice(asked, question), solve)

        return choices.best_of(asked.nominal, one, one, None)
    names = list(asked.box)
    try:
        found, proved, corners = worst_vertices(asked)
    except NotPosynomial:
        found, proved, corners = [], False, {}
    if not proved:
        return _by_adversary(asked, found, solve)
    if not next(iter(corners.values())).size:
        corners = {n: np.array([ends[0]]) for n, ends in asked.box.items()}
    worlds = asked.worlds(corners, "vertex")
    count = worlds.size - (0 if asked.samples is None else asked.samples.size)
    known = sum(all(w.signs[n] for w in found) for n in names)
    what = "the worst case" if asked.samples is None else f"the worst of {', '.join(sorted(asked.wide))}"
    text = f"{what} is at a vertex of the box: the worse end of {known} of {plural(len(names), 'number')} is proved by"
    text += " the signs of exponents" + (
        ", in the others every function is convex" if known < len(names) else ""
    )
    return _with_certificate(solve(worlds), f"{text}; {count} vert{'ex' if count == 1 else 'ices'}")


def worst_vertices(asked: Boxed) -> tuple[list[Worst], bool, dict[str, Array]]:
    """Say where all that is asked at its worst is worst, whether that is proved, and which vertices these are.

    Raises NotPosynomial where the model is not a ratio of posynomials in the uncertain numbers.
    """
    names = list(asked.box)
    found = [w for w in signs.worst(asked.nominal, names) if asked.asks(w.key)]
    for other in _other_metrics(asked.nominal):
        alone = dataclasses.replace(asked.nominal, objectives=(other,), limits=())
        mine = (w for w in signs.worst(alone, names) if w.key is None)
        found += [
            dataclasses.replace(w, key=RowKey(other.name, MEASURE)) for w in mine if asked.samples is None
        ]
    return found, all(w.proved for w in found), signs.corners(found, asked.box)


def _boxed_with_choice(asked: Boxed, question: Question) -> Boxed:
    """Return what is asked where choices among names are made, which leave ``question``."""
    if asked.samples is None:
        return dataclasses.replace(asked, nominal=question)
    twin = next(w for _, w in asked.samples.choices() if w.nominal == question)
    return dataclasses.replace(asked, nominal=question, samples=twin)


def _by_adversary(asked: Boxed, found: list[Worst], solve: Solve) -> Solution:
    values = _first_worlds(asked)
    sure = {w.key for w in found if w.proved}
    started = _count_of_worlds(values)
    for _ in range(ADVERSARY_ROUNDS):
        solution = solve(asked.worlds(values, "case"))
        if solution.status not in (Status.OPTIMAL, Status.FEASIBLE, Status.EVALUATED):
            # what no design holds in some worlds it does not hold in the box
            return solution
        worse, open_ones = _worse(asked, solution, sure)
        if not worse:
            break
        values = {n: np.append(v, [w[n] for w in worse]) for n, v in values.items()}
    else:
        open_ones = ["the worst case"]
    text = "the worst values in the box at this design are found with proof, by an adversary problem"
    text += f"; points that it added: {_count_of_worlds(values) - started}"
    if open_ones:
        text = f"not proved to be worst in the box: {', '.join(open_ones)}"
        status = Status.FEASIBLE if solution.status is Status.OPTIMAL else solution.status
        solution = dataclasses.replace(solution, status=status)
    return _with_certificate(solution, text)


def _count_of_worlds(values: Mapping[str, Array]) -> int:
    return next(iter(values.values())).size


def _with_certificate(solution: Solution, text: str) -> Solution:
    return dataclasses.replace(solution, certificate=f"{text}; {solution.certificate}")


def _first_worlds(asked: Boxed) -> dict[str, Array]:
    """The first worlds: all vertices of few numbers, of many the two ends; and the nominal numbers, drawn inside."""
    box = asked.box
    if len(box) <= START:
        grid = np.meshgrid(*box.values(), indexing="ij")
        corners = {n: g.ravel() for n, g in zip(box, grid, strict=True)}
    else:
        corners = {n: np.array(ends) for n, ends in box.items()}
    middle = {n: float(np.clip(float(asked.nominal.given[n]), *ends)) for n, ends in box.items()}
    for n, values in asked.listed.items():
        few = np.array(values)
        middle[n] = float(few[np.abs(few - middle[n]).argmin()])
    return {n: np.append(v, middle[n]) for n, v in corners.items()}


def _worse(
    asked: Boxed, solution: Solution, sure: set[RowKey | None]
) -> tuple[list[dict[str, float]], list[str]]:
    """Ask for the worst world of every limit and the objective at a design: those found worse, and what stays open."""
    nominal = asked.nominal
    fixed = {**nominal.given, **solution.variables}
    rest = {n: v for n, v in fixed.items() if n not in asked.box}
    decide = tuple(
        Decision(n, values=asked.listed[n]) if n in asked.listed else Decision(n, minimum=low, maximum=high)
        for n, (low, high) in asked.box.items()
    )
    own = frozenset(x.name for x in nominal.model.limits)
    base = dataclasses.replace(
        nominal, given=rest, decide=decide, limits=(), waive=own, uncertain=None, measure=None
    )
    worse, open_ones = [], []
    for key, wanted, level in _adversary_levels(asked, solution):
        if key in sure:
            continue
        found = answer(dataclasses.replace(base, objectives=(wanted,)), neighbours=False, brief=True)
        if found.status is not Status.OPTIMAL or found.objective is None or found.bound is None:
            open_ones.append(wanted.name)
            continue
        sign = 1.0 if wanted.maximize else -1.0
        tolerance = (ADVERSARY_CLOSE if key is None or key.side == MEASURE else ADVERSARY_BROKEN) * abs(level)
        if sign * (found.objective - level) > tolerance:
            worse.append({n: float(found.variables[n]) for n in asked.box})
        elif sign * (found.bound - level) > 2 * ADVERSARY_CLOSE * abs(level):
            open_ones.append(wanted.name)
    return worse, open_ones


def _adversary_levels(asked: Boxed, solution: Solution) -> list[tuple[RowKey | None, Objective, float]]:
    """What the adversary is asked: of each limit at its worst its metric and its bound, and the objective."""
    nominal, levels = asked.nominal, list[tuple[RowKey | None, Objective, float]]()
    decided = {d.name for d in nominal.decide}
    limits: list[Limit] = [x for x in nominal.limits if x.name not in decided]
    for limit in limits:
        for side, end in (("max", limit.maximum), ("min", limit.minimum)):
            key = RowKey(limit.name, side)
            if end is not None and asked.asks(key):
                levels.append((key, Objective(limit.name, maximize=side == "max"), end))
    for own in nominal.model.limits:
        key = RowKey(own.name, "model")
        if own.name in solution.limits and own.name not in nominal.waive and asked.asks(key):
            levels.append((key, Objective(own.name, maximize=True), 1.0))
    if nominal.objectives and asked.asks(None) and solution.objective is not None:
        goal = nominal.objectives[0]
        levels.append((None, Objective(goal.name, maximize=not goal.maximize), solution.objective))
    for other in _other_metrics(nominal) if asked.samples is None else ():
        wanted = Objective(other.name, maximize=not other.maximize)
        levels.append((RowKey(other.name, MEASURE), wanted, solution.metrics[other.name]))
    return levels


def _other_metrics(question: Question) -> list[Objective]:
    """The metrics beside the objective that are told at their worst."""
    goals = [o.name for o in question.objectives]
    maximize = any(o.maximize for o in question.objectives)
    return [Objective(n, maximize) for n in question.measures if n not in goals]
