"""Search without proof, by one of Optuna's samplers: for what no other method here can answer, or where it is asked.

Says what it did (trials, sampler, seed) and never claims an optimum.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import optuna

from dse.system.arrays import Array
from dse.system.nouns import plural
from dse.system.records import dataclass
from formulations import evaluation
from results.solution import Status
from scenarios.question import ONE_OBJECTIVE, Question, Search
from solvers import beyond, boxes
from solvers.judgement import as_proved
from solvers.outcome import NO_PROOF, Outcome
from solvers.sampling import descent
from solvers.sampling.trials import MOST_TIGHTENED, WORST_GOAL, Design, Designs, Score, score

TRIALS = Search().trials
MOST_POPULATION = 50
MOST_CONTINUED = 2
TIGHTENED_STARTS = 3
WORST_SCORE = 1e290
"""The score of a design that breaks a limit, for a sampler that knows no limits: more than any that breaks none."""
LIMITS, FAILURE = "limits", "failure"
LEAST, GREATEST = "minimize", "maximize"


@dataclass(frozen=True, slots=True)
class Tried:
    """A design that was tried, its score, and by which of the finished trials, counted from 0."""

    design: Design
    score: Score
    trial: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """What a search has found: the designs that meet all limits and, where none does, the one that comes nearest.

    ``trials``: designs tried; ``failed``: those of them that the model could not be evaluated at, ``failure``:
    why, for one of these. ``empty``: intervals prove that no design meets all limits. ``others``: with which other
    samplers and seeds the study was searched before. ``continued``: after how many trials later commands went on with
    it. ``best``: what a study keeps of local searches. ``idle``: workers that were asked for and not needed.
    """

    search: Search
    held: tuple[Tried, ...] = ()
    nearest: Tried | None = None
    trials: int = 0
    failed: int = 0
    failure: str = ""
    empty: bool = False
    others: tuple[str, ...] = ()
    continued: tuple[int, ...] = ()
    best: Tried | None = None
    idle: int = 0

    @property
    def solver(self) -> str:
        """Who searched."""
        return f"Optuna {self.search.sampler}"

    @property
    def effort(self) -> str:
        """What was done, in words."""
        text = f"{plural(self.trials, 'trial')} of {self.solver}, seed {self.search.seed}"
        if self.others:
            text += f", begun with {' and '.join(self.others)}"
        if self.continued:
            times = f"{len(self.continued)} times, the last " if len(self.continued) > MOST_CONTINUED else ""
            after = self.continued[-1:] if times else self.continued
            text += f", continued {times}after {' and '.join(map(str, after))}"
        if self.idle:
            text += f", in one process ({self.idle} workers would take longer to share them)"
        elif self.search.workers > 1:
            text += f", {self.search.workers} workers (whose order chance decides)"
        if self.failed:
            text += f"; the model failed at {self.failed} of them ({self.failure})"
        return text


def solve(question: Question, *, trials: int = TRIALS, seed: int = 0) -> Outcome:
    """Look for a good design with NSGA-II where designs are likely, then nearby.

    The outcome is ``feasible``, or ``error`` where none was found. The bound is what intervals prove over the
    whole box: weak, but a bound. ``infeasible`` only where interval arithmetic proves it before the search begins.
    """
    near = replace(evaluation.nearest(question), search=None)
    found = search(near, Search(trials=trials, seed=seed))
    none = found.empty and boxes.tighten(question, boxes.space(question)) is None
    if none and beyond.nothing_beyond(question):
        text = "interval arithmetic: no part of the box can meet all limits"
        return Outcome(Status.INFEASIBLE, certificate=text, solver="interval arithmetic")
    best = polished(near, found)
    effort = f"{found.effort}, and a local search"
    if best is None or best.score.violation > 0:
        return Outcome(
            Status.ERROR, solver=found.solver, message=f"no design that meets all limits in {effort}"
        )
    bound = _interval_bound(question)
    text = f"{NO_PROOF}{effort}"
    if bound is not None and as_proved(question, best.score.goals[0], bound) is Status.OPTIMAL:
        text = f"bound of interval arithmetic over what limits leave of the box; {effort} found the design"
    return Outcome(Status.FEASIBLE, dict(best.design.x), bound, text, found.solver)


def by(asked: Search) -> str:
    """Say which sampler searches, from which seed."""
    return f"{asked.sampler}, seed {asked.seed}"


def search(question: Question, asked: Search) -> Found:
    """Try designs of a question in this process, in memory."""
    designs = Designs(question)
    if designs.empty:
        return Found(asked, empty=True)
    with quiet():
        study = optuna.create_study(directions=directions(question), sampler=made(asked, 0, 0))
        study.optimize(objective(designs, asked), n_trials=asked.trials)
        return read(designs, asked, study)


def directions(question: Question) -> list[str]:
    """Return what a study does with each objective; one where none is asked for, and any design will do."""
    return [GREATEST if g.maximize else LEAST for g in question.objectives] or [LEAST]


def made(asked: Search, worker: int, already: int) -> optuna.samplers.BaseSampler:
    """Make a sampler by its name.

    ``worker``: its number; ``already``: trials that its study begins with, since a study that is continued
    must not draw the same numbers again.
    """
    seed = int(np.random.SeedSequence([asked.seed, worker, already]).generate_state(1)[0])
    population = min(MOST_POPULATION, max(10, asked.trials // 10))
    kinds: Mapping[str, Callable[[], optuna.samplers.BaseSampler]] = {
        "TPE": lambda: optuna.samplers.TPESampler(seed=seed, constant_liar=asked.workers > 1),
        "NSGA-II": lambda: optuna.samplers.NSGAIISampler(seed=seed, population_size=population),
        "NSGA-III": lambda: optuna.samplers.NSGAIIISampler(seed=seed, population_size=population),
        "CMA-ES": lambda: _cma_es(seed),
        "random": lambda: optuna.samplers.RandomSampler(seed=seed),
    }
    return kinds[asked.sampler]()


def _cma_es(seed: int) -> optuna.samplers.BaseSampler:
    # the library of this one sampler loads scipy.stats, which takes as long as all that the others load
    from solvers.sampling.cma_states import CmaEs

    return CmaEs(seed=seed, warn_independent_sampling=False)


def objective(designs: Designs, asked: Search) -> Callable[[optuna.Trial], float | tuple[float, ...]]:
    """What a study calls: propose a design, evaluate it, tell what its limits are missed by."""
    limited = asked.sampler not in ONE_OBJECTIVE

    def value(trial: optuna.Trial) -> float | tuple[float, ...]:
        params = {k.name: k.suggest(trial) for k in designs.knobs}
        found = score(designs.design(params))
        if found.failure:
            trial.set_user_attr(FAILURE, found.failure[:1000])
        if limited:
            trial.set_constraint(LIMITS, found.violation)
        elif found.violation > 0:
            return _penalty(designs.question) * (1.0 + found.violation)
        return found.goals or (0.0,)

    return value


def _penalty(question: Question) -> float:
    return -WORST_SCORE if directions(question) == [GREATEST] else WORST_SCORE


def read(designs: Designs, asked: Search, study: optuna.Study) -> Found:
    """Read what a study has found."""
    held: list[Tried] = []
    nearest: Tried | None = None
    failures: list[str] = []
    done = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
    for number, trial in enumerate(done):
        missed = violation(trial)
        failures += [str(trial.user_attrs[FAILURE])] if FAILURE in trial.user_attrs else []
        if missed > 0 and (held or (nearest and nearest.score.violation <= missed)):
            continue
        goals = tuple(trial.values) if designs.question.objectives else ()
        tried = Tried(designs.design(trial.params), Score(missed, goals), number)
        if missed > 0:
            nearest = tried
        else:
            held.append(tried)
    why = failures[0] if failures else ""
    return Found(asked, tuple(held), None if held else nearest, len(done), len(failures), why)


def violation(trial: optuna.trial.FrozenTrial) -> float:
    """Return the violation that a trial was told with."""
    if LIMITS in trial.constraints:
        return float(trial.constraints[LIMITS])
    value = abs(float(trial.values[0]))
    return value / WORST_SCORE - 1.0 if value >= WORST_SCORE else 0.0


def best_of(found: Found) -> Tried | None:
    """Return the best design of one objective; where none meets the limits the one that comes nearest."""
    return next(iter(_best_different_designs(found, 1)), found.nearest)


def _best_different_designs(found: Found, most: int) -> list[Tried]:
    """Return the best different designs that meet all limits, the best first."""
    # what divides by zero somewhere is not an answer as long as there is another
    finite = [t for t in found.held if not t.score.goals or abs(t.score.goals[0]) < WORST_GOAL]
    kept: dict[tuple[object, ...], Tried] = {}
    for tried in sorted(finite or found.held, key=rank):
        kept.setdefault((*tried.design.chosen.values(), *tried.design.x.values()), tried)
        if len(kept) == most:
            break
    return list(kept.values())


def polished(question: Question, found: Found) -> Tried | None:
    """Return the best of what a local search makes of the best designs, or of the one that comes nearest."""
    if found.best is not None:
        return found.best
    # with many decided numbers a local search takes its time
    most = TIGHTENED_STARTS if len(question.decide) <= MOST_TIGHTENED else 1
    starts = _best_different_designs(found, most) or ([found.nearest] if found.nearest is not None else [])
    if question.model.black_box:
        return next(iter(starts), None)
    return min((_downhill(t) for t in starts), key=rank, default=None)


def _downhill(start: Tried) -> Tried:
    """Go downhill from a design, all that has gaps between its values held, where the equations have slopes."""
    if not start.design.x:
        return start
    left = start.design.question
    where = boxes.space(left)
    x = np.array([start.design.x[name] for name in where.names])
    try:
        (better,) = descent.descents(left, where, x[None])
    except (ArithmeticError, TypeError, ValueError):
        return start
    point = dict(zip(where.names, map(float, better), strict=True))
    found = Tried(replace(start.design, x=point), score(replace(start.design, x=point)))
    return found if rank(found) < rank(start) else start


def rank(tried: Tried) -> tuple[float, float]:
    """Return what is to be small: how far the limits are missed, then the objective."""
    goals = tried.design.question.objectives
    if not goals:
        return tried.score.violation, 0.0
    return tried.score.violation, tried.score.goals[0] * (-1.0 if goals[0].maximize else 1.0)


def _interval_bound(question: Question) -> float | None:
    """Return what intervals prove about the objective over the box that the limits leave."""
    if not question.objectives or question.model.black_box:
        return None
    kept: tuple[Array, Array] | None = boxes.tighten(question, boxes.space(question))
    if kept is None:
        return None
    low = float(boxes.enclose(question, kept[0][None], kept[1][None]).low[-1, 0])
    if not np.isfinite(low) or (evaluation.inverted(question) and low <= 0):
        return None
    return float(evaluation.to_minimise(question, low))


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Let Optuna say nothing of every trial, nor of what it calls experimental."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)
