"""A small real question and grid, built without the scenario language, and made-up answers to it."""

import itertools
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import xarray as xr

import dse.models
from results import dataset
from results.dataset import Arrays, Layout
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
    values: tuple[float | str, ...]


@dataclass(frozen=True)
class Grid:
    """Axes over one question; only ``limits.time.max`` and machine names really change it."""

    axes: tuple[Axis, ...]
    base: Question

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(a.values) for a in self.axes)

    def question(self, index: tuple[int, ...]) -> Question:
        from dataclasses import replace

        given = dict(self.base.given)
        for axis, place in zip(self.axes, index, strict=True):
            if axis.path == "machine":
                given["machine.leakage_power"] = float(place)
        return replace(self.base, given=given)


def made_up(value: float, status: Status = Status.OPTIMAL) -> Solution:
    """An answer whose every number follows from ``value``."""
    nan = float("nan")
    if status is Status.ERROR:
        return Solution(status, message=f"gave up at {value}", metrics={"energy": value}, seconds=value)
    if status is Status.INFEASIBLE:
        asked = {"time": LimitState(nan, value, "max", "s", nan, binding=False)}
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
def question() -> Question:
    return Question(
        model=dse.models.get("nbody"),
        given=GIVEN,
        decide=(Decision("processors", minimum=1.0, maximum=65536.0), Decision("memory", maximum=1e9)),
        objectives=(Objective("energy"),),
        limits=(Limit("time", maximum=1.0), Limit("power", 0.1, 1e4)),
        title="Least energy within a deadline",
        scenario_text='title = "Least energy within a deadline"\n',
    )


@pytest.fixture
def grid(question: Question) -> Grid:
    deadlines = tuple(float(i) for i in range(1, 61))
    return Grid(
        (
            Axis("deadline", "limits.time.max", "s", "longest time", deadlines),
            Axis("machine", "machine", "", "machine", ("small", "large")),
        ),
        question,
    )


@pytest.fixture
def plan(grid: Grid) -> Layout:
    return dataset.layout(grid, {"method": "made up"})


@pytest.fixture
def answer() -> Callable[..., Solution]:
    return made_up


@pytest.fixture
def make_axis() -> type[Axis]:
    return Axis


@pytest.fixture
def make_grid() -> type[Grid]:
    return Grid


@pytest.fixture
def arrays_of(plan: Layout) -> Callable[[tuple[slice, ...]], Arrays]:
    """Arrays of a block whose answers (optimal, error, infeasible) follow from their place in the grid."""
    kinds = (Status.OPTIMAL, Status.ERROR, Status.INFEASIBLE)

    def arrays(region: tuple[slice, ...]) -> Arrays:
        places = itertools.product(*(range(s.start, s.stop) for s in region))
        solutions = [made_up(1.0 + sum(p), kinds[sum(p) % 3]) for p in places]
        points = tuple(s.stop - s.start for s in region)
        assert len(solutions) == math.prod(points)
        return dataset.to_arrays(plan, solutions, points)

    return arrays


@pytest.fixture
def warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture
def ds(plan: Layout, arrays_of: Callable[[tuple[slice, ...]], Arrays]) -> xr.Dataset:
    made = dataset.to_dataset(plan, arrays_of(tuple(slice(0, n) for n in plan.shape)))
    made.attrs["title"] = "Least <script>alert(1)</script> | of $x_1$ & 50 %"
    return made
