"""The engine and the brute force agree on questions nobody wrote down."""

from __future__ import annotations

from typing import Any

import pytest
from brute_force import answer
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from method_questions import NBODY
from oracle_conflicts import minimal_conflicts
from oracle_reading import ask

import dse

LIMITED = ("time", "energy", "power", "power_per_processor")


@st.composite
def questions(draw: st.DrawFn) -> dict[str, Any]:
    """A question about n-body, 2.5D or Strassen multiplication with limits near what the best need."""

    def factor(most: float) -> float:
        # never near 1: at a limit on its exact minimum the other quantities move with the root of its last digit
        return most ** (draw(st.sampled_from([-1, 1])) * draw(st.floats(0.05, 1)))

    model = draw(st.sampled_from(["nbody", "matmul", "strassen"]))
    size = (
        {"bodies": 1e5 * factor(10), "flops_per_pair": 10.0}
        if model == "nbody"
        else {"order": 8192 * factor(4)}
    )
    if model == "strassen":
        size["exponent"] = 2.807354922057604
    source: dict[str, Any] = {
        "model": model,
        # on this machine every cost matters
        "machine": {name: value * factor(5) for name, value in NBODY.items()},
        "given": size,
        "decide": {"processors": {"max": float(round(300 * factor(10)))}, "memory": {}},
        "objective": {"minimize": "energy"},
    }
    best = answer(ask(source)).at
    kind = draw(st.sampled_from(["real", "real", "integer", "powers"]))
    source["decide"]["processors"] |= {"real": {}, "integer": {"integer": True}, "powers": {"powers_of": 2}}[
        kind
    ]
    goal = draw(st.sampled_from(["energy", "time", "power", "energy_delay", "power_per_processor"]))
    chosen = draw(st.lists(st.sampled_from(LIMITED), max_size=2, unique=True))
    source["objective"] = {"minimize": goal}
    source["limits"] = {name: {"max": best[name] * factor(1.3 if name != "time" else 4)} for name in chosen}
    if draw(st.booleans()):
        source["decide"]["memory"] = {"max": best["memory"] * factor(3)}
    return source


def relaxed(source: dict[str, Any], name: str, most: float) -> dict[str, Any]:
    """The question with another upper limit of that name."""
    part = "decide" if name in source["decide"] else "limits"
    return source | {part: source[part] | {name: source[part][name] | {"max": most}}}


@pytest.mark.slow
# the same questions in every run; not shrunk, since each step of it would solve anew
@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(questions())
def test_engine_and_brute_force_agree(source: dict[str, Any]):
    """Status, objective to 1e-6, and the minimal conflicts where there is no answer."""
    best = answer(ask(source))
    solution = dse.solve(source)
    if best.feasible:
        assert solution.status == "optimal"
        assert solution.objective == pytest.approx(best.objective, rel=1e-6)
        assert solution.bound == pytest.approx(best.objective, rel=2e-6)
    else:
        assert solution.status == "infeasible"
        assert {frozenset(names) for names in solution.conflicts} == minimal_conflicts(ask(source))
        if len(solution.conflicts) == 1 and "powers_of" not in source["decide"]["processors"]:
            for name in solution.conflict.keys() - {"one_copy", "replication"}:
                would_do = solution.conflict[name]
                assert answer(ask(relaxed(source, name, would_do * (1 + 1e-6)))).feasible
                assert not answer(ask(relaxed(source, name, would_do * (1 - 1e-5)))).feasible
