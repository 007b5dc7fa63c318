"""The paper's formulas used as checks: apart from the models, and right against plain search and algebra."""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dse.papers
from dse.papers.demmel2013 import costs, nbody
from dse.papers.demmel2013.symbols import Setting

PACKAGE = Path(dse.papers.__file__).parent / "demmel2013"


def _factor() -> st.SearchStrategy[float]:
    return st.floats(0.2, 5.0)


@st.composite
def a_setting(draw: st.DrawFn) -> Setting:
    """Parameters of a machine on which every cost matters, each times 0.2 to 5."""
    base = (1e-9, 4e-8, 1e-5, 2e-10, 3e-6, 1e-5, 2e-5, 0.05)
    return Setting("drawn", 1e5, 10.0, *(value * draw(_factor()) for value in base), 1000.0)


@pytest.mark.parametrize("module", ["symbols", "nbody", "costs"])
def test_formulas_of_the_paper_know_nothing_of_our_models(module: str):
    tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
    imported = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
    }
    own = {"dse.papers.demmel2013.symbols"}
    assert {
        n for n in imported if n.split(".")[0] in {"dse", "scenarios", "formulations", "results", "solvers"}
    } <= own


@given(a_setting())
def test_no_memory_beats_m0(s: Setting):
    M = nbody.best_memory(s) * np.geomspace(0.01, 100.0, 401)
    assert nbody.least_energy(s) <= min(nbody.energy(s, float(q)) for q in M) * (1 + 1e-12)
    assert nbody.energy(s, nbody.best_memory(s)) == pytest.approx(nbody.least_energy(s), rel=1e-12)


@given(a_setting(), _factor())
def test_energy_over_time_is_p_times_the_power_of_a_processor(s: Setting, factor: float):
    M, p = factor * nbody.best_memory(s), 100.0
    power = nbody.energy(s, M) / nbody.time(s, p, M)
    assert power == pytest.approx(p * nbody.processor_power(s, M), rel=1e-12)


@given(a_setting(), _factor())
def test_p_min_just_meets_the_deadline_at_the_2d_limit(s: Setting, factor: float):
    T_max = factor * nbody.time_threshold(s)
    p = nbody.p_min(s, T_max)
    assert nbody.least_time(s, p) == pytest.approx(T_max, rel=1e-12)


@given(a_setting(), st.floats(1.01, 5.0))
def test_energy_budget_is_spent_at_the_most_processors_and_at_the_most_memory(s: Setting, factor: float):
    E_max = factor * nbody.least_energy(s)
    p = nbody.p_for_energy(s, E_max)
    assert nbody.energy(s, s.n / math.sqrt(p)) == pytest.approx(E_max, rel=1e-10)
    assert nbody.energy(s, nbody.most_memory_for_energy(s, E_max)) == pytest.approx(E_max, rel=1e-10)


@given(a_setting(), st.floats(1.1, 20.0))
def test_both_roots_of_20_draw_the_power_and_between_them_it_is_less(s: Setting, factor: float):
    P = nbody.processor_power(s, factor * nbody.best_memory(s))
    lower, upper = nbody.memory_for_power(s, P)
    assert nbody.processor_power(s, upper) == pytest.approx(P, rel=1e-9)
    if lower > 0:
        assert nbody.processor_power(s, lower) == pytest.approx(P, rel=1e-9)
    inner = np.geomspace(max(lower, 1e-6 * upper), upper, 50)[1:-1]
    assert all(nbody.processor_power(s, float(M)) <= P * (1 + 1e-12) for M in inner)


@given(a_setting())
def test_below_the_least_power_20_has_no_root(s: Setting):
    M = np.geomspace(1e-3, 1e9, 20_001)
    least = min(nbody.processor_power(s, float(q)) for q in M[::50])
    assert all(math.isnan(root) for root in nbody.memory_for_power(s, 0.95 * least))


@given(a_setting(), st.floats(0.05, 0.9), st.floats(1.1, 20.0))
def test_power_bound_runs_draw_exactly_the_power(s: Setting, little: float, much: float):
    M0 = nbody.best_memory(s)
    g = nbody.processor_power(s, M0)
    rich, poor = much * g * (s.n / M0) ** 2, little * g * s.n / M0
    assume(poor >= nbody.processor_power(s, s.n))  # else not even one processor runs
    M = nbody.memory_rich_power(s, rich)
    assert s.n**2 / M**2 * nbody.processor_power(s, M) == pytest.approx(rich, rel=1e-9)
    M = nbody.memory_poor_power(s, poor)
    assert s.n / M * nbody.processor_power(s, M) == pytest.approx(poor, rel=1e-9)


@given(a_setting(), _factor())
def test_no_run_within_total_power_is_faster_than_the_corrected_v_d(s: Setting, factor: float):
    M0 = nbody.best_memory(s)
    P = factor * nbody.processor_power(s, M0) * (s.n / M0) ** 1.5
    M = np.geomspace(1.0, s.n, 2001)
    p = np.minimum(P / np.array([nbody.processor_power(s, float(q)) for q in M]), s.n**2 / M**2)
    times = [nbody.time(s, float(k), float(q)) for k, q in zip(p, M, strict=True) if k * q >= s.n]
    assert nbody.time_for_power(s, P) <= min(times) * (1 + 1e-9)
    assert nbody.time_for_power(s, P) >= min(times) * (1 - 1e-3)  # the grid of M is that coarse


@given(a_setting(), st.floats(1.05, 3.0))
def test_targets_of_v_f_are_met_by_the_improved_machine(s: Setting, factor: float):
    cheap = nbody.best_efficiency(replace(s, gamma_e=s.gamma_e / factor))
    improved = replace(s, gamma_e=nbody.flop_energy_for_target(s, cheap))
    assert nbody.best_efficiency(improved) == pytest.approx(cheap, rel=1e-9)
    cheap = nbody.best_efficiency(replace(s, delta_e=s.delta_e / factor))
    improved = replace(s, delta_e=nbody.memory_power_for_target(s, cheap))
    assert nbody.best_efficiency(improved) == pytest.approx(cheap, rel=1e-9)


@given(a_setting(), st.floats(2.0, 1e6))
def test_11_and_14_are_10_and_13_at_the_replication_limit(s: Setting, p: float):
    corner = s.n**2 / p ** (2 / 3)
    assert costs.matmul_energy_3d(s, p) == pytest.approx(costs.matmul_energy(s, corner), rel=1e-10)
    w = math.log2(7.0)
    at_limit = costs.strassen_energy(s, w, s.n**2 / p ** (2 / w))
    assert costs.strassen_energy_unlimited(s, w, p, w + 2.0) == pytest.approx(at_limit, rel=1e-10)


def test_two_level_energy_is_the_sum_of_its_parts_at_both_levels():
    """(17) and (12) as corrected equal (2) written out for nodes and cores; as printed (17) does not."""
    s = costs.TwoLevel(4096, 12, 8, 16, 2e6, 65536, 1e-10, 3e-10, 0.4, 5e-9, 7e-10, 6e-9, 9e-10, 2e-8, 5e-8)
    power = s.p_n * s.delta_n * s.M_n + s.p * (s.delta_l * s.M_l + s.epsilon_e)

    def whole(flops: float, node_words: float, core_words: float) -> float:
        time = s.gamma_t * flops + s.beta_t_n * node_words + s.beta_t_l * core_words
        busy = s.p * (s.gamma_e * flops + s.beta_e_l * core_words) + s.p_n * s.beta_e_n * node_words
        return busy + power * time

    pairs = whole(s.f * s.n**2 / s.p, s.n**2 / (s.M_n * s.p_n), s.n**2 / (s.M_l * s.p))
    assert costs.nbody_energy_two_level(s) == pytest.approx(pairs, rel=1e-12)
    assert costs.nbody_energy_two_level_printed(s) != pytest.approx(pairs, rel=1e-3)
    product = whole(s.n**3 / s.p, s.n**3 / (s.p_n * math.sqrt(s.M_n)), s.n**3 / (s.p * math.sqrt(s.M_l)))
    assert costs.matmul_energy_two_level(s) == pytest.approx(product, rel=1e-12)
