"""Sections III and IV: cost formulas and replication limits of every algorithm beside the models' metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from dse.papers.asking import ask, metrics, told
from dse.papers.comparer import Found
from dse.papers.demmel2013 import costs, nbody
from dse.papers.demmel2013.questions import answers
from dse.papers.demmel2013.symbols import Setting, as_machine
from dse.papers.sources import table
from results.solution import Solution

STRASSEN = math.log2(7.0)
EXPONENTS = {"matmul": 3.0, "strassen": STRASSEN, "lu": 3.0}
MESSAGE = 50.0  # words per message where latency is put back into the two-level formulas


def _middle_of_range(s: Setting, exponent: float = 3.0) -> tuple[float, float]:
    """Return some p and M well inside the range n^2/p <= M <= n^2/p^(2/w)."""
    p = s.n**0.75
    return p, s.n**2 / p ** ((1.0 + 2.0 / exponent) / 2.0)


@cache
def _metrics_at_middle(model: str, s: Setting, **other: float) -> Mapping[str, float]:
    """Metrics of a product or factorisation in the middle of its range; ``other`` memory or largest message."""
    p, M = _middle_of_range(s, EXPONENTS[model])
    given = {"order": s.n, "processors": p, "memory": other.get("memory", M)}
    if model == "strassen":
        given["exponent"] = STRASSEN
    return metrics(model, as_machine(replace(s, m=other.get("m", s.m))), given)


def _details_at_middle(s: Setting, exponent: float = 3.0) -> dict[str, object]:
    p, M = _middle_of_range(s, exponent)
    return {"p": p, "M": M, "c": p * M / s.n**2}


@answers("7_W")
def _matmul_words_found(s: Setting) -> Found:
    p, M = _middle_of_range(s)
    return Found(
        _metrics_at_middle("matmul", s)["words"],
        s.n**2 / math.sqrt(p * M / s.n**2 * p),
        told=_details_at_middle(s),
    )


@answers("7_S")
def _messages(s: Setting) -> Found:
    p, M = _middle_of_range(s)
    printed = math.sqrt(p / (p * M / s.n**2) ** 3)
    return Found(_metrics_at_middle("matmul", s, m=M)["messages"], printed, told=_details_at_middle(s))


@answers("9")
def _matmul_time_found(s: Setting) -> Found:
    return Found(
        _metrics_at_middle("matmul", s)["time"],
        costs.matmul_time(s, *_middle_of_range(s)),
        told=_details_at_middle(s),
    )


@answers("10")
def _matmul_energy_found(s: Setting) -> Found:
    return Found(
        _metrics_at_middle("matmul", s)["energy"],
        costs.matmul_energy(s, _middle_of_range(s)[1]),
        told=_details_at_middle(s),
    )


@answers("11")
def _energy_3d(s: Setting) -> Found:
    p, _ = _middle_of_range(s)
    corner = s.n**2 / p ** (2 / 3) * (1.0 - 1e-15)
    return Found(
        _metrics_at_middle("matmul", s, memory=corner)["energy"],
        costs.matmul_energy_3d(s, p),
        told=_details_at_middle(s),
    )


@answers("fn4")
def _least_memory(s: Setting) -> Found:
    p, _ = _middle_of_range(s)
    least = ask(
        {
            "model": "matmul",
            "machine": as_machine(s),
            "given": {"order": s.n, "processors": p},
            "decide": {"memory": {}},
            "objective": {"minimize": "memory"},
        },
    )
    return Found(told(least, "objective"), s.n, corrected=s.n**2 / p, told=_details_at_middle(s))


@cache
def _fewest_and_most_processors(s: Setting, model: str) -> tuple[Solution, Solution]:
    """Perfect strong scaling at fixed M: the fewest and the most processors."""
    question: dict[str, Any] = {
        "model": model,
        "machine": as_machine(s),
        "given": {"order": s.n, "memory": _middle_of_range(s, EXPONENTS[model])[1]},
        "decide": {"processors": {}},
    }
    fewest = ask(question | {"objective": {"minimize": "processors"}})
    return fewest, ask(question | {"objective": {"maximize": "processors"}})


def _bounds(s: Setting, model: str) -> tuple[float, float]:
    """p_min and p_max by the paper."""
    w, M = EXPONENTS[model], _middle_of_range(s, EXPONENTS[model])[1]
    return s.n**2 / M, s.n**w / M ** (w / 2)


def _most_over_fewest(s: Setting, model: str, metric: str) -> float:
    fewest, most = _fewest_and_most_processors(s, model)
    return most.metrics[metric] / fewest.metrics[metric] if fewest.metrics and most.metrics else math.nan


@answers("range_low")
def _fewest(s: Setting, model: str) -> Found:
    ours = told(_fewest_and_most_processors(s, model)[0], "objective")
    return Found(ours, _bounds(s, model)[0], told=_details_at_middle(s, EXPONENTS[model]))


@answers("range_high")
def _found_most_processors(s: Setting, model: str) -> Found:
    ours = told(_fewest_and_most_processors(s, model)[1], "objective")
    return Found(ours, _bounds(s, model)[1], told=_details_at_middle(s, EXPONENTS[model]))


@answers("range_energy")
def _same_energy(s: Setting, model: str) -> Found:
    return Found(_most_over_fewest(s, model, "energy"), told=_details_at_middle(s, EXPONENTS[model]))


@answers("range_time")
def _shorter(s: Setting, model: str) -> Found:
    low, high = _bounds(s, model)
    return Found(
        _most_over_fewest(s, model, "time"), low / high, told=_details_at_middle(s, EXPONENTS[model])
    )


@answers("13")
def _strassen(s: Setting) -> Found:
    printed = costs.strassen_energy(s, STRASSEN, _middle_of_range(s, STRASSEN)[1])
    return Found(_metrics_at_middle("strassen", s)["energy"], printed, told=_details_at_middle(s, STRASSEN))


@answers("14")
def _strassen_unlimited(s: Setting) -> Found:
    p, _ = _middle_of_range(s, STRASSEN)
    printed, right = (costs.strassen_energy_unlimited(s, STRASSEN, p, k) for k in (5.0, STRASSEN + 2.0))
    corner = s.n**2 / p ** (2 / STRASSEN) * (1.0 - 1e-15)
    return Found(
        _metrics_at_middle("strassen", s, memory=corner)["energy"], printed, corrected=right, told={"p": p}
    )


@answers("LU_S")
def _lu(s: Setting) -> Found:
    return Found(
        _metrics_at_middle("lu", s)["messages"],
        costs.lu_messages(s, *_middle_of_range(s)),
        told=_details_at_middle(s),
    )


@answers("LU_cp")
def _lu_by_copies(s: Setting) -> Found:
    p, M = _middle_of_range(s)
    return Found(
        _metrics_at_middle("lu", s)["messages"], math.sqrt(p * M / s.n**2 * p), told=_details_at_middle(s)
    )


def _nbody(s: Setting, metric: str, printed: float) -> Found:
    M = nbody.best_memory(s)
    p = (s.n / M) ** 1.5
    given = {"bodies": s.n, "flops_per_pair": s.f, "processors": p, "memory": M}
    return Found(metrics("nbody", as_machine(s), given)[metric], printed, told={"p": p, "M": M})


@answers("15")
def _nbody_time(s: Setting) -> Found:
    M = nbody.best_memory(s)
    return _nbody(s, "time", nbody.time(s, (s.n / M) ** 1.5, M))


@answers("16")
def _nbody_energy(s: Setting) -> Found:
    return _nbody(s, "energy", nbody.energy(s, nbody.best_memory(s)))


@answers("VE_power")
def _nbody_power(s: Setting) -> Found:
    return _nbody(s, "power_per_processor", nbody.processor_power(s, nbody.best_memory(s)))


@cache
def two_level() -> costs.TwoLevel:
    """Return the two-level machine and problem for which (12) and (17) are compared."""
    return costs.TwoLevel(**{k: float(v) for k, v in table("demmel2013/two_level")[0].items()})


def _two_level(model: str, metric: str, **latency: float) -> float:
    s = two_level()
    levels = {"nodes": s.p_n, "cores": s.p_l, "node_memory": s.M_n, "core_memory": s.M_l}
    machine = {
        "time_per_flop": s.gamma_t,
        "energy_per_flop": s.gamma_e,
        "leakage_power": s.epsilon_e,
        "node_time_per_word": s.beta_t_n,
        "core_time_per_word": s.beta_t_l,
        "node_energy_per_word": s.beta_e_n,
        "core_energy_per_word": s.beta_e_l,
        "node_memory_power_per_word": s.delta_n,
        "core_memory_power_per_word": s.delta_l,
    }
    machine |= {f"{level}_{k}": v for level in ("node", "core") for k, v in latency.items()}
    problem = {"order": s.n} if model == "matmul" else {"bodies": s.n, "flops_per_pair": s.f}
    return metrics(f"{model}_two_level", machine, {**problem, **levels})[metric]


@answers("12_T")
def _time_12() -> Found:
    printed, right = (costs.matmul_time_two_level(two_level(), power) for power in (2, 3))
    return Found(_two_level("matmul", "time"), printed, corrected=right)


@answers("17_E")
def _energy_17() -> Found:
    printed, right = (
        costs.nbody_energy_two_level_printed(two_level()),
        costs.nbody_energy_two_level(two_level()),
    )
    return Found(_two_level("nbody", "energy"), printed, corrected=right)


answers("12_E")(lambda: Found(_two_level("matmul", "energy"), costs.matmul_energy_two_level(two_level())))
answers("17_T")(lambda: Found(_two_level("nbody", "time"), costs.nbody_time_two_level(two_level())))


@answers("latency")
def _latency() -> Found:
    """Put latency into the cost per word: beta m + alpha as printed, beta + alpha/m in truth."""
    s, alpha = two_level(), 1e-7
    late = _two_level("nbody", "time", time_per_message=alpha, energy_per_message=0.0, max_message=MESSAGE)
    printed, right = (
        replace(s, beta_t_n=factor * s.beta_t_n + added, beta_t_l=factor * s.beta_t_l + added)
        for factor, added in ((MESSAGE, alpha), (1.0, alpha / MESSAGE))
    )
    return Found(late, costs.nbody_time_two_level(printed), corrected=costs.nbody_time_two_level(right))


def _fft(s: Setting, p: str, metric: str, printed: float, all_to_all: str = "tree") -> Found:
    given = {"points": s.n, "processors": float(p), "all_to_all": all_to_all}
    return Found(metrics("fft", as_machine(s), given)[metric], printed, told={"order": s.n})


answers("FFT_F")(lambda s, p: _fft(s, p, "flops", s.n * math.log2(s.n) / float(p)))
answers("FFT_naive")(lambda s, p: _fft(s, p, "words", s.n / float(p), "naive"))
answers("FFT_naive:messages")(lambda s, p: _fft(s, p, "messages", float(p), "naive"))
answers("FFT_tree")(lambda s, p: _fft(s, p, "words", s.n * math.log2(float(p)) / float(p)))
answers("FFT_tree:messages")(lambda s, p: _fft(s, p, "messages", math.log2(float(p))))
answers("FFT_T")(lambda s, p: _fft(s, p, "time", costs.fft_time(s, float(p))))
answers("FFT_E")(lambda s, p: _fft(s, p, "energy", costs.fft_energy(s, float(p))))
