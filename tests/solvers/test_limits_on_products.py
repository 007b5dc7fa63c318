"""Limits on products of two ratios of affine forms: a budget of energy times time, beside shares and counts."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_questions import Regions, kinds, regions

import dse
from results.solution import Status
from scenarios.question import OPTIMAL_GAP, Limit
from solvers.answer import answer
from solvers.linear import large_numbers

LIBRARY = Path(__file__).parents[2] / "scenarios" / "library"

BY_LEVELS = "branch and bound over the level of a factor of energy_delay"
SEED = st.integers(0, 10**6)


def _every_share(system: Regions, steps: int) -> dict[str, np.ndarray]:
    """Time, energy and power of two regions divided over two processors in all pairs of shares of a walk."""
    c, walk = system.costs, np.linspace(0.0, 1.0, steps)
    shares = np.stack(np.meshgrid(walk, walk)).reshape(2, -1)
    on = np.stack([shares, 1.0 - shares])
    flops, data = (np.einsum("kip,i->kp", on, amount) for amount in (system.flops, system.bytes))
    times = np.maximum(c["time_per_flop"][:, None] * flops, c["time_per_byte"][:, None] * data)
    time = times.max(axis=0)
    spent = c["energy_per_flop"] @ flops + c["energy_per_byte"] @ data
    energy = spent + c["constant_power"].sum() * time
    return {"time": time, "energy": energy, "power": energy / time, "energy_delay": energy * time}


@settings(max_examples=8, deadline=None)
@given(seed=SEED, share=st.floats(1.02, 1.5), goal=st.sampled_from(["power", "time", "energy"]))
def test_divided_regions_against_a_walk_over_shares(seed: int, share: float, goal: str) -> None:
    system = regions(seed, 2, 2)
    every = _every_share(system, 401)
    budget = share * float(every["energy_delay"].min())
    s = answer(system.question(goal, Limit("energy_delay", maximum=budget), whole=False), neighbours=False)
    assert s.status is Status.OPTIMAL
    assert BY_LEVELS in s.certificate
    assert s.metrics["energy"] * s.metrics["time"] <= budget * (1 + 1e-8)
    best = float(every[goal][every["energy_delay"] <= budget].min())
    assert s.objective is not None
    assert s.objective <= best * (1 + OPTIMAL_GAP)
    # neighbours of the walk differ by less
    assert s.objective >= best * 0.97


@settings(max_examples=10, deadline=None)
@given(
    seed=SEED,
    count=st.integers(2, 4),
    share=st.floats(1.0001, 2.0),
    goal=st.sampled_from(["nameplate_power", "power", "time", "energy"]),
)
def test_counts_of_blocks_against_every_mix(seed: int, count: int, share: float, goal: str) -> None:
    system = kinds(seed, count)
    plates = system.costs["constant_power"] + system.costs["usable_power"]
    watts = float(plates.min() * 5.5)
    every = system.every(6)
    fits = every["nameplate_power"] <= watts
    budget = share * float(every["energy_delay"][fits].min())
    fits &= every["energy_delay"] <= budget
    limits = Limit("energy_delay", maximum=budget), Limit("nameplate_power", maximum=watts)
    s = answer(system.question(goal, *limits), neighbours=False)
    assert s.status is Status.OPTIMAL
    assert s.objective == pytest.approx(float(every[goal][fits].min()), rel=1e-6)


@settings(max_examples=5, deadline=None)
@given(seed=SEED, count=st.integers(2, 4), share=st.floats(0.1, 0.99))
def test_what_budget_would_do(seed: int, count: int, share: float) -> None:
    """Too small a budget of energy times time is told with the least one that a power cap leaves."""
    system = kinds(seed, count)
    plates = system.costs["constant_power"] + system.costs["usable_power"]
    watts = float(plates.min() * 3.5)
    every = system.every(4)
    least = float(every["energy_delay"][every["nameplate_power"] <= watts].min())
    limits = Limit("energy_delay", maximum=share * least), Limit("nameplate_power", maximum=watts)
    s = answer(system.question("energy", *limits), neighbours=False)
    assert s.status is Status.INFEASIBLE
    assert set(s.conflict) == {"energy_delay", "nameplate_power"}
    assert s.conflict["energy_delay"] == pytest.approx(least, rel=1e-6)


def test_a_budget_without_other_limits_needs_no_end_of_counts() -> None:
    """More blocks are always faster, so that no end of a search bounds how many there are."""
    system = kinds(3, 8)
    q = system.question("nameplate_power", Limit("energy_delay", maximum=1e10))
    s = answer(q, neighbours=False)
    assert s.status is Status.OPTIMAL
    assert BY_LEVELS in s.certificate
    assert s.metrics["energy_delay"] <= 1e10 * (1 + 1e-8)


def test_less_time_within_a_budget_has_no_end() -> None:
    """More blocks are faster and need no more energy times time: that is told at once, not by intervals."""
    s = answer(kinds(3, 8).question("time", Limit("energy_delay", maximum=1e10)), neighbours=False)
    assert s.status is Status.UNBOUNDED
    assert s.runaway.startswith("count.")


def test_a_budget_beside_a_power_cap_that_some_terms_of_a_maximum_cannot_hold() -> None:
    """Where neither the CPU nor the transfer can take longest the budget still has levels, and a value that does."""
    text = (LIBRARY / "partition_twelve_regions_power_cap.toml").read_text(encoding="utf-8")
    asked = tomllib.loads(text) | {"limits": {"power": {"max": "60 W"}, "energy_delay": {"max": 125.34}}}
    found = dse.solve(asked)
    assert found.status is Status.INFEASIBLE
    least = dse.solve(
        asked | {"limits": {"power": {"max": "60 W"}}, "objective": {"minimize": "energy_delay"}}
    )
    assert found.conflict == {"energy_delay": pytest.approx(least.objective, rel=1e-6)}


def test_counts_are_not_sought_where_a_level_leaves_a_strip(monkeypatch: pytest.MonkeyPatch):
    """Blocks that must not be too efficient, of many kinds: the value that would do is told, and no strip is searched.

    At the least energy that the other limits leave, no whole counts may be left: a search there goes on for minutes.
    """
    searched: list[int] = []
    near = large_numbers.in_near_strip
    monkeypatch.setattr(large_numbers, "in_near_strip", lambda *a: (searched.append(1), near(*a))[1])
    names = "nehalem nuc-cpu nuc-gpu apu-cpu apu-gpu gtx580 gtx680 gtx-titan xeon-phi pandaboard"
    told = {
        "model": "blocks",
        "machine": {
            n.replace("-", "_"): f"{n}-choi2014" for n in (*names.split(), "arndale-cpu", "arndale-gpu")
        },
        "given": {"flops": "1 Pflop", "intensity": 32},
        "objective": {"maximize": "performance"},
        "limits": {
            "nameplate_power": {"max": "10.2 W"},
            "energy_delay": {"max": 3508827899.8392463},
            "efficiency": {"max": 7267809219.394607},
        },
    }
    found = dse.solve(told, depth="limits")
    assert found.status is Status.INFEASIBLE
    assert found.conflicts == (("nameplate_power", "energy_delay"),)
    # two of the smallest GPU, and one of it
    assert found.conflict["nameplate_power"] == pytest.approx(12.22, rel=1e-9)
    assert found.conflict["energy_delay"] == pytest.approx(4217435720.8448114, rel=1e-6)
    assert not searched
