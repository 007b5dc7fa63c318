"""Looking for the cheapest station without proof, at equal time: samplers and evolution beside the exact answer.

Everybody but the exact way is given the question in four numbers (type, level, card, sockets; whole cards and started
power steps follow) and the same function that evaluates a design, one at a time, as a black box would be. What is
compared is how much dearer the best design is than the certified optimum once the time is up.
"""

from __future__ import annotations

import functools
import importlib.util
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.harness import Bench, Way
from scenarios import load
from scenarios.question import Question, fixed
from scenarios.questions import question
from solvers.answer import answer

TITLE = "Searching without proof"
STATION = "station_least_cost_in_10_kw"
SEEDS = 5
MOST_SOCKETS = 10**8
PENALTY = 1e30
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Station:
    """The question in four numbers: places in three menus, and how many sockets."""

    asked: Question

    @property
    def types(self) -> tuple[str, ...]:
        """The types of processor."""
        return next(d.choices or () for d in self.asked.decide if d.choices)

    @property
    def homes(self) -> list[str]:
        """A level on a card of each kind, "socket.full.of 4"."""
        return [d.name.partition(".")[2] for d in self.asked.decide if d.name.startswith("cards.")]

    @property
    def cards(self) -> dict[str, int]:
        """Sockets that fit on each kind of card, in the order of the file."""
        kinds = dict.fromkeys(home.rpartition(".")[2] for home in self.homes)
        return {kind: int(self.asked.given[f"cards.{kind}.sockets"]) for kind in kinds}

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels of clock and voltage."""
        return tuple(dict.fromkeys(home.split(".")[1] for home in self.homes))

    def score(self, kind: int, level: int, card: int, sockets: int) -> tuple[float, float]:
        """Return cost (USD) and by how much the limits are missed (0: not at all) of a design."""
        from solvers.sampling.trials import Design, score

        chosen = {"machine.socket": self.types[kind]}
        left = _fixed(self.asked, self.types[kind])
        name, size = list(self.cards.items())[card]
        home = f"socket.{self.levels[level]}.{name}"
        x = dict.fromkeys((d.name for d in left.decide), 0.0)
        x |= {f"sockets.{home}": float(sockets), f"cards.{home}": float(math.ceil(sockets / size))}
        step = float(left.given["power_step"])
        x["power_steps"] = float(math.ceil(_power(left, x) / step))
        found = score(Design(left, chosen, x))
        return found.goals[0], found.violation


_kept: dict[str, Question] = {}


def _fixed(asked: Question, kind: str) -> Question:
    if kind not in _kept:
        _kept[kind] = fixed(asked, {"machine.socket": kind})
    return _kept[kind]


def _power(left: Question, x: dict[str, float]) -> float:
    from formulations import evaluation

    return float(evaluation.metrics(left, x)["power"])


Worth = Callable[[int, int, int, int], tuple[float, float]]
Search = Callable[[Station, Worth, int, float], None]


def benches(budget: float = 3.0) -> list[Bench]:
    """One question; ``budget``: seconds that each seed of each searcher has."""
    station = Station(question(load(STATION)))
    ways: list[tuple[str, Search]] = [
        (f"Optuna {name}", functools.partial(_optuna, name))
        for name in ("TPE", "NSGA-II", "CMA-ES", "random")
    ]
    ways.append(("SciPy differential_evolution", _evolution))
    if importlib.util.find_spec("pymoo") is not None:
        ways.append(("pymoo MixedVariableGA", _pymoo))
    others = tuple(
        Way(name, functools.partial(_seeds, station, search, budget), bound="no", points=SEEDS)
        for name, search in ways
    )
    ours = Way("dse, whole answer", lambda: answer(station.asked).objective, bound="yes")
    name = f"cheapest station within 10 kW: {budget:g} s for each of {SEEDS} seeds"
    return [Bench(name, ours, others, check=dearer, warm=False, rounds=1)]


def dearer(ours: Any, theirs: Any) -> str:
    """Say how much dearer the best designs of all seeds are than the optimum: the median, least and greatest."""
    above = np.sort(100 * (np.asarray(theirs, float) / float(ours) - 1))
    found = above[np.isfinite(above)]
    if not found.size:
        return f"no design in any of {above.size} runs"
    middle, least, most = np.median(found), found[0], found[-1]
    text = f"{middle:+.2g} % ({least:+.2g} to {most:+.2g})"
    return text + (f", no design in {above.size - found.size} runs" if found.size < above.size else "")


def _seeds(station: Station, search: Search, budget: float) -> Array:
    """Return the cost of the best design of each seed, NaN where none meets the limits."""
    found = []
    for seed in range(SEEDS):
        best = [math.nan]

        def seen(
            kind: int, level: int, card: int, sockets: int, best: list[float] = best
        ) -> tuple[float, float]:
            cost, missed = station.score(kind, level, card, sockets)
            if missed == 0 and not best[0] <= cost:
                best[0] = cost
            return cost, missed

        search(station, seen, seed, budget)
        found.append(best[0])
    return np.array(found)


def _optuna(name: str, station: Station, score: Worth, seed: int, budget: float) -> None:
    import optuna

    from scenarios.question import ONE_OBJECTIVE
    from scenarios.question import Search as Asked
    from solvers.sampling import sampler

    def cost(trial: optuna.Trial) -> float:
        places = [
            trial.suggest_categorical(what, range(len(menu)))
            for what, menu in (("type", station.types), ("level", station.levels), ("card", station.cards))
        ]
        value, missed = score(*places, trial.suggest_int("sockets", 1, MOST_SOCKETS, log=True))
        if name in ONE_OBJECTIVE:
            return value if missed == 0 else PENALTY * (1 + missed)
        trial.set_constraint(sampler.LIMITS, missed)
        return value

    with sampler.quiet():
        study = optuna.create_study(sampler=sampler.made(Asked(name, seed=seed), 0, 0))
        study.optimize(cost, timeout=budget)


def _sizes(station: Station) -> list[int]:
    return [len(station.types), len(station.levels), len(station.cards)]


def _evolution(station: Station, score: Worth, seed: int, budget: float) -> None:
    from scipy.optimize import differential_evolution

    def cost(u: Array) -> float:
        value, missed = score(*map(int, u[:3]), round(math.exp(u[3])))
        return value if missed == 0 else PENALTY * (1 + missed)

    until = time.perf_counter() + budget
    bounds = [*((0, n - 1) for n in _sizes(station)), (0.0, math.log(MOST_SOCKETS))]
    again = 0
    # a run that has converged is begun anew as long as there is time
    while time.perf_counter() < until:
        differential_evolution(
            cost,
            bounds,
            rng=np.random.default_rng([seed, again]),
            integrality=[True, True, True, False],
            polish=False,
            callback=lambda intermediate_result: time.perf_counter() > until,
        )
        again += 1


def _pymoo(station: Station, score: Worth, seed: int, budget: float) -> None:
    from pymoo.core.mixed import MixedVariableGA
    from pymoo.core.problem import ElementwiseProblem
    from pymoo.core.variable import Choice, Real
    from pymoo.optimize import minimize

    names = ("type", "level", "card")
    menus = {n: Choice(options=list(range(size))) for n, size in zip(names, _sizes(station), strict=True)}

    class Cheapest(ElementwiseProblem):  # type: ignore[misc]
        def __init__(self) -> None:
            variables = menus | {"log_sockets": Real(bounds=(0.0, math.log(MOST_SOCKETS)))}
            super().__init__(vars=variables, n_obj=1, n_ieq_constr=1)

        def _evaluate(self, x: dict[str, Any], out: dict[str, Any], *_: Any, **__: Any) -> None:
            value, missed = score(*(int(x[n]) for n in names), round(math.exp(x["log_sockets"])))
            out["F"], out["G"] = value, missed

    minimize(Cheapest(), MixedVariableGA(pop_size=50), ("time", budget), seed=seed, verbose=False)
