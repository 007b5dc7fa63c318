"""Multipliers that are not unique, at one optimum and at many: closed forms."""

from __future__ import annotations

import dataclasses
import tomllib

import numpy as np
import pytest
from make_expected import LIBRARY

import dse
from formulations.row_keys import RowKey
from results.solution import Status
from scenarios import questions
from solvers import judgement
from solvers.answer import answer
from solvers.geometric.kernel import gp
from solvers.geometric.programs import kinks
from solvers.mechanisms import dual_ends, sensitivity, two_sides

KEYS = tuple(RowKey(name, "max") for name in ("x", "y", "both"))
ROWS = np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [-1.0, -1.0]])
"""Minimise x y with x, y and x y not under some value each, in logarithms."""
PTR = np.arange(5)


def _weighed(least_both: list[float]) -> tuple[dual_ends.Optima, dual_ends.Duals]:
    logc = np.zeros((len(least_both), 4))
    logc[:, 3] = least_both
    low, high = np.full((len(logc), 2), -5.0), np.full((len(logc), 2), 5.0)
    r = gp.solve(ROWS, logc, PTR, low, high)
    y = np.zeros_like(r.y)
    o = dual_ends.optima(KEYS, (ROWS, logc, PTR), (low, high), y, r.multipliers)
    return o, dual_ends.duals(o)


def test_three_limits_in_one_point_share_two_multipliers():
    """At x = y = 1 all three bind: (1, 1) = l1 (1, 0) + l2 (0, 1) + l3 (1, 1), so each l is between 0 and 1."""
    _, d = _weighed([0.0, -1.0, 0.0])
    assert d.known.all()
    for i in (0, 2):
        assert d.least[i] == pytest.approx(np.zeros(3), abs=1e-6)
        assert d.most[i] == pytest.approx(np.ones(3), abs=1e-6)
        assert d.one_sided[i].all()
    # without the third the other two are worth 1 each
    assert d.value[1] == pytest.approx([1.0, 1.0, 0.0], abs=1e-6)
    assert not d.one_sided[1].any()


@pytest.mark.parametrize("seed", range(40))
def test_ends_of_multipliers_are_those_of_linear_programs(seed: int):
    """Random gradients of more binding limits than unknowns, some of them without end: beside SciPy's own programs."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    m = n + int(rng.integers(1, 4))
    g = rng.integers(-2, 3, (3, m + 1, n)).astype(float)
    held = rng.uniform(0.0, 1.0, (3, m)) * (rng.uniform(size=(3, m)) < 0.7)
    g[:, 0] = -np.einsum("pm,pmn->pn", held, g[:, 1:])
    low = np.zeros((3, n), bool)
    low[:] = rng.uniform(size=n) < 0.3
    keys = tuple(RowKey(f"m{k}", "max") for k in range(m))
    o = dual_ends.Optima(keys, np.zeros((3, m + 1)), g, low, ~np.ones_like(low), held)
    d = dual_ends.duals(o)
    for i in range(3):
        columns = np.concatenate([g[i, 1:], -np.eye(n)[low[i]]]).T
        for k in range(m):
            cost = np.eye(columns.shape[1])[k]
            least, most = (linprog(s * cost, A_eq=columns, b_eq=-g[i, 0]) for s in (1.0, -1.0))
            assert least.status == 0
            if d.known[i]:
                assert d.least[i, k] == pytest.approx(least.fun, abs=1e-6)
                end = np.inf if most.status == 3 else -most.fun
                assert d.most[i, k] == pytest.approx(end, abs=1e-6)


def test_a_number_in_two_limits_is_worth_more_one_way():
    """A number t that makes x and y at least t and x y at least 1: the optimum is max(t^2, 1)."""
    o, d = _weighed([0.0, -1.0])
    # slopes of goal and rows in log t: the rows x and y move by 1 each
    slope = np.broadcast_to(np.array([0.0, 1.0, 1.0, 0.0]), (1, 2, 4))
    falling, rising = sensitivity.both_ways(o, d, two_sides.smooth(slope))
    assert falling[0] == pytest.approx([0.0, 2.0], abs=1e-6)
    assert rising[0] == pytest.approx([2.0, 2.0], abs=1e-6)


def test_two_limits_that_are_both_hardly_felt_are_worth_what_both_are():
    """(1, 1) = l1 (s, 0) + l2 (0, s) + l3 (1, 0) + l4 (0, 1): what moves with the first two is worth 2 / s at most."""
    s = 5e-4
    g = np.array([[[1.0, 1.0], [-s, 0.0], [0.0, -s], [-1.0, 0.0], [0.0, -1.0]]])
    keys, no = tuple(RowKey(f"m{k}", "max") for k in range(4)), np.zeros((1, 2), bool)
    o = dual_ends.Optima(keys, np.zeros((1, 5)), g, no, no, np.array([[0.0, 0.0, 1.0, 1.0]]))
    slope = two_sides.smooth(np.array([[[0.0, 1.0, 1.0, 0.0, 0.0]]]))
    falling, rising = sensitivity.both_ways(o, dual_ends.duals(o), slope)
    assert (falling[0, 0], rising[0, 0]) == pytest.approx((0.0, 2.0 / s), abs=1e-6)


def test_multipliers_that_move_apart_are_told_whatever_their_choices_together():
    """Four largest of ten equal arguments: 10^4 ways to share out the weights, but ten of each by itself."""
    g = np.zeros((1, 41, 4))
    g[0, 0], g[0, np.arange(1, 41), np.arange(40) % 4] = 1.0, -1.0
    keys, no = tuple(RowKey(f"m{k}", "max") for k in range(40)), np.zeros((1, 4), bool)
    o = dual_ends.Optima(keys, np.zeros((1, 41)), g, no, no, np.full((1, 40), 0.1))
    d = dual_ends.duals(o)
    assert d.known.all()
    assert (d.least, d.most) == (pytest.approx(0.0, abs=1e-9), pytest.approx(1.0))
    slope = (np.arange(41) % 4 == 1).astype(float)[None, None] * np.array([0.0] + [1.0] * 40)
    assert sensitivity.both_ways(o, d, two_sides.smooth(slope)) == (pytest.approx(1.0), pytest.approx(1.0))


def test_only_the_multipliers_that_are_asked_for_are_told_apart():
    o, _ = _weighed([0.0])
    d = dual_ends.duals(o, np.zeros(3, bool))
    assert d.value == pytest.approx(o.multipliers)


def test_a_gap_that_closes_slowly_leaves_the_sensitivities_known():
    """On this machine the interior point needs more than forty iterations, the gap falling in each of them."""
    source = tomllib.loads((LIBRARY / "nbody_machine_for_efficiency.toml").read_text(encoding="utf-8"))
    found = dse.solve({**source, "machine": "jaketown"})
    rates = {name: state.elasticity for name, state in found.limits.items() if state.binding}
    assert rates == {
        "efficiency": pytest.approx(0.752, rel=1e-3),
        "machine.energy_per_word": pytest.approx(-0.752, rel=1e-3),
        "machine.memory_power_per_word": pytest.approx(-0.752, rel=1e-3),
        "replication": None,
    }


def test_an_exponent_of_an_unknown_has_no_sensitivity_and_others_keep_theirs():
    """A power of a sum becomes an unknown of its own, and Strassen's exponent is given."""
    found = dse.solve(
        {
            "model": "strassen",
            "machine": "balanced",
            "given": {"order": 4096.0, "exponent": 2.807354922057604, "memory": 65536.0},
            "decide": {"processors": {"max": 4096.0}},
            "define": {"odd": "energy * (1 + processors / 50) ** 1.3"},
            "objective": {"minimize": "odd"},
        }
    )
    assert found.status == Status.OPTIMAL, found.message
    assert "exponent" not in found.parameters
    assert found.parameters["machine.energy_per_flop"] > 0


def test_multipliers_of_a_small_gap_count_though_the_kernel_gave_up():
    """With its gap all but closed they are known, with an open gap or a limit that is missed they are not."""
    low, high = np.full((1, 2), -5.0), np.full((1, 2), 5.0)
    r = gp.solve(ROWS, np.zeros((1, 4)), PTR, low, high)

    def failed(gap: float, violation: float = 0.0) -> gp.Result:
        status, missed = np.full(1, gp.FAILED, np.int8), np.full(1, violation)
        return dataclasses.replace(r, status=status, bound=r.value - gap, violation=missed)

    assert kinks.proved(r).all()
    assert kinks.proved(failed(5e-9)).all()
    assert not kinks.proved(failed(1e-6)).any()
    assert not kinks.proved(failed(5e-9, violation=1e-6)).any()


def test_limits_that_say_the_same_are_worth_something_one_way_without_structure_too():
    """Either of two equal limits may be the one that costs: relaxing one of them alone buys nothing."""
    asked = questions.question(
        dse.load(
            {
                "model": "nbody",
                "machine": "balanced",
                "given": {"bodies": 1e5, "flops_per_pair": 10.0, "memory": 5000.0},
                "decide": {"processors": {}},
                "define": {"twice": "2 * time"},
                "objective": {"minimize": "processors"},
                "limits": {"time": {"max": 1.0}, "twice": {"max": 2.0}},
            }
        )
    )
    found = answer(asked)
    judged = judgement.judge(asked, {"processors": float(found.variables["processors"])})
    told = kinks.without_structure(judged)
    for name in ("time", "twice"):
        assert found.limits[name].elasticity == pytest.approx(0.0, abs=1e-6)
        assert told.limits[name] == pytest.approx([0.0], abs=1e-6)
        assert told.limits_apart[name].all()
    assert told.numbers["flops_per_pair"] == pytest.approx([found.parameters["flops_per_pair"]], rel=1e-4)


def test_a_limit_on_what_is_0_at_every_design_is_worth_nothing():
    """It has no row, and there was no saying whether its rate is one-sided."""
    costs = ("energy_per_flop", "energy_per_word", "energy_per_message", "memory_power_per_word")
    found = dse.solve(
        {
            "model": "nbody",
            "machine": {"base": "balanced", **dict.fromkeys((*costs, "leakage_power"), 0.0)},
            "given": {"bodies": 1e5, "flops_per_pair": 10.0},
            "decide": {"processors": {"max": 1000.0}, "memory": {}},
            "objective": {"minimize": "time"},
            "limits": {"energy": {"max": 1.0}},
        }
    )
    assert found.status == Status.OPTIMAL, found.message
    assert found.limits["energy"].elasticity == 0.0
    assert not found.limits["energy"].one_sided
