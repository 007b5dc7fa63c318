"""Grids of geometric programs answered at once: at every point what the question alone is answered with."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import results.dataset
import scenarios
from formulations import batch, handover
from results.dataset import STATUS_CODES, Arrays, Layout
from results.solution import Status
from scenarios.sweep.grids import Grid
from solvers.answer import answer
from solvers.batched import would_do
from solvers.batched.geometric_programs import geometric

NBODY = "bodies = 1e5\nflops_per_pair = 10"
FREE = "processors = { max = 65536 }\nmemory = {}"
LEAST_ENERGY = 'minimize = "energy"'


def grid(
    axes: dict[str, str],
    *,
    model: str = "nbody",
    machine: str = '"balanced"',
    waive: str = "",
    given: str = NBODY,
    decide: str = FREE,
    objective: str = LEAST_ENERGY,
    limits: str = "",
) -> Grid:
    """A question of a distributed machine with an axis for each path."""
    text = f'model = "{model}"\nmachine = {machine}\n{waive}\n[given]\n{given}\n[decide]\n{decide}\n'
    text += f"[objective]\n{objective}\n[limits]\n{limits}\n"
    for i, (path, values) in enumerate(axes.items()):
        text += f'[sweep.axis{i}]\npath = "{path}"\n{values}\n'
    return scenarios.grid(scenarios.from_text(text, "grid.toml"))


def log(start: str | float, stop: str | float, num: int) -> str:
    ends = (f'"{x}"' if isinstance(x, str) else x for x in (start, stop))
    return 'start = {}\nstop = {}\nnum = {}\nspacing = "log"'.format(*ends, num)


def at_once(asked: Grid) -> tuple[Layout, Arrays, np.ndarray]:
    """All points together, by NumPy."""
    way = geometric.Geometric(batch.apart(asked), compiled=False)
    plan = results.dataset.layout(asked, {})
    return plan, *way.solve(plan, tuple(slice(0, n) for n in asked.shape))


def assert_alike(asked: Grid, sample: int, seed: int) -> tuple[Arrays, np.ndarray]:
    """Compare every variable of the dataset, at points drawn by lot, with the answer to the point's question."""
    plan, arrays, left = at_once(asked)
    with handover.collected() as tally:
        would_do.complete(asked, plan, tuple(slice(0, n) for n in asked.shape), arrays, left)
    # the interior point may leave a value open: it is asked by itself, and counted
    assert tally.reasons.get(would_do.ALONE, 0) <= 0.01 * left.size
    places = np.argwhere(~left)
    chosen = np.random.default_rng(seed).choice(len(places), min(sample, len(places)), replace=False)
    one = (1,) * left.ndim
    for place in map(tuple, places[chosen].tolist()):
        alone = answer(asked.question(place), neighbours=False)
        for name, values in results.dataset.to_arrays(plan, [alone], one).items():
            expected, found = values[(0,) * left.ndim], arrays[name][place]
            where = f"{name} at {place}: {found}, alone {expected}"
            if name in {"objective", "bound"}:
                np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=where)
            elif name in {"gap", "elasticity", "halvings"}:
                # a rate is known to the square root of the gap; halvings of nothing are rounding
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6, err_msg=where)
            elif values.dtype.kind == "f" and name != "seconds":
                # a gap of 1e-9 leaves what the tie rule settles to its square root
                np.testing.assert_allclose(found, expected, rtol=3e-5, err_msg=where)
            elif name != "seconds":
                np.testing.assert_array_equal(found, expected, err_msg=where)
    return arrays, left


def share(arrays: Arrays, status: Status) -> float:
    return float((arrays["status"] == STATUS_CODES[status]).mean())


GRIDS = {
    "deadline": grid(
        {
            "limits.time.max": log("1 ms", "10 s", 12),
            "given.bodies": "values = [1e4, 1e5, 1e6]",
            "decide.processors.max": "values = [1, 10, 65536]",
        },
        limits='time = { max = "1 s" }',
    ),
    "energy and time of matmul": grid(
        {
            "limits.time.max": log("1 ms", "1000 s", 10),
            "machine.energy_per_word": "factors = [0.1, 1, 10, 0]",
            "given.order": "values = [1e3, 1e4, 1e5]",
        },
        model="matmul",
        given="order = 1e4",
        limits='time = { max = "1 s" }',
    ),
    "an exponent is swept": grid(
        {
            "limits.time.max": log("1 ms", "1000 s", 8),
            "given.exponent": "values = [2.2, 2.5, 2.807]",
            "limits.energy.max": log(1.0, 1e7, 8),
        },
        model="strassen",
        given="order = 1e4",
        objective='minimize = "energy_delay"',
        limits='energy = { max = "1e4 J" }\ntime = { max = "1 s" }',
    ),
    "a limit waived, no bound on processors": grid(
        {"limits.time.max": log("1 ms", "10 s", 10), "decide.memory.max": "values = [1e2, 1e4, 1e6]"},
        waive='waive = ["replication"]',
        decide="processors = {}\nmemory = { max = 1e9 }",
        limits='time = { max = "1 s" }',
    ),
    "limits that say nothing": grid(
        {
            "limits.performance.min": "values = [0, 1e6, 1e10, 1e12]",
            "decide.processors.min": "values = [1, 5, 1000]",
            "limits.time.max": log("10 ms", "10 s", 5),
        },
        decide="processors = { min = 1, max = 65536 }\nmemory = {}",
        limits='performance = { min = 1 }\ntime = { max = "1 s" }',
    ),
    "costs of nothing": grid(
        {
            "limits.energy.max": log(1.0, 1e5, 8),
            "machine.leakage_power": "factors = [0, 1, 10]",
            "machine.time_per_message": "factors = [0, 1, 5]",
        },
        objective='minimize = "time"',
        limits='energy = { max = "100 J" }',
    ),
    "most efficient": grid(
        {"limits.time.max": log("1 ms", "10 s", 10), "machine.leakage_power": "factors = [0, 1, 10]"},
        objective='maximize = "efficiency"',
        limits='time = { max = "1 s" }',
    ),
    "least memory": grid(
        {"limits.time.max": log("1 ms", "10 s", 8), "limits.energy.max": log(10.0, 1e6, 6)},
        objective='minimize = "memory"',
        limits='time = { max = "1 s" }\nenergy = { max = 1e4 }',
    ),
    "most processors": grid(
        {"limits.time.max": log("1 ms", "10 s", 8), "limits.energy.max": log(10.0, 1e6, 6)},
        decide="processors = {}\nmemory = {}",
        objective='maximize = "processors"',
        limits='time = { max = "1 s" }\nenergy = { max = 1e4 }',
    ),
    "two levels": grid(
        {"limits.time.max": log("1 ms", "1000 s", 8), "machine.energy_per_flop": "factors = [0.1, 1, 10]"},
        model="matmul_two_level",
        machine="""{ time_per_flop = 1e-9, energy_per_flop = 2e-10, leakage_power = 0.05,
            node_time_per_word = 4e-8, node_energy_per_word = 3e-6, node_memory_power_per_word = 2e-6,
            core_time_per_word = 4e-9, core_energy_per_word = 5e-8, core_memory_power_per_word = 2e-5 }""".replace(
            "\n", " "
        ),
        given="order = 8192\ncores = 16",
        decide="nodes = { max = 4096 }\nnode_memory = {}\ncore_memory = {}",
        limits='time = { max = "50 ms" }\nnode_copies = { min = 1 }\nnode_replication = { max = 1 }\n'
        "core_replication = { max = 1 }",
    ),
    # on the paper's own machine one processor is best: two limits meet there, with multipliers of about 1e-6
    "two limits that hardly matter": grid(
        {"limits.time.max": log("100 ms", "10 s", 8), "given.bodies": log(3e4, 3e5, 8)},
        machine='"jaketown"',
        decide="processors = { max = 300 }\nmemory = {}",
        limits='time = { max = "0.36 s" }',
    ),
    "a deadline and a limit that hardly matter": grid(
        {"limits.time.max": log("1 s", "1000 s", 12), "given.order": log(3e3, 3e5, 12)},
        model="lu",
        machine='"jaketown"',
        given="order = 3e4",
        limits='time = { max = "10 s" }',
    ),
    "limits that hardly matter beside one that does": grid(
        {"limits.efficiency.min": log("1 GFLOPS/W", "10 GFLOPS/W", 8), "given.bodies": log(3e4, 3e5, 8)},
        machine='"jaketown"',
        decide=FREE
        + "\n".join(
            f'\n"machine.{n}" = {{ max_halvings = 10 }}'
            for n in ("energy_per_flop", "energy_per_word", "memory_power_per_word")
        ),
        objective='minimize = "halvings"',
        limits='efficiency = { min = "3 GFLOPS/W" }',
    ),
    "machine parameters are decided": grid(
        {"limits.efficiency.min": log("1 GFLOPS/W", "1000 GFLOPS/W", 10)},
        decide=FREE
        + "\n".join(
            f'\n"machine.{n}" = {{ max_halvings = 10 }}'
            for n in ("energy_per_flop", "energy_per_word", "memory_power_per_word")
        ),
        objective='minimize = "halvings"',
        limits='efficiency = { min = "10 GFLOPS/W" }',
    ),
}


@pytest.mark.parametrize("name", GRIDS)
def test_every_number_is_that_of_the_question_alone(name: str):
    _, left = assert_alike(GRIDS[name], sample=25, seed=1)
    assert left.mean() < 0.05


def test_these_grids_hold_all_there_is():
    """Optimal and infeasible points, and limits in all states."""
    for name in ("deadline", "energy and time of matmul", "an exponent is swept", "costs of nothing"):
        _, arrays, _ = at_once(GRIDS[name])
        assert share(arrays, Status.OPTIMAL) > 0.2
        assert share(arrays, Status.INFEASIBLE) > 0.1
        states = set(np.unique(arrays["binding"]).tolist())
        assert {-1, 0, 1, 2} <= states


def test_what_runs_away_is_unbounded_at_every_point():
    asked = grid(
        {"limits.energy.max": log(10.0, 1e6, 8)},
        waive='waive = ["replication", "one_copy"]',
        decide="processors = {}\nmemory = {}",
        objective='minimize = "time"',
        limits="energy = { max = 1e4 }",
    )
    arrays, left = assert_alike(asked, sample=8, seed=1)
    assert not left.any()
    assert share(arrays, Status.UNBOUNDED) > 0.5


def test_blocks_give_what_the_whole_gives():
    """A point's status and limits do not depend on the block it is in, its numbers not beyond rounding."""
    asked = GRIDS["deadline"]
    way = geometric.Geometric(batch.apart(asked), compiled=False)
    plan, whole, left = at_once(asked)
    for corner in itertools.product((0, 7), (1,), (0, 2)):
        region = tuple(slice(c, c + 2) for c in corner)
        region = tuple(slice(s.start, min(s.stop, n)) for s, n in zip(region, asked.shape, strict=True))
        part, apart = way.solve(plan, region)
        np.testing.assert_array_equal(apart, left[region])
        for name, values in part.items():
            if values.dtype.kind == "f":
                np.testing.assert_allclose(values, whole[name][region], rtol=1e-7, atol=1e-9, err_msg=name)
            else:
                np.testing.assert_array_equal(values, whole[name][region], err_msg=name)


def test_compiled_and_by_threads_it_is_the_same(monkeypatch: pytest.MonkeyPatch):
    """The compiled kernel, pieces of a few points, several threads: the same states and numbers."""
    asked = GRIDS["deadline"]
    plan, whole, left = at_once(asked)
    monkeypatch.setattr(geometric, "PIECE", 10)
    monkeypatch.setattr(geometric, "threads", lambda: 4)
    way = geometric.Geometric(batch.apart(asked), compiled=True)
    arrays, apart = way.solve(plan, tuple(slice(0, n) for n in asked.shape))
    both = ~(left | apart)
    assert both.mean() > 0.95
    for name, values in arrays.items():
        if values.dtype.kind == "f":
            np.testing.assert_allclose(values[both], whole[name][both], rtol=3e-5, atol=1e-6, err_msg=name)
        else:
            np.testing.assert_array_equal(values[both], whole[name][both], err_msg=name)
    np.testing.assert_allclose(arrays["objective"][both], whole["objective"][both], rtol=1e-8)


def test_of_many_points_next_to_none_is_left_over():
    """8000 deadlines, sizes and machines, a third of them at the deadline: all certified."""
    asked = grid(
        {
            "limits.time.max": log("1 ms", "1000 s", 20),
            "given.bodies": log(1e4, 1e6, 20),
            "machine.energy_per_word": log(3e-7, 3e-5, 20),
        },
        limits='time = { max = "1 s" }',
    )
    assert geometric.way(asked).path is not None
    plan, arrays, left = at_once(asked)
    assert left.sum() <= 2
    assert np.nanmax(arrays["gap"]) <= 1e-6
    assert (arrays["binding"][..., plan.limits.index("time")] == 1).mean() > 0.2
    assert share(arrays, Status.INFEASIBLE) > 0.05


def test_whole_processors_are_those_of_an_enumeration():
    """Every p up to 40 with its own best memory, written out: the same least energy, or none."""
    asked = grid(
        {"limits.time.max": log("1 us", "10 ms", 40), "given.bodies": "values = [50, 200, 1000]"},
        decide="processors = { max = 40, integer = true }\nmemory = {}",
        limits='time = { max = "1 s" }',
    )
    m = {n.removeprefix("machine."): v for n, v in asked.question((0, 0)).given.items()}
    _, arrays, left = at_once(asked)
    deadline = np.array(asked.axes[0].values)[:, None, None]
    n = np.array(asked.axes[1].values)[None, :, None]
    p = np.arange(1.0, 41.0)
    # T = a + b/M and E = p (c + d/M + (e M + l) T) at fixed p, with n/p <= M <= n/sqrt(p) and M >= 1
    work = m["flops_per_pair"] * n**2 / p
    a, b = (
        m["time_per_flop"] * work,
        (m["time_per_word"] + m["time_per_message"] / m["max_message"]) * n**2 / p,
    )
    d = (m["energy_per_word"] + m["energy_per_message"] / m["max_message"]) * n**2 / p
    e, leak = m["memory_power_per_word"], m["leakage_power"]
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.maximum(np.maximum(n / p, 1.0), np.where(deadline > a, b / (deadline - a), np.inf))
        high = n / np.sqrt(p) * np.ones_like(deadline)
        M = np.clip(np.sqrt((d + leak * b) / (e * a)), low, np.maximum(low, high))
        energy = p * (m["energy_per_flop"] * work + d / M + (e * M + leak) * (a + b / M))
    best = np.where(low <= high * (1 + 1e-9), energy, np.inf).min(-1)
    there = np.isfinite(best)
    assert 0.1 < (~there).mean() < 0.9
    assert left.mean() < 0.05
    expected = np.where(there, STATUS_CODES[Status.OPTIMAL], STATUS_CODES[Status.INFEASIBLE])
    np.testing.assert_array_equal(arrays["status"][~left], expected[~left])
    sure = there & ~left
    np.testing.assert_allclose(arrays["objective"][sure], best[sure], rtol=1e-8)
    assert (arrays["bound"][sure] <= best[sure] * (1 + 1e-11)).all()


WHOLE = {
    "whole processors": grid(
        {
            "limits.time.max": log("1 ms", "10 s", 8),
            "given.bodies": "values = [1e2, 1e3, 1e4]",
            "machine.energy_per_word": "factors = [0.1, 10]",
        },
        decide="processors = { max = 65536, integer = true }\nmemory = {}",
        limits='time = { max = "1 s" }',
    ),
    "a power of two": grid(
        {"limits.time.max": log("1 ms", "10 s", 8), "given.bodies": "values = [1e2, 1e3, 1e4]"},
        decide="processors = { max = 65536, powers_of = 2 }\nmemory = {}",
        limits='time = { max = "1 s" }',
    ),
    "listed processors": grid(
        {"limits.time.max": log("1 ms", "10 s", 8), "given.bodies": "values = [1e2, 1e3, 1e4]"},
        decide="processors = { values = [3, 10, 50, 51, 1000] }\nmemory = {}",
        objective='minimize = "energy_delay"',
        limits='time = { max = "1 s" }',
    ),
    "whole processors, two limits": grid(
        {
            "limits.time.max": log("10 ms", "100 s", 8),
            "limits.energy.max": "values = [1, 100, 1e5]",
            "given.order": "values = [1e2, 1e3, 3e3]",
        },
        model="matmul",
        given="order = 1e3",
        decide="processors = { max = 500, integer = true }\nmemory = {}",
        objective='minimize = "energy_delay"',
        limits='time = { max = "1 s" }\nenergy = { max = 1e3 }',
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_discrete_variables_are_those_of_the_question_alone(name: str):
    """Objective, bound, status and conflict; of designs equally good one that is no slower."""
    asked = WHOLE[name]
    plan, arrays, left = at_once(asked)
    assert left.mean() < 0.1
    assert share(arrays, Status.OPTIMAL) > 0.5
    assert np.nanmax(arrays["gap"]) <= 1e-6
    places = np.argwhere(~left)
    one = (1,) * left.ndim
    for place in map(tuple, places[np.random.default_rng(2).choice(len(places), 12, replace=False)].tolist()):
        alone = results.dataset.to_arrays(plan, [answer(asked.question(place), neighbours=False)], one)
        expected = {n: v[(0,) * left.ndim] for n, v in alone.items()}
        found = {n: v[place] for n, v in arrays.items()}
        assert found["status"] == expected["status"]
        np.testing.assert_array_equal(found["binding"] == 2, expected["binding"] == 2)
        np.testing.assert_allclose(found["objective"], expected["objective"], rtol=1e-6)
        np.testing.assert_allclose(found["bound"], expected["bound"], rtol=1e-6)
        assert np.isnan(found["elasticity"]).all()
        if found["status"] == STATUS_CODES[Status.OPTIMAL]:
            assert found["processors"] == round(found["processors"])
            assert found["time"] <= expected["time"] * (1 + 1e-4)


@pytest.mark.parametrize(
    "asked",
    [
        grid({"limits.power.max": log("1 W", "1 kW", 600)}, limits='power = { max = "1 W" }'),
        grid(
            {"limits.time.max": log("1 ms", "10 s", 600)},
            decide="processors = { max = 65536, integer = true }\nmemory = { integer = true }",
            limits='time = { max = "1 s" }',
        ),
    ],
    ids=["a power cap", "two whole numbers"],
)
def test_other_grids_go_other_ways(asked: Grid):
    assert geometric.way(asked).path is None


def test_few_points_go_together_and_many_are_compiled_for():
    """By what NumPy would take, and so by the grid alone."""
    few, many = (
        geometric.way(grid({"limits.time.max": log("1 ms", "10 s", n)}, limits='time = { max = "1 s" }')).path
        for n in (8, 1_000_000)
    )
    assert isinstance(few, geometric.Geometric)
    assert not few.compiled
    assert isinstance(many, geometric.Geometric)
    assert many.compiled
