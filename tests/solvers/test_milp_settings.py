"""Settings per phase: 16 settings and 5 phases against all 1048576 choices."""

import itertools
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.models.platforms.dvfs import DVFS
from dse.models.shared.structure import Parts, Row
from results.solution import Status
from scenarios.question import Decision, Limit, Objective, Question
from solvers.answer import answer

COUNT, PHASES = 16, 5


class Program:
    """Random times and powers of five phases at sixteen settings, with a price on switching."""

    def __init__(self, seed: int, count: int = COUNT, phases: int = PHASES) -> None:
        r = np.random.default_rng(seed)
        frequency = np.linspace(0.3, 1.0, count)
        voltage = 0.6 + 0.5 * frequency
        work, traffic = r.uniform(1e8, 3e9, phases), r.uniform(1e7, 2e9, phases)
        self.time = np.maximum(work[:, None] / (2e9 * frequency), traffic[:, None] / 1.2e9)
        self.price = 4e-10 * voltage**2 * r.uniform(0.8, 1.2, count)
        self.constant = 0.2 + 3.0 * voltage * r.uniform(0.9, 1.1, count)
        self.work = work
        self.energy = work[:, None] * self.price + self.constant * self.time
        self.switch = (float(r.uniform(0.0, 0.05)), float(r.uniform(0.0, 0.2)))

    def question(self, goal: str, *limits: Limit, maximize: bool = False) -> Question:
        names = [f"s{k}" for k in range(self.time.shape[1])]
        rows = tuple(
            Row(f"p{i}", stated=frozenset({"flops", *(f"times.{n}" for n in names)}))
            for i in range(len(self.time))
        )
        menu = tuple({"name": n, "constant_power": 1.0, "energy_per_flop": 1.0} for n in names)
        assert DVFS.expand is not None
        model = DVFS.expand(Parts({"phases": rows}, (), menu))
        numbers: dict[str, float | str] = {"switch_time": self.switch[0], "switch_energy": self.switch[1]}
        for i in range(len(self.time)):
            numbers[f"phases.p{i}.flops"] = float(self.work[i])
            numbers |= {f"phases.p{i}.times.{n}": float(t) for n, t in zip(names, self.time[i], strict=True)}
        for k, n in enumerate(names):
            numbers[f"machine.{n}.constant_power"] = float(self.constant[k])
            numbers[f"machine.{n}.energy_per_flop"] = float(self.price[k])
        values = tuple(float(k + 1) for k in range(len(names)))
        decide = tuple(Decision(u.name, integer=True, values=values) for u in model.unknowns)
        return Question(model, numbers, decide, (Objective(goal, maximize),), limits)

    def every(self) -> dict[str, np.ndarray]:
        """Time and energy of every choice, one axis per phase."""
        phases, count = self.time.shape
        at = np.indices((count,) * phases).reshape(phases, -1)
        moved = sum((a != b).astype(float) for a, b in itertools.pairwise(at))
        time = sum(self.time[i][k] for i, k in enumerate(at)) + self.switch[0] * moved
        energy = sum(self.energy[i][k] for i, k in enumerate(at)) + self.switch[1] * moved
        hottest = np.max([(self.energy / self.time)[i][k] for i, k in enumerate(at)], axis=0)
        return {
            "time": time,
            "energy": energy,
            "power": energy / time,
            "phase_power": hottest,
            "switches": moved,
        }


@lru_cache(maxsize=2)
def large(seed: int) -> tuple[Program, dict[str, np.ndarray]]:
    p = Program(seed)
    return p, p.every()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("goal", ["energy", "power", "time"])
def test_a_million_choices_under_a_deadline(seed: int, goal: str) -> None:
    p, every = large(seed)
    deadline = float(every["time"].min() + 0.35 * (np.median(every["time"]) - every["time"].min()))
    held = every["time"] <= deadline
    s = answer(p.question(goal, Limit("time", maximum=deadline)), neighbours=False)
    assert s.status is Status.OPTIMAL
    assert s.objective == pytest.approx(float(every[goal][held].min()), rel=1e-9)
    assert s.gap is not None
    assert s.gap <= 1e-6


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), level=st.floats(0.0, 1.0), most=st.booleans())
def test_limits_on_heat_and_switches_against_every_choice(seed: int, level: float, most: bool) -> None:
    p = Program(seed, 6, 3)
    every = p.every()
    hot = float(np.quantile(every["phase_power"], level)) * (1 + 1e-9)
    held = (every["phase_power"] <= hot) & (every["switches"] <= 1.0)
    limits = [Limit("phase_power", maximum=hot), Limit("switches", maximum=1.0)]
    goal = "power" if most else "energy"
    s = answer(p.question(goal, *limits, maximize=most), neighbours=False)
    if not held.any():
        assert s.status is Status.INFEASIBLE
        return
    values = every[goal][held]
    assert s.objective == pytest.approx(float(values.max() if most else values.min()), rel=1e-9)
