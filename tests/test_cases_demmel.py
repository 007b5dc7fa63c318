"""The reference cases of Demmel et al. 2013 (tests/data/cases_demmel.csv), asked the way a user asks.

Each row becomes one question or a few. Claims: the objective to 1e-6 relative; p, M, T, E and power where the
optimum pins them; for infeasible questions every minimal set of conflicting limits, in the user's names.
"""

from __future__ import annotations

import math

import pytest
from brute_force import answer
from demmel_cases import CASES, ROWS, Case
from oracle_conflicts import minimal_conflicts
from oracle_reading import ask

import dse

EXACT = 1e-6
# An objective known to a relative 1e-6 leaves a variable at a stationary point known to its square root,
# 1e-3; p goes with M^-2 there.
FLAT = 5e-3


def test_every_row_is_asked():
    """No row of the file is left out."""
    assert len(ROWS) == 35
    assert {case.name.split("/")[0] for case in CASES} == {row["id"] for row in ROWS}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_brute_force_agrees_with_the_reference(case: Case):
    """The oracle of the other tests gives the reference answers, and the questions are mapped as meant."""
    best = answer(ask(case.mapping))
    assert minimal_conflicts(ask(case.mapping)) == case.conflicts if case.conflicts else best.feasible
    if best.feasible:
        assert best.objective == pytest.approx(case.objective, rel=EXACT)
        for name, value in (case.pinned | case.flat).items():
            assert best.at[name] == pytest.approx(value, rel=EXACT if name in case.pinned else FLAT)
        if case.processors:
            assert (best.fewest, best.fastest) == pytest.approx(case.processors, rel=EXACT)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_engine_agrees_with_the_reference(case: Case):
    """Solve the question as a user would and compare with the row."""
    solution = dse.solve(dse.load(case.mapping))
    if case.conflicts:
        assert solution.status == "infeasible"
        assert {frozenset(names) for names in solution.conflicts} == case.conflicts
        assert frozenset(solution.conflict) in case.conflicts
        return
    assert solution.status == "optimal"
    assert solution.gap <= 1e-6
    assert solution.objective == pytest.approx(case.objective, rel=EXACT)
    found = {**solution.metrics, **solution.variables}
    for name, value in case.pinned.items():
        assert found[name] == pytest.approx(value, rel=EXACT), name
    for name, value in case.flat.items():
        assert found[name] == pytest.approx(value, rel=FLAT), name
    if case.processors:
        low, high = case.processors
        assert low * (1 - FLAT) <= found["processors"] <= high * (1 + FLAT)
    assert all(math.isfinite(v) for v in solution.metrics.values())
