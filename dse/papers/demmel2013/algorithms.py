"""Sections III and IV: cost formulas and replication limits of every algorithm beside the models' metrics."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from dse.papers.asking import ask, metrics, told
from dse.papers.demmel2013 import costs, nbody
from dse.papers.demmel2013.questions import settings
from dse.papers.demmel2013.symbols import Setting, as_machine
from dse.papers.report import Row
from dse.papers.sources import statements, table

SAYS = statements("demmel2013")
EXACT = 1e-12
PINNED = 1e-6  # a quantity that a limit holds in place
STRASSEN = math.log2(7.0)
MESSAGE = 50.0  # words per message where latency is put back into the two-level formulas


def rows() -> list[Row]:
    """Every formula of section IV, and the 2.5D statements of section III."""
    found = []
    for s in settings("matmul"):
        found += [
            *_matmul(s),
            *_range(s, "matmul", 3.0),
            *_range(s, "strassen", STRASSEN),
            *_strassen(s),
            *_lu(s),
        ]
    for s in settings():
        found += _nbody(s)
    return [*found, *_two_level(), *(row for s in settings("fft") for row in _fft(s))]


def _middle(s: Setting, exponent: float) -> tuple[float, float]:
    """Return some p and M well inside the range n^2/p <= M <= n^2/p^(2/w)."""
    p = s.n**0.75
    return p, s.n**2 / p ** ((1.0 + 2.0 / exponent) / 2.0)


def _matmul(s: Setting) -> list[Row]:
    p, M = _middle(s, 3.0)
    machine = as_machine(s)
    given = {"order": s.n, "processors": p, "memory": M}
    got = metrics("matmul", machine, given)
    whole = metrics("matmul", machine | {"max_message": M}, given)
    c = p * M / s.n**2
    corner = s.n**2 / p ** (2 / 3)
    at_3d = metrics("matmul", machine, given | {"memory": corner * (1.0 - 1e-15)})
    least = ask(
        {
            "model": "matmul",
            "machine": machine,
            "given": {"order": s.n, "processors": p},
            "decide": {"memory": {}},
            "objective": {"minimize": "memory"},
        },
    )
    item = f"{s.name}, n = {s.n:.6g}, p = {p:.6g}, M = {M:.6g}"
    return [
        Row(
            SAYS["7_W"],
            f"{item}, c = {c:.4g}",
            s.n**2 / math.sqrt(c * p),
            got["words"],
            "word",
            tolerance=EXACT,
        ),
        Row(
            SAYS["7_S"], f"{item}, m = M", math.sqrt(p / c**3), whole["messages"], "message", tolerance=EXACT
        ),
        Row(SAYS["9"], item, costs.matmul_time(s, p, M), got["time"], "s", tolerance=EXACT),
        Row(SAYS["10"], item, costs.matmul_energy(s, M), got["energy"], "J", tolerance=EXACT),
        Row(
            SAYS["11"],
            f"{s.name}, n = {s.n:.6g}, p = {p:.6g}, M = n²/p^(2/3)",
            costs.matmul_energy_3d(s, p),
            at_3d["energy"],
            "J",
            tolerance=EXACT,
        ),
        Row(
            SAYS["fn4"],
            f"{s.name}, p = {p:.6g}, least memory",
            s.n,
            told(least, "objective"),
            "word",
            s.n**2 / p,
            PINNED,
        ),
    ]


def _range(s: Setting, model: str, exponent: float) -> list[Row]:
    """Perfect strong scaling at fixed M: from p_min to p_max the energy stays and the time falls as 1/p."""
    _, M = _middle(s, exponent)
    question: dict[str, Any] = {
        "model": model,
        "machine": as_machine(s),
        "given": {"order": s.n, "memory": M},
        "decide": {"processors": {}},
    }
    fewest = ask(question | {"objective": {"minimize": "processors"}})
    most = ask(question | {"objective": {"maximize": "processors"}})
    low, high = s.n**2 / M, s.n**exponent / M ** (exponent / 2)
    item = f"{model}, {s.name}, M = {M:.6g}"
    ratios = [
        most.metrics[k] / fewest.metrics[k] if fewest.metrics and most.metrics else math.nan
        for k in ("energy", "time")
    ]
    says = {name: SAYS[f"range_{name}"] for name in ("low", "high", "energy", "time")}
    return [
        Row(says["low"], item, low, told(fewest, "objective"), "", tolerance=PINNED),
        Row(says["high"], item, high, told(most, "objective"), "", tolerance=PINNED),
        Row(says["energy"], f"{item}, E(p_max)/E(p_min)", 1.0, ratios[0], "", tolerance=EXACT),
        Row(says["time"], f"{item}, T(p_max)/T(p_min)", low / high, ratios[1], "", tolerance=PINNED),
    ]


def _strassen(s: Setting) -> list[Row]:
    p, M = _middle(s, STRASSEN)
    given = {"order": s.n, "processors": p, "memory": M, "exponent": STRASSEN}
    got = metrics("strassen", as_machine(s), given)
    corner = s.n**2 / p ** (2 / STRASSEN) * (1.0 - 1e-15)
    at_limit = metrics("strassen", as_machine(s), given | {"memory": corner})
    printed, right = (costs.strassen_energy_unlimited(s, STRASSEN, p, k) for k in (5.0, STRASSEN + 2.0))
    item = f"{s.name}, n = {s.n:.6g}, p = {p:.6g}"
    return [
        Row(
            SAYS["13"],
            f"{item}, M = {M:.6g}",
            costs.strassen_energy(s, STRASSEN, M),
            got["energy"],
            "J",
            tolerance=EXACT,
        ),
        Row(SAYS["14"], f"{item}, M = n²/p^(2/ω)", printed, at_limit["energy"], "J", right, EXACT),
    ]


def _lu(s: Setting) -> list[Row]:
    p, M = _middle(s, 3.0)
    got = metrics("lu", as_machine(s), {"order": s.n, "processors": p, "memory": M})
    c = p * M / s.n**2
    item = f"{s.name}, n = {s.n:.6g}, p = {p:.6g}, c = {c:.4g}"
    return [
        Row(SAYS["LU_S"], item, costs.lu_messages(s, p, M), got["messages"], "message", tolerance=EXACT),
        Row(SAYS["LU_cp"], item, math.sqrt(c * p), got["messages"], "message", tolerance=EXACT),
    ]


def _nbody(s: Setting) -> list[Row]:
    M = nbody.best_memory(s)
    p = (s.n / M) ** 1.5
    got = metrics(
        "nbody", as_machine(s), {"bodies": s.n, "flops_per_pair": s.f, "processors": p, "memory": M}
    )
    item = f"{s.name}, p = {p:.6g}, M = {M:.6g}"
    return [
        Row(SAYS["15"], item, nbody.time(s, p, M), got["time"], "s", tolerance=EXACT),
        Row(SAYS["16"], item, nbody.energy(s, M), got["energy"], "J", tolerance=EXACT),
        Row(
            SAYS["VE_power"],
            item,
            nbody.processor_power(s, M),
            got["power_per_processor"],
            "W",
            tolerance=EXACT,
        ),
    ]


def _two_level() -> list[Row]:
    s = costs.TwoLevel(**{k: float(v) for k, v in table("demmel2013_two_level")[0].items()})
    levels = {"nodes": s.p_n, "cores": s.p_l, "node_memory": s.M_n, "core_memory": s.M_l}
    machine = _machine_two_level(s)
    multiply = metrics("matmul_two_level", machine, {"order": s.n, **levels})
    bodies = {"bodies": s.n, "flops_per_pair": s.f, **levels}
    pairs = metrics("nbody_two_level", machine, bodies)
    latency = {f"{level}_{k}": v for level in ("node", "core") for k, v in _LATENCY.items()}
    late = metrics("nbody_two_level", machine | latency, bodies)
    printed, right = (_with_latency(s, by_message) for by_message in (True, False))
    return [
        Row(
            SAYS["12_T"],
            "",
            costs.matmul_time_two_level(s, 2),
            multiply["time"],
            "s",
            costs.matmul_time_two_level(s, 3),
            EXACT,
        ),
        Row(SAYS["12_E"], "", costs.matmul_energy_two_level(s), multiply["energy"], "J", tolerance=EXACT),
        Row(SAYS["17_T"], "", costs.nbody_time_two_level(s), pairs["time"], "s", tolerance=EXACT),
        Row(
            SAYS["17_E"],
            "",
            costs.nbody_energy_two_level_printed(s),
            pairs["energy"],
            "J",
            costs.nbody_energy_two_level(s),
            EXACT,
        ),
        Row(
            SAYS["latency"],
            f"time beside (17), m = {MESSAGE:.0f}",
            costs.nbody_time_two_level(printed),
            late["time"],
            "s",
            costs.nbody_time_two_level(right),
            EXACT,
        ),
    ]


_LATENCY = {"time_per_message": 1e-7, "energy_per_message": 0.0, "max_message": MESSAGE}


def _with_latency(s: costs.TwoLevel, as_printed: bool) -> costs.TwoLevel:
    """Put latency into the cost per word: beta m + alpha as printed, beta + alpha/m in truth."""
    alpha = _LATENCY["time_per_message"]

    def word(beta: float) -> float:
        return beta * MESSAGE + alpha if as_printed else beta + alpha / MESSAGE

    return replace(s, beta_t_n=word(s.beta_t_n), beta_t_l=word(s.beta_t_l))


def _machine_two_level(s: costs.TwoLevel) -> dict[str, float]:
    return {
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


def _fft(s: Setting) -> list[Row]:
    p = 512.0
    given = {"points": s.n, "processors": p}
    tree = metrics("fft", as_machine(s), given | {"all_to_all": "tree"})
    naive = metrics("fft", as_machine(s), given | {"all_to_all": "naive"})
    item = f"{s.name}, n = {s.n:.6g}, p = {p:.0f}"
    return [
        Row(SAYS["FFT_F"], item, s.n * math.log2(s.n) / p, tree["flops"], "flop", tolerance=EXACT),
        Row(SAYS["FFT_naive"], f"{item}, words", s.n / p, naive["words"], "word", tolerance=EXACT),
        Row(SAYS["FFT_naive"], f"{item}, messages", p, naive["messages"], "message", tolerance=EXACT),
        Row(
            SAYS["FFT_tree"], f"{item}, words", s.n * math.log2(p) / p, tree["words"], "word", tolerance=EXACT
        ),
        Row(
            SAYS["FFT_tree"], f"{item}, messages", math.log2(p), tree["messages"], "message", tolerance=EXACT
        ),
        Row(SAYS["FFT_T"], item, costs.fft_time(s, p), tree["time"], "s", tolerance=EXACT),
        Row(SAYS["FFT_E"], item, costs.fft_energy(s, p), tree["energy"], "J", tolerance=EXACT),
    ]
