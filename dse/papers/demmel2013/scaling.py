"""Section III: the communication lower bounds (3) to (5), and Figure 3: how far strong scaling goes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from dse.papers.asking import ask, metrics, told
from dse.papers.comparer import Found
from dse.papers.demmel2013 import costs
from dse.papers.demmel2013.algorithms import STRASSEN
from dse.papers.demmel2013.questions import answers, settings
from dse.papers.demmel2013.symbols import Setting, as_machine
from dse.papers.sources import premises
from dse.system.records import dataclass

MATRICES = 3.0  # two matrices in and one out
EXPONENTS = {"matmul": 3.0, "strassen": STRASSEN}
FIGURE_3_P_MIN = premises("demmel2013")["least_processors"]


@dataclass(frozen=True, slots=True)
class Scaling:
    """Words per processor against p with a fixed memory each: the answer's and the paper's bounds."""

    p: np.ndarray
    words: np.ndarray
    memory_dependent: np.ndarray
    memory_independent: np.ndarray
    p_max: float


@cache
def counts(s: Setting, p: float, M: float) -> Mapping[str, float]:
    """Metrics of a 2.5D product on p processors with M words each."""
    return metrics("matmul", as_machine(s), {"order": s.n, "processors": p, "memory": M})


@answers("3")
def _least_words_of_one(s: Setting) -> Found:
    printed = costs.sequential_words(s.n**3, s.n**2 / 100, MATRICES * s.n**2)
    return Found(counts(s, 100.0, s.n**2 / 100)["words"] * 100.0, printed)


@answers("3:one")
def _input_and_output(s: Setting) -> Found:
    one, inout = counts(s, 1.0, s.n**2)["words"], MATRICES * s.n**2
    rules = costs.sequential_words(s.n**3, s.n**2, inout) == inout
    return Found(rules and inout > one, told={"words": one})


@answers("4")
def _least_messages_of_one(s: Setting) -> Found:
    printed = costs.sequential_messages(s.n**3, s.n**2 / 100, MATRICES * s.n**2, s.m)
    return Found(counts(s, 100.0, s.n**2 / 100)["messages"] * 100.0, printed)


def _parallel(s: Setting, p: float = 64.0) -> tuple[float, float, float]:
    """Flops, memory, and input and output of a processor, well inside the range."""
    return s.n**3 / p, s.n**2 / p ** (5 / 6), MATRICES * s.n**2 / p


@answers("5_holds")
def _no_less(s: Setting, what: str) -> Found:
    F, M, inout = _parallel(s)
    bound = costs.parallel_words(F, M, inout) / (s.m if what == "messages" else 1.0)
    ours = counts(s, 64.0, M)[what]
    return Found(ours >= bound, told={"M": M, "bound": bound, "counted": ours})


@answers("5_attained")
def _attained(s: Setting) -> Found:
    F, M, inout = _parallel(s)
    printed = costs.parallel_words(F, M, inout) + inout
    return Found(counts(s, 64.0, M)["words"], printed, told={"M": M})


@answers("5_zero")
def _vanishes(s: Setting) -> Found:
    ours = counts(s, 27.0, s.n**2 / 9.0)["words"]
    bound = costs.parallel_words(s.n**3 / 27, s.n**2 / 9, s.n**2 / 9)
    return Found(ours, MATRICES * s.n**2 / 27.0, told={"bound": bound})


@answers("blas2")
def _vector(s: Setting) -> bool:
    inout = s.n**2 + 2 * s.n
    return all(costs.sequential_words(s.n**2, size, inout) == inout for size in (1.0, 1e3, 1e6, 1e12))


@cache
def figure_3(model: str, points: int = 33) -> Scaling:
    """Least words per processor for every p when each has the memory that p_min = 16 processors need."""
    s, w = settings("matmul")[0], EXPONENTS[model]
    memory = s.n**2 / FIGURE_3_P_MIN
    p_max = s.n**w / memory ** (w / 2)
    p = np.unique(np.append(np.geomspace(FIGURE_3_P_MIN, 64.0 * FIGURE_3_P_MIN**1.5, points), p_max))
    return Scaling(
        p=p,
        words=np.array([_least_words(model, s, float(q), memory) for q in p]),
        memory_dependent=np.array([costs.memory_dependent_words(s.n, w, float(q), memory) for q in p]),
        memory_independent=np.array([costs.memory_independent_words(s.n, w, float(q)) for q in p]),
        p_max=p_max,
    )


def _least_words(model: str, s: Setting, p: float, memory: float) -> float:
    """Fewest words on exactly p processors with at most that memory each, by the solver."""
    solution = ask(
        {
            "model": model,
            "machine": as_machine(s),
            "given": {"order": s.n, "processors": p},
            "decide": {"memory": {"max": memory}},
            "objective": {"minimize": "words"},
        },
    )
    words = told(solution, "objective")
    return float("nan") if isinstance(words, str) else words


def _words_by_solver(model: str, s: Setting, p: float) -> float:
    return _least_words(model, s, p, s.n**2 / FIGURE_3_P_MIN)


@answers("fig3")
def _words_found(model: str, s: Setting, reach: str) -> Found:
    w, memory = EXPONENTS[model], s.n**2 / FIGURE_3_P_MIN
    last = FIGURE_3_P_MIN ** (w / 2)
    p = {"first": FIGURE_3_P_MIN, "last": last, "beyond": 16.0 * last}[reach]
    bounds = costs.memory_dependent_words(s.n, w, p, memory), costs.memory_independent_words(s.n, w, p)
    return Found(_words_by_solver(model, s, p), max(bounds), told={"p": p})


@answers("fig3_end")
def _end_of_strong_scaling(model: str) -> Found:
    return Found(figure_3(model).p_max, FIGURE_3_P_MIN ** (EXPONENTS[model] / 2))


def _scaling_exponent(model: str, s: Setting, low: float, high: float) -> float:
    """Exponent of words over p between two p."""
    return float(
        np.log(_words_by_solver(model, s, high) / _words_by_solver(model, s, low)) / np.log(high / low)
    )


@answers("fig3_slope")
def _beyond(model: str, s: Setting) -> Found:
    w = EXPONENTS[model]
    last = FIGURE_3_P_MIN ** (w / 2)
    return Found(_scaling_exponent(model, s, 10 * last, 100 * last), -2.0 / w)


@answers("fig3_slope:inside")
def _exponent_found(model: str, s: Setting) -> float:
    return _scaling_exponent(model, s, FIGURE_3_P_MIN, FIGURE_3_P_MIN ** (EXPONENTS[model] / 2))
