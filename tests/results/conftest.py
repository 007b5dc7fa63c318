"""A small real question and grid, built without the scenario language."""

from dataclasses import dataclass

import pytest

import dse.models
from dse.quantities import Quantity
from results.solution import LimitState, Solution, Status
from scenarios.question import Decision, Limit, Objective, Question

GIVEN = {
    "bodies": 1e4,
    "flops_per_pair": 20.0,
    "machine.time_per_flop": 2.5e-12,
    "machine.time_per_word": 1.6e-10,
    "machine.time_per_message": 6e-8,
    "machine.energy_per_flop": 3.8e-10,
    "machine.energy_per_word": 3.8e-10,
    "machine.energy_per_message": 0.0,
    "machine.memory_power_per_word": 5.8e-9,
    "machine.leakage_power": 0.0,
    "machine.max_message": 1024.0,
}


@dataclass(frozen=True)
class Axis:
    name: str
    path: str
    unit: str
    long_name: str
    values: tuple


@dataclass(frozen=True)
class Grid:
    axes: tuple
    given: dict

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(a.values) for a in self.axes)

    def question(self, index: tuple[int, ...]) -> Question:
        return Question(
            model=dse.models.get("nbody"),
            given=self.given,
            decide=(Decision("processors", minimum=1.0, maximum=65536.0), Decision("memory", maximum=1e9)),
            objectives=(Objective("energy"),),
            limits=(Limit("time", maximum=self.axes[0].values[index[0]]), Limit("power", 1.0, 1e4)),
            title="Least energy within a deadline",
            scenario_text='title = "Least energy within a deadline"\n',
            scenario_hash="abc123",
        )


def answer(value: float, status: Status = Status.OPTIMAL) -> Solution:
    """A made-up answer whose every number follows from ``value``."""
    if status is Status.ERROR:
        return Solution(status, message=f"gave up at {value}", seconds=value)
    if status is Status.INFEASIBLE:
        asked = {"time": LimitState(float("nan"), value, "max", "s", float("nan"), binding=False)}
        return Solution(status, conflict={"time": 2 * value}, limits=asked, seconds=value)
    return Solution(
        status,
        objective=value,
        bound=value * (1 - 1e-9),
        gap=1e-9,
        variables={"processors": value + 1, "memory": 10 * value},
        metrics={"energy": value, "time": 2 * value, "power": 0.5},
        limits={
            "time": LimitState(2 * value, 2 * value, "max", "s", 0.0, binding=True, elasticity=-0.7),
            "power.min": LimitState(0.5, 0.1, "min", "W", 4.0, binding=False, elasticity=0.0),
        },
        seconds=0.001 * value,
    )


@pytest.fixture
def grid() -> Grid:
    deadlines = Axis("deadline", "limits.time.max", "s", "deadline", tuple(float(i) for i in range(1, 61)))
    machines = Axis("machine", "machine", "", "machine", ("small", "large"))
    return Grid((deadlines, machines), GIVEN)


@pytest.fixture
def unit() -> type[Quantity]:
    return Quantity
