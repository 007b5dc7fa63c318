"""A question with uncertain numbers, asked in each of its worlds."""

from __future__ import annotations

from scenarios import Scenario, ScenarioError
from scenarios.distributions import Uncertain
from scenarios.language.cells import positive_count
from scenarios.language.parts import Wrong
from scenarios.questions import grid
from scenarios.uncertain import at_samples, draw, told_of, uncertain_of
from scenarios.uncertainty.chances import uncertain_example
from scenarios.uncertainty.measured import KINDS, measure_of, ranked


def in_worlds(asked: Scenario, samples: int | None = None) -> Scenario:
    """Return the question with an axis ``sample`` along which its worlds stand; as it is where nothing is uncertain.

    ``samples``: how many, in place of what the file says. Each world is decided by itself: measures and probabilities
    play no part. Raises ScenarioError.
    """
    uncertain = uncertain_of(asked)
    if uncertain is None:
        return asked
    _same_worlds(asked)
    count = uncertain.sampling.samples if samples is None else counted(asked, "samples", samples)
    told = told_of(uncertain.sampling, 0, count)
    return at_samples(asked, draw(uncertain, count), told)


def counted(asked: Scenario, key: str, count: int) -> int:
    """Return how many samples or rows a caller asks for. Raises ScenarioError where that is no count."""
    try:
        return positive_count(count)
    except Wrong as problem:
        raise ScenarioError.of(asked.file, key, problem.wrong, problem.right) from None


def at_one_point(asked: Scenario, otherwise: str) -> Uncertain:
    """Return what is uncertain in a question without axes; ``otherwise``: what to do where it has some.

    Raises ScenarioError where nothing is uncertain, and for a sweep.
    """
    uncertain = uncertain_of(asked)
    if uncertain is None:
        raise ScenarioError.of(
            asked.file,
            "uncertain",
            "nothing is uncertain in this question",
            f"add what is uncertain: [uncertain] {uncertain_example(grid(asked).first, asked)}",
        )
    if asked.sweep:
        raise ScenarioError.of(
            asked.file,
            "sweep",
            f"this scenario sweeps {', '.join(asked.sweep)}",
            otherwise,
        )
    return uncertain


def _same_worlds(asked: Scenario) -> None:
    """Refuse axes along which the worlds differ, where each world is decided by itself."""
    for axis, entry in asked.sweep.items():
        for path in (entry.path, *(entry.paths or ()), *(entry.columns or ())):
            if path is not None and path.partition(".")[0] in ("uncertain", "objective"):
                raise ScenarioError.of(
                    asked.file,
                    f"sweep.{axis}",
                    f"{path} is swept, and each sample is decided by itself",
                    'write measure = "mean", quantile = 0.95 or cvar = 0.9 under [objective]: one design a point',
                )


def swept(asked: Scenario) -> Scenario:
    """Return what a sweep of a question asks: one design for all worlds at each point, or one in each world.

    Which of the two the file says: with a measure of the objective, or a limit with a probability or at its worst, one
    design is decided at each point, before the worlds are known. Raises ScenarioError where that is asked and no axis
    is swept.
    """
    if (first := decided_now(asked)) and not asked.sweep:
        raise ScenarioError.of(
            asked.file,
            first,
            "this asks for one design for all samples, and no axis is swept",
            "use `dse solve FILE`; or leave it out, for the best design in each of them",
        )
    if first:
        measured(asked)
    return decided_late(asked)


def measured(asked: Scenario) -> None:
    """Refuse one design for all worlds where nothing says what of its objective's distribution is to be best."""
    if asked.uncertain is not None and not has_measure(asked):
        raise ScenarioError.of(
            asked.file,
            "objective.measure",
            "numbers are uncertain, and no measure of the objective is given",
            'write measure = "mean", measure = "worst", quantile = 0.95 or cvar = 0.9 under [objective]; '
            "`dse uncertainty FILE` finds the best design in each sample",
        )


def has_measure(asked: Scenario) -> bool:
    """Whether the file says what of the objective's distribution is to be best, or has no objective."""
    goal = asked.objective
    return goal is None or measure_of(goal) is not None or all(n in goal.measures for n in ranked(goal))


def decided_late(asked: Scenario) -> Scenario:
    """Return a question as ``in_worlds`` does, unless it asks for one design for all worlds."""
    return asked if decided_now(asked) else in_worlds(asked)


def decided_now(asked: Scenario) -> str:
    """Return the first key that asks for one design for all worlds; empty where none does."""
    goal = asked.objective
    measures = [n for n in (*KINDS, "measures") if goal is not None and getattr(goal, n)]
    promises = [f"limits.{n}" for n, x in asked.limits.items() if x.probability is not None or x.worst]
    return next(iter([*(f"objective.{n}" for n in measures), *promises]), "")
