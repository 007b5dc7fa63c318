"""Pareto fronts: the designs of a scenario with several objectives that no other design betters in all.

Each point answers one question with a certificate: the least of the first objective with limits on the others
(the epsilon-constraint method), so that its limits' elasticities are the slopes of the front there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np

import results.dataset
import scenarios
from dse.fronts import exact_fronts, front_curves, front_grids, robust_fronts, sampled_fronts
from dse.fronts.bands import Band
from dse.fronts.enclosure import ENCLOSURE_POINTS
from dse.fronts.front_search import Front, Search, value
from dse.sweeping.points import robust_points
from dse.system.amounts import MOST_POINTS_ASKED
from dse.system.progress import Report, reporting
from dse.system.records import dataclass
from formulations import failures
from results.along_fronts.along import exchange_rates, knee
from results.along_fronts.hypervolume import with_growth
from results.along_fronts.segments import JOINED, JOINED_ABOUT, UNKNOWN_BETWEEN
from results.along_fronts.variable_names import AT, ENCLOSURE, LOWER, UPPER
from results.solution import Solution, Status
from results.telling import sizes, words
from scenarios.language.axis_slots import OF_FRONTS
from scenarios.question import Question
from scenarios.questions import question as question_of
from solvers import anchors
from solvers.answer import answer
from solvers.fronts.asking import limited
from solvers.others.solver_errors import SolverError

if TYPE_CHECKING:
    import xarray as xr

    from solvers.others.pyomo_points import By

MOST_FRONT_POINTS = 1000


def find(
    scenario: scenarios.Scenario,
    points: int | None = None,
    tolerance: float | None = None,
    progress: bool | Report | None = None,
    by: By | None = None,
) -> Front:
    """Find the Pareto front of a scenario with several objectives; ``to_dataset`` lays it out.

    ``points``: how many, evenly spread (default: what the scenario says, else 20); ``tolerance``: instead,
    refine until what is proved encloses the front everywhere within this (relative, upwards or sideways). What is
    given here stands in for both that the scenario says. With three objectives and more a tolerance has no meaning.
    Of a linear or mixed-integer program with two objectives the front is exact: all its breakpoints, and further
    points of straight segments where more are asked for; or all its designs, where nothing is divisible and they can
    be enumerated, or are not counts and neither points nor a tolerance are given.
    ``by``: a solver that answers every point through Pyomo in place of our own methods; no front is then exact.

    Raises ScenarioError for a scenario with one objective, or with a sweep, and where points and tolerance
    are both given, or a tolerance for more than two objectives.
    """
    if scenario.sweep:
        raise scenarios.ScenarioError.of(
            scenario.file, "sweep", "a front over swept axes is several", "use dse.front(scenario)"
        )
    question = question_of(scenario)
    points, tolerance = fineness(scenario, question, points, tolerance, by)
    with reporting(progress, "solve") as report:
        try:
            return at(question, points, tolerance, report, by)
        except ArithmeticError as problem:
            failed = Solution(
                Status.ERROR, title=question.title, message=failures.in_words(question, problem)
            )
            return Front(question, refusal=failed, failed=1)


def at(
    question: Question,
    points: int | None,
    tolerance: float | None,
    report: Report,
    by: By | None = None,
) -> Front:
    """Find the front of one question, as finely as ``fineness`` says; ``by``: who answers in place of our methods."""
    if by is not None and (question.search is not None or question.model.black_box):
        raise SolverError(f"{by.solver} cannot be asked: a sampler searches for this front")
    tied = anchors.anchored(question, lambda q: answer(q, neighbours=False))
    if tied.refusal is not None or not tied.proved:
        failed = tied.refusal or Solution(Status.ERROR, message=f"there is no front: {tied.words}")
        return Front(question, refusal=replace(failed, title=question.title), failed=1)
    question = tied.question
    if question.decide and (question.search is not None or question.model.black_box):
        return sampled_fronts.find(question, points)
    usual = ENCLOSURE_POINTS if question.uncertain is None else robust_fronts.ROBUST_POINTS
    most = points or (MOST_FRONT_POINTS if tolerance else usual)
    if by is not None:
        search = Search(question, report, 3 * most, by.answer)
        found = _front_by_search(search, question, most, tolerance)
        return replace(found, method=f"{found.method}; every point by {by.words()}".lstrip("; "))
    if question.uncertain is not None:
        search, trouble = robust_fronts.search(question, report, 3 * most)
        return robust_fronts.finished(_front_by_search(search, question, most, tolerance), trouble)
    search = Search(question, report, 3 * most)
    exact = exact_fronts.find(search, points, MOST_FRONT_POINTS, tolerance)
    return exact if exact is not None else _front_by_search(search, question, most, tolerance)


def _front_by_search(search: Search, question: Question, most: int, tolerance: float | None) -> Front:
    """Find a front point by point."""
    refusal = search.ends()
    if refusal is not None and refusal.status is Status.EVALUATED:
        return Front(
            question, (refusal,), solves=search.solves, method="nothing is decided: there is one design"
        )
    if refusal is not None:
        return Front(question, refusal=refusal, solves=search.solves)
    endless = _endless_end(search)
    if endless:
        found = Solution(Status.ERROR, message=endless, certificate="no front was looked for")
        return Front(question, refusal=found, solves=search.solves)
    if len(question.objectives) > 2:
        return front_grids.grid(search, most)
    return front_curves.curve(search, most, tolerance)


def _endless_end(search: Search) -> str:
    """Say which objective is infinite at an end of a front: no distance to it can be halved; empty: none is."""
    for goal, best in zip(search.goals, search.best, strict=True):
        for other in search.goals:
            # of designs as good the one that is best for the others counts
            if not any(math.isfinite(value(other, x)) for x in _first_and_final(search, best)):
                side = "greatest" if goal.maximize else "least"
                wrong = (
                    f"at the {side} {goal.name} {other.name} is infinite, so that the front has no end there"
                )
                return f"{wrong}; add a limit on {other.name}: [limits] {other.name} = {{ max = … }}"
    return ""


def _first_and_final(search: Search, best: Solution) -> Iterator[Solution]:
    yield best
    yield search.final(best)


def fineness(
    scenario: scenarios.Scenario,
    question: Question,
    points: int | None,
    tolerance: float | None,
    by: By | None = None,
) -> tuple[int | None, float | None]:
    """Return the points and the tolerance to use: those given, else what the scenario says.

    ``by``: a solver that is to answer each point. Raises ScenarioError where a front cannot be found so, or not at all.
    """
    asked = scenario.objective.front if scenario.objective is not None else None
    if points is None and tolerance is None and asked:
        points, tolerance = asked.points, asked.tolerance
    _refuse_without_front(scenario, question, points, tolerance)
    if question.uncertain is not None:
        robust_fronts.check(scenario, question, by)
    return points, tolerance


def _two_objectives(question: Question) -> str:
    """Return a list of objectives, as a file has it: that of the question, and another metric of its model."""
    first = [g.name for g in question.objectives]
    metrics = [q.name for q in question.model.metrics if q.unit]
    usual = [n for n in ("energy", "time", "power", "cost", "performance") if n in metrics]
    return json.dumps(list(dict.fromkeys([*first, *usual, *metrics]))[:2])


def _refuse_without_front(
    scenario: scenarios.Scenario, question: Question, points: int | None, tolerance: float | None
) -> None:
    def mistake(wrong: str, right: str, key: str = "objective.front") -> scenarios.ScenarioError:
        return scenarios.ScenarioError.of(scenario.file, key, wrong, right)

    if len(question.objectives) < 2:
        other = "dse sweep" if scenario.sweep else "dse solve"
        right = f"write minimize = {_two_objectives(question)}, or use {other}"
        raise mistake("a front needs at least two objectives", right, "objective")
    if points is not None and not (_is_of_kind(points, Integral) and points >= 2):
        wrong = "too few" if _is_of_kind(points, Integral) else "no number of points"
        raise mistake(f"points = {points!r} is {wrong} for a front", "write a whole number of at least 2")
    if points is not None and points > MOST_POINTS_ASKED:
        raise mistake(f"points = {points:.6g} is too many for a front", f"keep to {MOST_POINTS_ASKED}")
    if tolerance is not None and not (_is_of_kind(tolerance, Real) and 0 < tolerance < 1):
        raise mistake(
            f"tolerance = {tolerance!r} is not a tolerance",
            "write a number between 0 and 1, such as 0.01",
        )
    if points is not None and tolerance is not None:
        raise mistake("points and tolerance exclude each other", "keep one of them")
    if tolerance is not None and len(question.objectives) > 2:
        raise mistake(
            "a tolerance is for what encloses a curve, and so for two objectives",
            "say how many points instead",
        )
    if tolerance is not None and (question.search is not None or question.model.black_box):
        raise mistake(
            "a sampler proves nothing about what lies between its designs",
            "say how many points at most instead",
        )


def _is_of_kind(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class _Axis:
    """The axis of a front: points by number."""

    values: tuple[float, ...]
    long_name: str
    name: str = "front"
    path: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True)
class _Line:
    """What ``results.dataset.layout`` takes for a grid."""

    axes: tuple[_Axis, ...]
    at: Question

    def question(self, index: tuple[int, ...]) -> Question:
        """Return the question, which is the same at every point but for the limits on objectives."""
        return self.at


def to_dataset(found: Front) -> xr.Dataset:
    """Lay out a front as a dataset along ``front``; attributes say how it was found, or why it is empty."""
    first, *others = found.question.objectives
    at = replace(found.question, limits=limited(found.question, {g.name: math.inf for g in others}))
    along = f"points of the front, {'falling' if first.maximize else 'rising'} {first.name}"
    axis = _Axis(tuple(float(i) for i in range(len(found.points))), along)
    about = {"method": found.method, "solves": found.solves, "failed_solves": found.failed}
    about |= {"points": len(found.points)}
    if found.kind:
        straight = dict(zip((g.name for g in found.question.objectives), found.straight_in, strict=True))
        about |= {"front": found.kind, "straight_in": json.dumps(straight)}
    about |= robust_points.about(found.question)
    about |= {"jumps": found.jumps, "status": found.refusal.status.value if found.refusal else "answered"}
    if found.refusal is not None:
        about["conflict"] = json.dumps(dict(found.refusal.conflict))
        why = words.why_infeasible(sizes.as_asked(found.refusal))
        about |= {"reason": why} if why else {}
        about["certificate"] = found.refusal.certificate
        about |= {"message": found.refusal.message} if found.refusal.message else {}
    plan = results.dataset.layout(_Line((axis,), at), about, needed={*OF_FRONTS, AT, LOWER, UPPER})
    arrays = results.dataset.to_arrays(plan, found.points, (len(found.points),))
    dataset = results.dataset.to_dataset(plan, arrays)
    codes = [UNKNOWN_BETWEEN if j is None else int(j) for j in found.joined] or [UNKNOWN_BETWEEN] * len(
        found.points
    )
    dataset[JOINED] = ("front", np.array(codes, dtype=np.int8), dict(JOINED_ABOUT))
    if found.band is not None:
        dataset = _with_enclosure(dataset, found.band, first.name, others[0].name)
    dataset = robust_fronts.with_fresh(dataset, found)
    if found.growth is not None:
        dataset = with_growth(dataset, found.growth)
    return _along(dataset, [first.name, *(g.name for g in others)])


def _with_enclosure(dataset: xr.Dataset, band: Band, first: str, second: str) -> xr.Dataset:
    """Add what is proved about the front between its points."""
    units = [sizes.units(dataset[n].attrs) if n in dataset else {"units": "1"} for n in (first, second)]
    between = _straight_words(band, first, second)
    told = f"that the best {second} has at this {first}, {between} from place to place"
    for name, values, unit, text in (
        (AT, band.at, units[0], f"{first} of a place of the enclosure; one that is repeated is a step"),
        (LOWER, band.lower, units[1], f"least value {told}"),
        (UPPER, band.upper, units[1], f"greatest value {told}"),
    ):
        dataset[name] = (ENCLOSURE, values, {**unit, "long_name": text})
    # not every file format has a word for what is infinite
    width = {"enclosure_width": band.width} if math.isfinite(band.width) else {}
    return dataset.assign_attrs({"enclosure": band.how, **width})


def _straight_words(band: Band, first: str, second: str) -> str:
    """Say in what terms a bound goes straight from place to place; the page of a front reads these words."""
    if all(band.logarithmic) or not any(band.logarithmic):
        return "straight in logarithms" if all(band.logarithmic) else "straight"
    terms = (
        f"the logarithm of {n}" if log else n
        for n, log in zip((first, second), band.logarithmic, strict=True)
    )
    return f"straight in {' and '.join(terms)}"


def _along(dataset: xr.Dataset, goals: Sequence[str]) -> xr.Dataset:
    """Add what changes along a front of two objectives: exchange rates, and the knee as an attribute."""
    if len(goals) != 2 or not dataset.sizes["front"] or not set(goals) <= set(dataset.data_vars):
        return dataset
    first, second = (dataset[n].values for n in goals)
    told = f"slope of {goals[1]} over {goals[0]} in logarithms, from this point to the next"
    dataset["exchange_rate"] = ("front", exchange_rates(first, second), {"units": "1", "long_name": told})
    bend = knee(first, second)
    return dataset if bend is None else dataset.assign_attrs(knee=bend)
