"""The compiled kernel against the one in NumPy: right answers, proofs that hold, no failures on what used to jam."""

from __future__ import annotations

import numpy as np
import pytest
from random_posynomials import assert_sound, far_beyond_a_limit, random_programs, thin_wedge

from solvers.geometric.kernel import compiled_batch as kernel
from solvers.geometric.kernel import gp


def assert_certified(table: tuple[np.ndarray, ...], r: gp.Result) -> None:
    """The bounds and proofs follow from the multipliers handed out, by the formula in NumPy."""
    A, logc, ptr, lo, hi = table
    best, no = r.status == gp.OPTIMAL, r.status == gp.INFEASIBLE
    again = gp.lagrangian_bound(A, logc[best], ptr, lo, hi, r.y[best], r.multipliers[best])
    np.testing.assert_allclose(np.minimum(again, r.value[best]), r.bound[best], rtol=0, atol=1e-10)
    # limits looser by almost the proof still conflict
    eased = logc[no] - np.where(np.arange(logc.shape[1]) >= ptr[1], 0.999, 0.0) * r.proof[no][:, None]
    assert (gp.solve(A, eased, ptr, lo, hi).status == gp.INFEASIBLE).all()


@pytest.mark.parametrize("kind", ["feasible", "scaled", "infeasible"])
# each number of variables up to 3 is compiled by itself, and once for all above, which takes most of the time
@pytest.mark.parametrize("n", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 12))])
def test_random_programs_never_fail(n: int, kind: str):
    """Status and value are those of NumPy's kernel; none fails without its help."""
    table = random_programs(n, n, 200, feasible=kind != "infeasible", scaled=kind == "scaled")
    r, reference = kernel.solve(*table), gp.solve(*table)
    assert_sound(r)
    np.testing.assert_array_equal(r.status, reference.status)
    assert (r.status == gp.FAILED).sum() == 0
    best = r.status == gp.OPTIMAL
    np.testing.assert_allclose(r.value[best], reference.value[best], rtol=0, atol=2e-9)
    assert_certified(table, r)


def test_alone_few_points_fail():
    """What the compiled kernel hands on to NumPy's: nothing of 2000 well scaled programs."""
    for n, feasible in ((2, True), (2, False)):
        A, logc, ptr, lo, hi = random_programs(10 + n, n, 1000, feasible=feasible)
        status = kernel.compiled_only(A, logc, ptr, lo, hi).status
        assert (status == gp.FAILED).sum() == 0


def test_one_point_is_one_point():
    """A point's numbers do not depend on the points beside it, to the last digit."""
    A, logc, ptr, lo, hi = random_programs(5, 2, 300)
    whole = kernel.solve(A, logc, ptr, lo, hi)
    part = kernel.solve(A, logc[100:105], ptr, lo, hi)
    for name in ("y", "value", "bound", "multipliers"):
        np.testing.assert_array_equal(getattr(whole, name)[100:105], getattr(part, name))


def test_of_no_points_there_are_no_answers():
    A, _, ptr, lo, hi = random_programs(5, 2, 1)
    for shared in (A, np.zeros((0, *A.shape))):
        r = kernel.solve(shared, np.zeros((0, len(A))), ptr, lo, hi)
        assert r.status.size == r.bound.size == 0


def test_a_limit_at_its_exact_minimum():
    """min x + y, xy >= 1, x + y <= 2: one point; 1e-8 below none, 1e-8 above a few."""
    A = np.array([[1, 0], [0, 1], [-1, -1], [1, 0], [0, 1]], float)
    ptr = np.array([0, 2, 3, 5])
    shift = np.array([0.0, -1e-8, 1e-8])
    logc = np.zeros((3, 5))
    logc[:, 3:] = (-np.log(2.0) - shift)[:, None]
    r = kernel.solve(A, logc, ptr, np.full(2, -5.0), np.full(2, 5.0))
    assert r.status.tolist() == [gp.OPTIMAL, gp.INFEASIBLE, gp.OPTIMAL]
    np.testing.assert_allclose(r.value[[0, 2]], np.log(2.0), rtol=0, atol=1e-8)
    assert (r.bound[[0, 2]] <= r.value[[0, 2]]).all()


def test_limits_without_interior():
    """n/p <= M <= n/sqrt(p) with p = 1: the two meet, and the multipliers are said to be artefacts."""
    A = np.array([[0, 1], [-1, 0], [-1, -1], [0.5, 1], [1, 0]], float)
    logc = np.array([[0, 0, np.log(1e4), -np.log(1e4), 0.0]])
    r = kernel.solve(A, logc, np.array([0, 2, 3, 4, 5]), np.zeros(2), np.full(2, 30.0))
    assert r.status[0] == gp.OPTIMAL
    np.testing.assert_allclose(r.y[0], [0.0, np.log(1e4)], atol=1e-8)


def test_terms_that_are_not_there_and_variables_that_are_fixed():
    """Absent terms and limits, a fixed variable, a limit that a fixed variable decides either way."""
    A = np.array([[1, 0], [-1, 0], [0, 1], [1, 1]], float)
    ptr = np.array([0, 2, 3, 4])
    none = -np.inf
    logc = np.array([[0, 0, 0, none], [0, none, -2, 0], [0, 0, none, none], [0, 0, 3, none]])
    lo, hi = np.array([-1.0, 1.0]), np.array([2.0, 1.0])
    r = kernel.solve(A, logc, ptr, lo, hi)
    assert r.status.tolist() == [gp.INFEASIBLE, gp.OPTIMAL, gp.OPTIMAL, gp.INFEASIBLE]
    np.testing.assert_allclose(r.proof[[0, 3]], [1.0, 4.0])
    np.testing.assert_allclose(r.y[[1, 2], 0], [-1.0, 0.0], atol=1e-8)
    crossed = kernel.solve(A, logc, ptr, np.array([3.0, 1.0]), hi)
    assert (crossed.status == gp.INFEASIBLE).all()


def test_programs_of_one_variable_are_solved_as_in_numpy():
    A = np.array([[1.0], [-1.0], [1.0]])
    logc = np.array([[0.0, 1.0, -0.2], [0.0, 1.0, 3.0]])
    ptr = np.array([0, 2, 3])
    r = kernel.solve(A, logc, ptr, np.array([-4.0]), np.array([4.0]))
    one = gp.solve(A, logc, ptr, np.array([-4.0]), np.array([4.0]))
    assert r.y.shape == (2, 1)
    np.testing.assert_allclose(r.y, one.y, atol=1e-7)
    np.testing.assert_allclose(r.value, one.value, atol=1e-9)


def test_it_is_compiled_for_two_variables_and_once_for_others():
    """Whether or not their tables may be written."""
    for variables in (1, 2, 3, 5):
        A, logc, *rest = random_programs(4, variables, 3)
        kernel.solve(A, logc, *rest)
        logc.flags.writeable = False
        kernel.solve(A, logc, *rest, enough=np.full(3, np.nan))
    assert len(kernel._all.signatures) <= 2


def test_the_pinned_numba_compiles_inlined_functions_only_once() -> None:
    from solvers.geometric.kernel import parts

    assert parts.KNOWN, "try solvers/geometric/kernel/parts.py with this numba and name it in TRIED"


def test_a_bound_that_is_enough_ends_a_program():
    """As in NumPy's kernel: it ends there, with a bound that holds."""
    table = random_programs(4, 2, 50)
    full = kernel.solve(*table)
    level = full.value - 0.1
    r = kernel.solve(*table, enough=level)
    assert (r.bound >= level - 1e-9).all()
    assert (r.bound <= full.value + 1e-9).all()
    assert r.iterations.sum() < full.iterations.sum()


def test_a_second_try_takes_no_more_iterations_than_the_first():
    table = random_programs(4, 2, 50)
    r = kernel.solve(*table, max_iterations=2)
    assert (r.status == gp.FAILED).all()


@pytest.mark.slow
def test_limits_that_leave_hardly_any_room_need_no_second_try():
    """What jams after its limits have been met goes on at a price that keeps them."""
    r = kernel.compiled_only(*thin_wedge())
    assert r.status.tolist() == [gp.OPTIMAL]
    np.testing.assert_allclose(r.value, 3.8089247, rtol=0, atol=1e-6)


def test_a_limit_that_curves_shortens_no_step_while_it_is_broken():
    """As in NumPy's kernel."""
    assert kernel.compiled_only(*far_beyond_a_limit()).iterations[0] < 20
