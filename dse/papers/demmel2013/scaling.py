"""Section III: the communication lower bounds (3) to (5), and Figure 3: how far strong scaling goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from dse.papers.asking import ask, metrics, told
from dse.papers.demmel2013 import costs
from dse.papers.demmel2013.algorithms import EXACT, PINNED, STRASSEN
from dse.papers.demmel2013.questions import settings
from dse.papers.demmel2013.symbols import Setting, as_machine
from dse.papers.report import Row
from dse.papers.sources import statements

SAYS = statements("demmel2013")
MATRICES = 3.0  # two matrices in and one out
EXPONENTS = {"matmul": 3.0, "strassen": STRASSEN}
FIGURE_3_P_MIN = 16.0


@dataclass(frozen=True, slots=True)
class Scaling:
    """Words per processor against p with a fixed memory each: the answer's and the paper's bounds."""

    p: np.ndarray
    words: np.ndarray
    memory_dependent: np.ndarray
    memory_independent: np.ndarray
    p_max: float


def rows() -> list[Row]:
    """Return the bounds at work, then Figure 3 point by point."""
    return [*_bounds(settings("matmul")[0]), *_figure_3()]


def _bounds(s: Setting) -> list[Row]:
    n, p = s.n, 64.0
    F, inout = n**3 / p, MATRICES * n**2 / p
    M = n**2 / p ** (5 / 6)
    got = _counts(s, p, M)
    one = _counts(s, 1.0, n**2)
    meeting = _counts(s, 27.0, n**2 / 9.0)
    messages = costs.parallel_words(F, M, inout) / s.m
    vector = all(
        costs.sequential_words(n**2, size, n**2 + 2 * n) == n**2 + 2 * n for size in (1.0, 1e3, 1e6, 1e12)
    )
    item = f"n = {n:.0f}, p = {p:.0f}, M = {M:.6g}, I+O = 3n²/p"
    return [
        Row(
            SAYS["3"],
            f"n = {n:.0f}, M = n²/100, I+O = 3n²: F/√M rules",
            costs.sequential_words(n**3, n**2 / 100, 3 * n**2),
            _counts(s, 100.0, n**2 / 100)["words"] * 100.0,
            "word",
            tolerance=EXACT,
            remark="ours: words of all processors together",
        ),
        Row(
            SAYS["3"],
            f"n = {n:.0f}, one processor, M = n², I+O = 3n²: I+O rules, 2.5D counts stay below",
            "yes",
            _yes(costs.sequential_words(n**3, n**2, 3 * n**2) == 3 * n**2 > one["words"]),
            remark=f"2.5D counts {one['words']:.4g} words: starting and ending in fast memory is free there",
        ),
        Row(
            SAYS["4"],
            f"n = {n:.0f}, M = n²/100, m = {s.m:.0f}",
            costs.sequential_messages(n**3, n**2 / 100, 3 * n**2, s.m),
            _counts(s, 100.0, n**2 / 100)["messages"] * 100.0,
            "message",
            tolerance=EXACT,
        ),
        Row(
            SAYS["5_holds"],
            f"{item}: words",
            "yes",
            _yes(got["words"] >= costs.parallel_words(F, M, inout)),
            remark=f"bound {costs.parallel_words(F, M, inout):.6g}, 2.5D {got['words']:.6g} words",
        ),
        Row(
            SAYS["5_holds"],
            f"{item}: messages",
            "yes",
            _yes(got["messages"] >= messages),
            remark=f"bound {messages:.6g}, 2.5D {got['messages']:.6g} messages",
        ),
        Row(
            SAYS["5_attained"],
            item,
            costs.parallel_words(F, M, inout) + inout,
            got["words"],
            "word",
            tolerance=EXACT,
        ),
        Row(
            SAYS["5_zero"],
            "3D limit, p = 27: words equal I+O",
            MATRICES * n**2 / 27.0,
            meeting["words"],
            "word",
            tolerance=1e-9,
            remark=f"bound (5) there: {costs.parallel_words(n**3 / 27, n**2 / 9, n**2 / 9):.3g}",
        ),
        Row(SAYS["blas2"], "matrix-vector product, M = 1 to 1e12 words", "yes", _yes(vector)),
    ]


def _counts(s: Setting, p: float, M: float) -> Mapping[str, float]:
    return metrics("matmul", as_machine(s), {"order": s.n, "processors": p, "memory": M})


def _yes(claim: bool) -> str:
    return "yes" if claim else "no"


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


def _figure_3() -> list[Row]:
    found = []
    for model, w in EXPONENTS.items():
        s = settings("matmul")[0]
        scaling = figure_3(model)
        memory = s.n**2 / FIGURE_3_P_MIN
        for p in (FIGURE_3_P_MIN, FIGURE_3_P_MIN ** (w / 2), 16.0 * FIGURE_3_P_MIN ** (w / 2)):
            bound = max(
                costs.memory_dependent_words(s.n, w, p, memory), costs.memory_independent_words(s.n, w, p)
            )
            item = f"{model}, n = {s.n:.0f}, memory n²/16, p = {p:.4g}"
            found.append(
                Row(SAYS["fig3"], item, bound, _least_words(model, s, p, memory), "word", tolerance=PINNED)
            )
        low, high = FIGURE_3_P_MIN, FIGURE_3_P_MIN ** (w / 2)
        found.append(Row(SAYS["fig3_end"], f"{model}, p_min = 16", high, scaling.p_max, "", tolerance=EXACT))
        slope = np.log(_least_words(model, s, 100 * high, memory) / _least_words(model, s, 10 * high, memory))
        item = f"{model}, exponent of words beyond the range"
        found.append(Row(SAYS["fig3_slope"], item, -2.0 / w, float(slope / np.log(10.0)), "", tolerance=1e-5))
        inside = np.log(_least_words(model, s, high, memory) / _least_words(model, s, low, memory))
        item = f"{model}, exponent of words inside the range"
        found.append(
            Row(SAYS["fig3_slope"], item, -1.0, float(inside / np.log(high / low)), "", tolerance=1e-5)
        )
    return found


def words(model: str, s: Setting, p: float, M: float) -> float:
    """Words per processor of a run, by the model."""
    return metrics(model, as_machine(s), {"order": s.n, "processors": p, "memory": M})["words"]
