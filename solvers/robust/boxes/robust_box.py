"""The worst case over a box of uncertain numbers: vertices where one is proved worst, else an adversary.

Where a vertex is worst (``formulations.signs``) the vertices are worlds like any others. Where it is
not proved of some limit, or of the objective, a design is found for the worlds so far, and an adversary then asks,
at that design, for the worst world of the box: a vertex where one is proved worst of this design, else an optimisation
question like any other, decided over the uncertain numbers, with a proved bound. The world it finds is added until
nothing gets worse (Mutapcic and Boyd, Optimization Methods and Software 24, 2009). The designs' measure over some
worlds bounds the worst case from below, the adversary's bound from above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.quantities import plural
from dse.system.arrays import Array
from dse.system.records import dataclass
from formulations import evaluation, signs
from formulations.arithmetics.intervals import Interval
from formulations.row_keys import RowKey
from formulations.signs import Span, Worst
from formulations.uncertainty.worlds import Worlds, judged, of_values
from results.solution import Solution, Status
from scenarios.question import Decision, Limit, Objective, Question
from solvers import boxes, choices
from solvers.certain import answer
from solvers.mechanisms.sensitivity import with_limit
from solvers.nonlinear import methods

ADVERSARY_ROUNDS = 25
ADVERSARY_CLOSE = 5e-7
"""A worst case is found where the adversary's bound is above the worlds' worst by no more than this, relative."""
ADVERSARY_BROKEN = 1e-8
START = 4
"""Numbers without a proved end up to which the first worlds are all their vertices."""
MEASURE = "measure"
"""The side of what is told at its worst, and neither limited nor minimised."""
ROOM_AT_VALUES = 1e-6
"""Of a value that would do: so much more is asked for, since its search ended a little short of it."""
ANSWERED = (Status.OPTIMAL, Status.FEASIBLE, Status.EVALUATED)
Solve = Callable[[Worlds], Solution]
Bad = tuple[float, float, dict[str, float]]
"""The worst value of something at a design as far as it is known, its bound, and the world."""


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
    listed: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def asks(self, key: RowKey | None) -> bool:
        """Tell whether a limit (None: the objective) is asked at its worst."""
        return self.samples is None or (key is not None and key.name in self.wide)

    def worlds(self, values: Mapping[str, Array], word: str) -> Worlds:
        """Return the worlds to be solved for: some of the box, beside the samples."""
        if self.samples is None:
            return of_values(self.nominal, values, word)
        return self.samples.with_more(values, self.wide)

    def changed(self, change: Callable[[Question], Question]) -> Boxed:
        """Return what is asked of the question changed in the same way in all worlds."""
        samples = None if self.samples is None else self.samples.changed(change)
        return replace(self, nominal=change(self.nominal), samples=samples)


def answered(asked: Boxed, solve: Solve, brief: Solve) -> Solution:
    """Answer a question at its worst over a box, each choice among names alone; ``solve`` answers for some worlds.

    ``brief``: as ``solve``, without ties and without why there is no design: of choices that are not the best.
    """
    if choices.categorical(asked.nominal):

        def one(way: Solve, question: Question) -> Solution:
            return answered(_boxed_with_choice(asked, question), way, way)

        best = choices.best_of(asked.nominal, partial(one, brief), partial(one, solve), None)
        if best.status is not Status.INFEASIBLE:
            return best
        # why there is none is told of the first choice
        return choices.best_of(asked.nominal, partial(one, solve), partial(one, solve), None)
    names = list(asked.box)
    try:
        found, proved, corners = worst_vertices(asked)
    except CannotTake:
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

    Raises CannotTake where the model is not a ratio of posynomials in the uncertain numbers.
    """
    found = _worst_ends(asked)
    return found, all(w.proved for w in found), signs.corners(found, asked.box)


def _worst_ends(asked: Boxed) -> list[Worst]:
    names = list(asked.box)
    found = [w for w in signs.worst(asked.nominal, names) if asked.asks(w.key)]
    for other in _other_metrics(asked.nominal):
        alone = replace(asked.nominal, objectives=(other,), limits=())
        mine = (w for w in signs.worst(alone, names) if w.key is None)
        found += [replace(w, key=RowKey(other.name, MEASURE)) for w in mine if asked.samples is None]
    return found


def _boxed_with_choice(asked: Boxed, question: Question) -> Boxed:
    """Return what is asked where choices among names are made, which leave ``question``."""
    if asked.samples is None:
        return replace(asked, nominal=question)
    twin = next(w for _, w in asked.samples.choices() if w.nominal == question)
    return replace(asked, nominal=question, samples=twin)


def _by_adversary(asked: Boxed, found: list[Worst], solve: Solve) -> Solution:
    values = _first_worlds(asked, found)
    started = _count_of_worlds(values)
    for _ in range(ADVERSARY_ROUNDS):
        values, solution, open_ones = _until_nothing_is_worse(asked, values, solve)
        more = _where_values_fail(asked, values, solution, solve)
        if _count_of_worlds(more) == _count_of_worlds(values):
            break
        values = more
    if solution.status not in ANSWERED:
        # what no design holds in some worlds it does not hold in the box
        return solution
    text = "the worst values in the box at this design are found with proof, by an adversary problem"
    text += f"; points that it added: {_count_of_worlds(values) - started}"
    if open_ones:
        text = f"not proved to be worst in the box: {', '.join(dict.fromkeys(open_ones))}"
        status = Status.FEASIBLE if solution.status is Status.OPTIMAL else solution.status
        solution = replace(solution, status=status, not_worst=tuple(dict.fromkeys(open_ones)))
    return _with_certificate(solution, text)


def _until_nothing_is_worse(
    asked: Boxed, values: dict[str, Array], solve: Solve
) -> tuple[dict[str, Array], Solution, list[str]]:
    """Add the worst worlds of designs until they show none; also tells what is not proved to be worst."""
    for _ in range(ADVERSARY_ROUNDS):
        solution = solve(asked.worlds(values, "case"))
        if solution.status not in ANSWERED:
            return values, solution, []
        worse, open_ones = _worse(asked, solution)
        if not worse:
            return values, solution, open_ones
        values = {n: np.append(v, [w[n] for w in worse]) for n, v in values.items()}
    # the last worlds were added after the last design
    return values, solution, [wanted.name for _, wanted, _ in _adversary_levels(asked, solution)]


def _where_values_fail(
    asked: Boxed, values: dict[str, Array], solution: Solution, solve: Solve
) -> dict[str, Array]:
    """Add the worlds in which the values that would do, in the worlds so far, do not."""
    for name, value in solution.conflict.items():
        low, high = evaluation.bounds(asked.nominal).get(name, (None, None))
        for side, end, sign in (("max", high, 1.0), ("min", low, -1.0)):
            if value is not None and end is not None and sign * (value - end) > 0.0:
                moved = value + sign * ROOM_AT_VALUES * abs(value)
                ask = partial(_with_limit_alone, RowKey(name, side), moved)
                values, *_ = _until_nothing_is_worse(asked.changed(ask), values, solve)
    return values


def _with_limit_alone(key: RowKey, value: float, question: Question) -> Question:
    """A question whether any design holds all limits, one of them at another value."""
    return replace(with_limit(question, key, value), objectives=(), measures={})


def _count_of_worlds(values: Mapping[str, Array]) -> int:
    return next(iter(values.values())).size


def _with_certificate(solution: Solution, text: str) -> Solution:
    return replace(solution, certificate=f"{text}; {solution.certificate}")


def _first_worlds(asked: Boxed, found: list[Worst]) -> dict[str, Array]:
    """The first worlds: all vertices of few numbers, else some of them; and the nominal numbers, drawn inside.

    Some: both ends, and the vertices that are worst of something whatever is decided.
    """
    box = asked.box
    if len(box) <= START:
        grid = np.meshgrid(*box.values(), indexing="ij")
        corners = {n: g.ravel() for n, g in zip(box, grid, strict=True)}
    else:
        known = signs.corners([w for w in found if all(w.signs.values())], box)
        corners = {n: np.append(known[n], ends) for n, ends in box.items()}
    middle = {n: float(np.clip(float(asked.nominal.given[n]), *ends)) for n, ends in box.items()}
    for n, values in asked.listed.items():
        few = np.array(values)
        middle[n] = float(few[np.abs(few - middle[n]).argmin()])
    return {n: np.append(v, middle[n]) for n, v in corners.items()}


def _worse(asked: Boxed, solution: Solution) -> tuple[list[dict[str, float]], list[str]]:
    """Ask for the worst world of every limit and the objective at a design: those found worse, and what stays open."""
    nominal = asked.nominal
    there, known = _at_vertices(asked, solution)
    decide = tuple(
        Decision(n, values=asked.listed[n]) if n in asked.listed else Decision(n, minimum=low, maximum=high)
        for n, (low, high) in asked.box.items()
    )
    own = frozenset(x.name for x in nominal.model.limits)
    rest = {n: v for n, v in there.given.items() if n not in asked.box}
    base = replace(there, given=rest, decide=decide, limits=(), waive=own)
    worse, open_ones, ranges = [], [], _ranges(base)
    for key, wanted, level in _adversary_levels(asked, solution):
        sign = 1.0 if wanted.maximize else -1.0
        if wanted.name in ranges and sign * (ranges[wanted.name][wanted.maximize] - level) <= 0.0:
            continue
        found = known.get(key) or _asked_of_adversary(replace(base, objectives=(wanted,)))
        if found is None:
            open_ones.append(wanted.name)
            continue
        value, bound, world = found
        tolerance = (ADVERSARY_CLOSE if key is None or key.side == MEASURE else ADVERSARY_BROKEN) * abs(level)
        if sign * (value - level) > tolerance:
            worse.append({n: world[n] for n in asked.box})
        elif sign * (bound - level) > 2 * ADVERSARY_CLOSE * abs(level):
            open_ones.append(wanted.name)
    return worse, open_ones


def _ranges(question: Question) -> dict[str, Span]:
    """What metrics can be in the whole box, by intervals: mostly enough to tell that a limit is broken nowhere."""
    where = boxes.space(question)
    ends = zip(where.names, where.low, where.high, strict=True)
    try:
        with np.errstate(all="ignore"):
            at = evaluation.metrics(question, {n: Interval(low, high) for n, low, high in ends})
    except (CannotTake, ArithmeticError, ValueError):
        return {}
    found = {n: Interval.of(v) for n, v in at.items()}
    return {n: (float(v.lo), float(v.hi)) for n, v in found.items()}


def _asked_of_adversary(question: Question) -> Bad | None:
    # where cases of maxima and secants of sums take many programs, boxes of few numbers mostly do at once
    found = methods.short_optimum(question) if methods.in_reach_of_intervals(question) else None
    if found is not None and found.x is not None and found.bound is not None:
        world = {n: float(v) for n, v in found.x.items()}
        goal = evaluation.objective(question, world, evaluation.metrics(question, world))
        return float(goal), found.bound, world
    solution = answer(question, neighbours=False, brief=True)
    if solution.status not in ANSWERED or solution.objective is None:
        return None
    bound = -question.sign * np.inf if solution.bound is None else solution.bound
    return solution.objective, bound, {n: float(v) for n, v in solution.variables.items()}


def _at_vertices(asked: Boxed, solution: Solution) -> tuple[Question, dict[RowKey | None, Bad]]:
    """The question with a design given, and the worst of all that is proved to be worst of it at a vertex."""
    design, nominal = solution.variables, asked.nominal
    limits = tuple(x for x in nominal.limits if x.name not in design)
    given = {**nominal.given, **design}
    there = replace(nominal, given=given, decide=(), limits=limits, uncertain=None, measure=None)
    known = dict[RowKey | None, Bad]()
    try:
        found = [w for w in _worst_ends(replace(asked, nominal=there)) if w.proved]
    except CannotTake:
        return there, known
    places = {w.key: signs.corners([w], asked.box) for w in found}
    for key, wanted, _ in _adversary_levels(asked, solution):
        if key in places:
            values = judged(of_values(there, places[key]), {}).metrics[wanted.name]
            i = int(values.argmax() if wanted.maximize else values.argmin())
            world = {n: float(v[i]) for n, v in places[key].items()}
            known[key] = float(values[i]), float(values[i]), world
    return there, known


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
