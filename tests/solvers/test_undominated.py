"""Designs that may be the best at any limit: held against all designs of random sums, one after the other."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

import dse
from formulations.arithmetics.many import Array
from solvers.counting import undominated
from solvers.counting.criteria import Ratio, Stage, Sums, TooMany

# what a cap grants beyond the widest limit: rounding of sums of a few numbers below 100 is far less
ROOM = 1e-6


@dataclass
class Every:
    """All designs: each one's numbers, its criteria (N, C), and the stages they come of."""

    numbers: list[tuple[float, ...]]
    criteria: Array
    stages: tuple[Stage, ...]


def random_stages(r: np.random.Generator, count: int, signs: dict[int, float]) -> Every:
    """One to three menus and counts; ``signs``: criteria whose terms all have one sign."""
    whole = r.random() < 0.5

    def terms(*shape: int) -> Array:
        found = r.integers(-3, 6, shape) * (1.0 if whole else r.choice([1.0, 0.1, 0.3], shape))
        for c, sign in signs.items():
            found[..., c] = sign * np.abs(found[..., c])
        return found

    stages, lists = [], []
    for j in range(int(r.integers(1, 4))):
        if r.random() < 0.4:
            menu = terms(int(r.integers(1, 5)), count)
            values = np.arange(1.0, len(menu) + 1)
            stages.append(Stage(f"x{j}", values, menu))
            lists.append(list(zip(values.tolist(), menu, strict=True)))
        else:
            low = float(r.integers(0, 3))
            high = low + float(r.integers(0, 12))
            step, jump = terms(count), terms(count) * (r.random() < 0.4)
            stages.append(Stage(f"x{j}", np.zeros(0), np.zeros((0, count)), step, jump, low, high))
            lists.append([(n, n * step + (n > 0) * jump) for n in np.arange(low, high + 1).tolist()])
    designs = list(itertools.product(*lists))
    return Every(
        [tuple(v for v, _ in d) for d in designs],
        np.array([sum(t for _, t in d) for d in designs]),
        tuple(stages),
    )


def limits(r: np.random.Generator, every: Every, limited: list[int]) -> tuple[Array, Array]:
    """The narrowest and the widest limit of each criterion, infinite where there is none."""
    wide = np.full(every.criteria.shape[1], np.inf)
    for c in limited:
        if r.random() < 0.9:
            wide[c] = r.choice(every.criteria[:, c]) + 0.01
    return wide - r.choice([0.0, 2.0, 5.0], wide.size), wide


def within(r: np.random.Generator, narrow: Array, wide: Array) -> Array:
    ends = np.isfinite(wide)
    found = np.full(wide.size, np.inf)
    found[ends] = narrow[ends] + r.choice([0.0, 1.0, r.random()]) * (wide - narrow)[ends]
    return found


def listed(every: Every, sums: Sums) -> Array:
    found = {tuple(row) for row in undominated.designs(sums).tolist()}
    return np.array([n in found for n in every.numbers])


def tied(every: Every) -> Array:
    """The margins of equal sums: far above rounding, far below the steps."""
    return 1e-8 * np.sum([np.maximum(*(np.abs(e) for e in s.ends())) for s in every.stages], axis=0)


@pytest.mark.parametrize("block", range(6))
def test_the_best_sum_and_all_tied_with_it_are_found_at_every_limit(block: int):
    tried = 0
    for seed in range(100 * block, 100 * block + 100):
        r = np.random.default_rng(seed)
        count = int(r.integers(1, 4))
        goal = int(r.integers(0, count))
        every = random_stages(r, count, {})
        narrow, wide = limits(r, every, [c for c in range(count) if c != goal])
        goals = np.arange(count) == goal
        enough = np.where(goals, -np.inf, narrow)
        ties = bool(r.random() < 0.5)
        sums = Sums(every.stages, wide + ROOM, enough, narrow, goals, tied(every), None, None, ties)
        try:
            kept = listed(every, sums)
        except TooMany:
            continue
        for _ in range(6):
            good = (every.criteria <= within(r, narrow, wide) + 1e-12).all(axis=1)
            value = every.criteria[:, goal]
            best = value[good].min(initial=np.inf)
            assert value[good & kept].min(initial=np.inf) <= best + 1e-9, seed
            if ties and np.isfinite(best):
                assert not (good & (value <= best + 1e-12) & ~kept).any(), seed
        tried += 1
    assert tried > 80


@pytest.mark.parametrize("block", range(6))
def test_the_best_ratio_is_found_at_every_limit(block: int):
    tried = 0
    for seed in range(100 * block, 100 * block + 100):
        r = np.random.default_rng(seed)
        count = int(r.integers(2, 5))
        every = random_stages(r, count, {0: 1.0, 1: -1.0})
        ratio = Ratio(0, 1.0, float(r.choice([0, 0.5, 2])), 1, 1.0, -float(r.choice([0.1, 1, 3])))
        narrow, wide = limits(r, every, list(range(2, count)))
        goals = np.arange(count) < 2
        enough = np.where(goals, -np.inf, narrow)
        sums = Sums(every.stages, wide + ROOM, enough, narrow, goals, tied(every), ratio, None, True)
        try:
            kept = listed(every, sums)
        except TooMany:
            continue
        above, below = ratio.parts(every.criteria)
        for _ in range(6):
            good = (every.criteria <= within(r, narrow, wide) + 1e-12).all(axis=1)
            best = (above / below)[good].min(initial=np.inf)
            assert (above / below)[good & kept].min(initial=np.inf) <= best * (1 + 1e-6) + 1e-9, seed
        tried += 1
    assert tried > 80


BLOCKS = {
    "model": "blocks",
    "machine": {"phi": "xeon-phi-choi2014"},
    "given": {"flops": 1e16, "intensity": 4},
    "decide": {"count.phi": {}},
    "objective": {"maximize": "performance"},
    "limits": {"blocks": {"max": 50}, "time": {"max": 1e9}},
}
DEADLINES = {"path": "limits.time.max", "start": 1e3, "stop": 1e9, "num": 24, "spacing": "log"}


def test_a_sweep_uses_every_block_that_a_limit_allows():
    """50 is not a power of two less one: counts built of powers of two alone stopped at 32."""
    found = dse.sweep(
        dse.load({**BLOCKS, "sweep": {"deadline": DEADLINES}}), workers=1, progress=False
    ).load()
    alone = dse.solve(dse.load(BLOCKS))
    assert alone.variables["count.phi"] == 50
    assert float(found["performance"][-1]) == pytest.approx(alone.metrics["performance"], rel=1e-9)
