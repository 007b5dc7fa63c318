"""The geometric-programming kernel on programs that used to jam: thin feasible sets, goals that hardly change."""

from __future__ import annotations

import numpy as np
import pytest
from random_posynomials import Table, assert_sound, far_beyond_a_limit, random_programs, thin_wedge

import dse
from solvers.geometric.kernel import gp

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize("share", [5.1e-6, 1.2e-5, 3.3e-5, 1e-4])
def test_limits_that_move_the_optimum_very_much_are_proved(share: float) -> None:
    """The least memory within a time next to the least: 1 % more time would take most of the memory away."""
    machine = {
        "base": "jaketown",
        "time_per_flop": 1 / 3e12,
        "time_per_word": 8 / 25e9,
        "time_per_message": 2e-6,
    }
    found = dse.solve(
        {
            "model": "nbody",
            "machine": {**machine, "max_message": 384 * 2**30 / 8},
            "given": {"bodies": 1e8, "flops_per_pair": 20},
            "decide": {"processors": {"max": 1000}, "memory": {"max": 12.5e6}},
            "objective": {"minimize": "memory"},
            # 66.6676785956406 s is the least time
            "limits": {"time": {"max": 66.6676785956406 * (1 + share)}},
        }
    )
    assert found.status.value == "optimal"
    assert found.variables["processors"] == pytest.approx(1000, rel=1e-6)


def least_power_along_an_edge() -> Table:
    """Least power of a matrix product with one copy: along the edge p M = n^2 it falls by 1e-3 and less."""
    A = np.array(
        [
            [1, 0.011917], [1, -0.488083], [1, 1.011917], [1, 0.511917],
            [1, 0], [-1, -1], [2 / 3, 1],
        ]
    )  # fmt: skip
    logc = np.array([[-8.041747, 1.355073, -17.475231, -13.563208, -11.090355, 18.789355, -18.789355]])
    return A, logc, np.array([0, 4, 5, 6, 7]), np.zeros(2), np.array([11.590355, 99.011159])


def test_a_goal_that_hardly_changes_along_an_edge_does_not_jam():
    r = gp.solve(*least_power_along_an_edge())
    assert_sound(r)
    assert r.status[0] == gp.OPTIMAL
    np.testing.assert_allclose(r.y[0], [2.3566, 16.43275], atol=1e-4)
    # 63 where products of slack and multiplier fell below what the rows that bind leave of the edge
    assert r.iterations[0] < 30


def test_limits_that_leave_hardly_any_room_are_proved():
    """What jams after its limits have been met goes on at a price that keeps them."""
    r = gp.solve(*thin_wedge())
    assert_sound(r)
    assert r.status.tolist() == [gp.OPTIMAL]
    np.testing.assert_allclose(r.value, 3.8089247, rtol=0, atol=1e-6)


def test_a_relaxation_that_jams_near_its_optimum_is_not_tried_again_where_a_node_would_be_cut():
    """A goal that changes by 3e-7 along its steepest row: rounding leaves a gap of 1e-5, and other tries leave it, too.

    The power that a product of matrices needs at least, on a machine on which words cost 15 times as much as flops.
    """
    A = np.array([
        [1, 0, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0], [-1, -1, 0], [2 / 3, 1, 0],
        [1, 0.0111, -1], [1, -0.4889, -1], [1, 1.0111, -1], [1, 0.5111, -1],
    ])  # fmt: skip
    logc = np.array([[-6.044, -6.450, 0, -11.09, 15.72, -15.72, -41.68, -4.983, -42.09, -40.13]])
    ptr = np.array([0, 3, 4, 5, 6, 10])
    low, high = np.array([0, 0, -40.63]), np.array([11.59, 99.01, 70.11])
    cut = gp.solve(A, logc, ptr, low, high, tol=1e-8, hurried=True, content=np.array([True]))
    assert cut.violation[0] <= 0
    assert 0 <= cut.value[0] - cut.bound[0] <= 1e-4
    tried = gp.solve(A, logc, ptr, low, high, tol=1e-8, hurried=True)
    assert cut.iterations[0] < 0.7 * tried.iterations[0]


def test_a_limit_that_curves_shortens_no_step_while_it_is_broken():
    r = gp.solve(*far_beyond_a_limit())
    assert_sound(r)
    assert r.status.tolist() == [gp.OPTIMAL]
    # 73 where every step ended close to the limit, of 2 % of the way
    assert r.iterations[0] < 20


def test_slacks_that_follow_their_prediction_save_iterations():
    """14.9 in the mean where slacks of 1e-4 and more had to be exact."""
    its = np.concatenate([gp.solve(*random_programs(50 + seed, 5, 200)).iterations for seed in range(4)])
    assert its.mean() < 13.5


def test_a_short_step_is_followed_by_one_that_centres():
    """One program in a hundred took 29 iterations and more where that was so after steps of less than a tenth only."""
    its = np.concatenate([gp.solve(*random_programs(50 + seed, 5, 200)).iterations for seed in range(4)])
    assert np.percentile(its, 99) < 24
