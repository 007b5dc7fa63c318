"""The geometric-programming kernel: right answers, proofs that hold, no failures on what used to jam."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_posynomials import TERMS, Table, assert_sound, random_programs

from solvers.geometric.kernel import formulas, gp, gp_terms
from solvers.geometric.kernel.formulas import ANY


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def nbody(rng: np.random.Generator, N: int) -> tuple[Table, np.ndarray, np.ndarray]:
    """Least energy of direct n-body within a deadline, and its closed form (Demmel et al. 2013, section IV).

    Variables log p, log M. With F = f n^2/p, W = n^2/(p M): T = gt F + bt W and
    E = p (ge F + be W + d M T + e T), n/p <= M <= n/sqrt(p). E depends on M alone, so the optimum is the
    best M among those that some p <= P reaches in time.
    """
    n, f, P = 1e4, 20.0, 6e3
    gt, bt, ge, be, d, e = 1e-9, 4e-8, 2e-10, 3e-6, 2e-5, 0.05
    machine = np.array([gt, bt, ge, be, d, e])[:, None] * rng.uniform(0.2, 5, size=(6, N))
    gt, bt, ge, be, d, e = machine
    deadline = np.exp(rng.uniform(np.log(1e-4), np.log(10), size=N))
    c = n**2 * np.array([f * (ge + e * gt) + d * bt, be + e * bt, f * d * gt])  # E = c0 + c1/M + c2 M
    A = np.array([[0, 0], [0, -1], [0, 1], [-1, 0], [-1, -1], [-1, -1], [0.5, 1], [1, 0]], float)
    one = np.ones(N)
    coefficients = np.array([*c, n**2 * f * gt / deadline, n**2 * bt / deadline, n * one, one / n, one / P])
    table = A, np.log(coefficients).T, np.array([0, 3, 5, 6, 7, 8]), np.zeros(2), np.log([1e15, 1e18])
    # p must reach p(M) = n^2 (f gt + bt/M)/T and n/M, stay below P and (n/M)^2: an interval of M
    lo, hi = np.full(N, n / P), np.full(N, n * 1.0)
    lo = np.maximum(
        lo, np.where(P * deadline > n**2 * f * gt, n**2 * bt / (P * deadline - n**2 * f * gt), np.inf)
    )
    # (f gt + bt/M)/T <= 1/M^2: f gt M^2 + bt M - T <= 0
    hi = np.minimum(hi, (-bt + np.sqrt(bt**2 + 4 * f * gt * deadline)) / (2 * f * gt))
    feasible = lo <= hi
    M = np.clip(np.sqrt(c[1] / c[2]), lo, np.maximum(lo, hi))
    return table, np.where(feasible, np.log(c[0] + c[1] / M + c[2] * M), np.nan), M


def test_nbody_grid_agrees_with_the_closed_form():
    """2000 deadlines and machines: same verdict, same energy, the memory where it is unique."""
    table, energy, M = nbody(np.random.default_rng(1), 2000)
    r = gp.solve(*table)
    assert_sound(r)
    feasible = np.isfinite(energy)
    assert 50 < (~feasible).sum() < 1000
    np.testing.assert_array_equal(r.status, np.where(feasible, gp.OPTIMAL, gp.INFEASIBLE))
    np.testing.assert_allclose(r.value[feasible], energy[feasible], rtol=0, atol=1e-9)
    assert (r.bound - energy)[feasible].max() <= 1e-12  # rounding of the closed form
    np.testing.assert_allclose(r.y[feasible, 1], np.log(M[feasible]), rtol=0, atol=1e-7)


@pytest.mark.parametrize("n", [2, 4, 8, 12])
@pytest.mark.parametrize("kind", ["feasible", "scaled", "own exponents"])
def test_random_feasible_programs_never_fail(n: int, kind: str):
    """Each is solved, certified, and no worse than the point that it was built around."""
    table = random_programs(n, n, 250, scaled=kind == "scaled", shared=kind != "own exponents")
    r = gp.solve(*table)
    assert_sound(r)
    assert (r.status == gp.OPTIMAL).sum() == 250
    assert (r.value <= 1e-9).all()  # the objective was scaled to 0 at a feasible point
    assert not r.penalised.any()


@pytest.mark.parametrize("n", [2, 4, 8, 12])
def test_random_conflicts_are_proved(n: int):
    """Feasible or not, none fails; the proof is the Lagrangian number of the multipliers handed out."""
    A, logc, ptr, lo, hi = random_programs(100 + n, n, 250, feasible=False)
    r = gp.solve(A, logc, ptr, lo, hi)
    assert_sound(r)
    no = r.status == gp.INFEASIBLE
    assert (r.status == gp.FAILED).sum() == 0
    assert no.sum() > 100
    # no point violates by less than the proof, and with limits looser by almost that much they still conflict
    F = gp.evaluate(A, logc, ptr, r.y)[:, 1:].max(1)
    assert (F[no] >= r.proof[no]).all()
    elastic = logc.copy()
    elastic[:, TERMS:] -= 0.999 * r.proof[:, None]
    assert (gp.solve(A, elastic[no], ptr, lo, hi).status == gp.INFEASIBLE).all()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 6))
def test_no_feasible_point_lies_below_the_bound(seed: int, n: int):
    """The bound holds at every feasible point met on random rays from the optimum, for any multipliers."""
    A, logc, ptr, lo, hi = random_programs(seed, n, 10)
    rng = np.random.default_rng(seed)
    r = gp.solve(A, logc, ptr, lo, hi)
    loose = gp.lagrangian_bound(A, logc, ptr, lo, hi, rng.normal(size=r.y.shape), rng.uniform(0, 2, (10, n)))
    again = gp.lagrangian_bound(A, logc, ptr, lo, hi, r.y, r.multipliers)
    np.testing.assert_allclose(again, r.bound, rtol=0, atol=1e-12)
    for size in (1e-6, 1e-3, 0.1, 1.0, 5.0):
        y = np.clip(r.y + size * rng.normal(size=r.y.shape), lo, hi)
        F = gp.evaluate(A, logc, ptr, y)
        met = (F[:, 1:] <= 0).all(1)
        assert (F[met, 0] >= r.bound[met]).all()
        assert (F[met, 0] >= loose[met]).all()


def test_agrees_with_an_independent_conic_solver():
    """Ten programs against an exponential-cone solver: same objective to its own accuracy."""
    cp = pytest.importorskip("cvxpy")
    A, logc, ptr, lo, hi = random_programs(7, 4, 10)
    r = gp.solve(A, logc, ptr, lo, hi)
    for i in range(10):
        y = cp.Variable(4)
        rows = [cp.log_sum_exp(A[a:b] @ y + logc[i, a:b]) for a, b in pairwise(ptr)]
        problem = cp.Problem(cp.Minimize(rows[0]), [row <= 0 for row in rows[1:]] + [y >= lo, y <= hi])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem.solve(solver=cp.CLARABEL)
        assert problem.value == pytest.approx(r.value[i], abs=3e-7)


def test_optimiser_is_sharp_where_it_is_unique():
    """The stationarity of the Lagrangian, not only the objective, is driven down: x to 1e-7."""
    A = np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1]], float)
    c = np.random.default_rng(3).uniform(-3, 3, size=(200, 5))
    c[:, 4] = -20  # x1 x2 <= e^20: does not bind
    r = gp.solve(A, c, np.array([0, 4, 5]), np.full(2, -30.0), np.full(2, 30.0))
    exact = 0.5 * np.stack([c[:, 1] - c[:, 0], c[:, 3] - c[:, 2]], axis=1)
    np.testing.assert_allclose(r.y, exact, rtol=0, atol=1e-7)


def test_multipliers_are_the_slopes_of_the_optimum():
    """Shifting a limit by h moves the optimum by h times its multiplier (central difference)."""
    A, logc, ptr, lo, hi = random_programs(11, 3, 40)
    r = gp.solve(A, logc, ptr, lo, hi)
    h = 1e-4
    for k in range(3):
        up, down = logc.copy(), logc.copy()
        up[:, ptr[k + 1] : ptr[k + 2]] += h
        down[:, ptr[k + 1] : ptr[k + 2]] -= h
        slope = (gp.solve(A, up, ptr, lo, hi).value - gp.solve(A, down, ptr, lo, hi).value) / (2 * h)
        # where a limit starts to bind within h the slope is one-sided: a few in a hundred
        assert np.quantile(np.abs(slope - r.multipliers[:, k]), 0.9) < 1e-5
    stationary = gp.gradients(A, logc, ptr, r.y)
    residual = stationary[:, 0] + (r.multipliers[:, :, None] * stationary[:, 1:]).sum(1)
    residual += r.upper_multipliers - r.lower_multipliers
    assert np.abs(residual).max() < 1e-9


TWO = np.array([[-1, 0], [0, 1], [0, -1], [1, 0], [-1, 0]], float)
BOX = np.full(2, -5.0), np.full(2, 5.0)


def test_equality_by_two_limits_has_an_answer_and_marked_multipliers():
    """x <= 1 and x >= 1 leave a single x: solved, but the multipliers are the penalty's."""
    r = gp.solve(TWO, np.zeros((1, 5)), np.array([0, 3, 4, 5]), *BOX)
    assert_sound(r)
    assert r.status[0] == gp.OPTIMAL
    assert r.y[0] == pytest.approx([0, 0], abs=1e-9)
    assert r.penalised[0]


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_equalities_among_curved_limits(n: int):
    """A monomial equality, as two limits, beside n posynomial limits: at most 1 in 200 fails (n = 9)."""
    A, logc, ptr, lo, hi = random_programs(n, n, 200)
    at = 0.2 * np.random.default_rng(n).normal(size=(200, n)) @ A[0][:, None]
    r = gp.solve(
        np.vstack([A, A[:1], -A[:1]]), np.hstack([logc, -at, at]), np.r_[ptr, ptr[-1] + [1, 2]], lo, hi
    )
    assert_sound(r)
    assert (r.status == gp.FAILED).sum() <= (n == 9)
    best = r.status == gp.OPTIMAL
    assert best.sum() > 100
    assert r.penalised[best].mean() > 0.8
    np.testing.assert_allclose((r.y @ A[0])[best], at[best, 0], rtol=0, atol=1e-9)


def test_many_tied_limits_without_interior():
    """27 integer monomial limits in 9 variables, dependent and without interior: at most 3 in 100 fail."""
    rng = np.random.default_rng(9)
    A, logc = np.round(rng.normal(size=(27, 9))), np.round(-rng.uniform(0, 1, size=(100, 27)))
    r = gp.solve(A, logc, np.arange(28), np.full(9, -12.0), np.full(9, 12.0))
    assert_sound(r)
    assert (r.status == gp.FAILED).sum() <= 3


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("above", [0.0, 1e-12, 1e-10, 1e-8, 1e-6, -1e-10, -1e-8, -1e-4])
def test_limit_at_its_minimum(above: float, constant: bool):
    """(x + 1/x)/2 <= e^-above: at 0 and within 1e-9 feasible, beyond that proved infeasible."""
    c = np.log(0.5) + above
    if constant:
        A, logc, ptr = np.vstack([np.zeros((1, 2)), TWO[3:]]), [[0.0, c, c]], np.array([0, 1, 3])
    else:
        A, logc, ptr = TWO, [[0, 0, 0, c, c]], np.array([0, 3, 5])
    r = gp.solve(A, np.array(logc), ptr, *BOX)
    assert_sound(r)
    if above > 1e-9:
        assert r.status[0] == gp.INFEASIBLE
        assert r.proof[0] == pytest.approx(above, rel=1e-3)
    else:
        assert r.status[0] == gp.OPTIMAL
        if not constant:
            x = np.arccosh(np.exp(max(-above, 0.0)))
            # with no interior the penalty (1e7) leaves an error of 1e-7 in x
            assert r.y[0, 0] == pytest.approx(x, abs=1e-9 if above < 0 else 2e-7)


def test_ties_absent_terms_and_fixed_variables():
    """A flat optimum, terms and limits that are absent, variables with equal ends."""
    flat = gp.solve(np.array([[1.0, 1.0], [-1.0, -1.0]]), np.zeros((1, 2)), np.array([0, 2]), *BOX)
    assert flat.status[0] == gp.OPTIMAL
    assert flat.value[0] == pytest.approx(np.log(2), abs=1e-12)

    A, ptr = np.array([[1, 0], [0, 1], [-1, -1], [-1, 0]], float), np.array([0, 2, 3, 4])
    off = -np.inf
    logc = np.array([[0, 0, off, -0.5], [0, off, 1, -0.5], [0, 0, off, off]])
    r = gp.solve(A, logc, ptr, *BOX)
    assert_sound(r)
    assert (r.status == gp.OPTIMAL).all()
    expected = [np.log(np.exp(-0.5) + np.exp(-5)), -0.5, np.log(2) - 5]
    np.testing.assert_allclose(r.value, expected, rtol=0, atol=1e-9)
    assert (r.multipliers[~np.isfinite(logc[:, 2:])] == 0).all()

    lo = np.array([[-1, -5], [1, -5], [-0.5 - 1e-10, -5], [1, 1], [0, 0]])
    hi = np.array([[-1, 5], [1, 5], [-0.5 - 1e-10, 5], [1, 1], [0, 0]])
    r = gp.solve(A, np.tile([0, 0, 1, -0.5], (5, 1)), ptr, lo, hi)
    assert_sound(r)
    np.testing.assert_array_equal(r.status, [2, 0, 0, 0, 2])
    np.testing.assert_array_equal(r.y[1:4, 0], lo[1:4, 0])
    assert r.y[1, 1] == pytest.approx(0, abs=1e-9)
    assert r.proof[0] == pytest.approx(0.5)
    assert gp.solve(A, np.zeros((1, 4)), ptr, np.ones(2), np.zeros(2)).status[0] == gp.INFEASIBLE


def test_all_limit_masks_name_the_conflict():
    """All 2^m choices of limits in one call: infeasible exactly where both sides of the conflict are."""
    A = np.array([[1, 1], [-1, 0], [1, 0], [0, -1]], float)  # minimise x y: x >= e, x <= 1, y >= 1
    base = np.array([0.0, 1.0, 0.0, 0.0])
    masks = (np.arange(8)[:, None] >> np.arange(3)) & 1 == 1
    logc = np.tile(base, (8, 1))
    logc[:, 1:][~masks] = -np.inf
    r = gp.solve(A, logc, np.array([0, 1, 2, 3, 4]), *BOX)
    np.testing.assert_array_equal(r.status == gp.INFEASIBLE, masks[:, 0] & masks[:, 1])
    np.testing.assert_allclose(r.proof[r.status == gp.INFEASIBLE], 0.5, rtol=0, atol=0.5)


@pytest.mark.parametrize("size", [200.0, 650.0])
def test_coefficients_far_from_one(size: float):
    """Coefficients e^-size .. e^size inside a box as wide: no overflow, a certified answer."""
    A, ptr = TWO[:4], np.array([0, 3, 4])
    logc = np.array([[size, -size, size, -40.0]])
    r = gp.solve(A, logc, ptr, np.full(2, -700.0), np.full(2, 700.0))
    assert_sound(r)
    assert r.status[0] == gp.OPTIMAL
    assert r.y[0, 0] == pytest.approx(40.0, abs=1e-9)


def test_a_point_does_not_depend_on_its_neighbours():
    """An instance gives the same answer alone, in a batch, and from another start."""
    A, logc, ptr, lo, hi = random_programs(5, 4, 300)
    batch = gp.solve(A, logc, ptr, lo, hi)
    for i in (0, 17, 299):
        alone = gp.solve(A, logc[i : i + 1], ptr, lo, hi)
        np.testing.assert_allclose(alone.value[0], batch.value[i], rtol=0, atol=1e-11)
        np.testing.assert_allclose(alone.y[0], batch.y[i], rtol=0, atol=1e-7)
    warm = gp.solve(A, logc, ptr, lo, hi, start=batch.y + 0.1)
    np.testing.assert_allclose(warm.value, batch.value, rtol=0, atol=1e-9)
    empty = gp.solve(A, logc[:0], ptr, lo, hi)
    assert empty.y.shape == (0, 4)


def test_values_weights_and_gradients():
    """Public helpers: weights are shares, gradients agree with differences, absent rows are -inf and 0."""
    A, logc, ptr, _, _ = random_programs(2, 3, 5)
    logc[0, ptr[1] : ptr[2]] = -np.inf
    y = np.random.default_rng(0).normal(size=(5, 3))
    F, G = gp.evaluate(A, logc, ptr, y), gp.gradients(A, logc, ptr, y)
    assert F[0, 1] == -np.inf
    assert (G[0, 1] == 0).all()
    W = gp.both(A, logc, ptr, y)[1]
    sums = np.add.reduceat(W, ptr[:-1], axis=1)
    np.testing.assert_allclose(np.delete(sums.ravel(), 1), 1.0, rtol=1e-14)
    h = 1e-5
    for v in range(3):
        step = h * np.eye(3)[v]
        up, down = gp.evaluate(A, logc, ptr, y + step)[1:], gp.evaluate(A, logc, ptr, y - step)[1:]
        np.testing.assert_allclose((up - down) / (2 * h), G[1:, :, v], rtol=0, atol=1e-9)


def test_what_does_not_fit_together_is_refused():
    """Shapes, infinite boxes and objectives without a term are errors, not answers."""
    one = np.ones((2, 1))
    for args in (
        (one, np.zeros((1, 2)), np.array([0, 1, 3]), [0.0], [1.0]),
        (one, np.zeros((1, 2)), np.array([0, 2, 2]), [0.0], [1.0]),
        (np.ones((3, 1)), np.zeros((1, 2)), np.array([0, 2]), [0.0], [1.0]),
        (one, np.zeros((1, 2)), np.array([0, 2]), [-np.inf], [1.0]),
        (one, np.array([[-np.inf, 0.0]]), np.array([0, 1, 2]), [0.0], [1.0]),
        (one, np.array([[np.nan, 0.0]]), np.array([0, 1, 2]), [0.0], [1.0]),
    ):
        with pytest.raises(ValueError, match=r"."):
            gp.solve(*args)


def test_a_bound_that_is_enough_ends_a_program():
    """It ends there, with a bound that holds; without one that can be reached it is solved as ever."""
    table = random_programs(4, 3, 50)
    full = gp.solve(*table)
    level = full.value - 0.1
    r = gp.solve(*table, enough=level)
    best = full.status == gp.OPTIMAL
    assert (r.bound >= level - 1e-9)[best].all()
    assert (r.bound <= full.value + 1e-9)[best].all()
    assert r.iterations[best].sum() < full.iterations[best].sum()
    np.testing.assert_allclose(gp.solve(*table, enough=full.value + 1.0).value, full.value, atol=2e-9)


@pytest.mark.parametrize("n", [2, 8])
def test_any_design_ends_a_question_for_any_design(n: int):
    """Whether limits can hold together is told as with a goal, in fewer iterations, by a design or a proof."""
    table = random_programs(100 + n, n, 250, feasible=False)
    full, any_design = gp.solve(*table), gp.solve(*table, tol=ANY)
    np.testing.assert_array_equal(any_design.status, full.status)
    met = full.status == gp.OPTIMAL
    assert met.any()
    assert (any_design.violation[met] <= 1e-9).all()
    assert (any_design.proof[~met] > 0).all()
    assert any_design.iterations[met].sum() < 0.5 * full.iterations[met].sum()


def test_an_iterate_that_leaves_the_limits_is_not_steady():
    """Both kernels ask this: within the limits a gap has to fall, or be closed."""
    outside, gaps = formulas.NOT_WITHIN + 1.0, np.array([1.5, 1.95, 0.5])
    np.testing.assert_array_equal(formulas.steady(gaps, 2.0), [True, False, True])
    assert not formulas.steady(outside, 2.0)
    assert formulas.steady(3.0, np.inf)


def test_points_as_good_as_the_best_lie_between_the_ends_of_a_level():
    """Of random designs those that hold the limits and reach a level lie where multipliers say they have to."""
    rng = np.random.default_rng(4)
    A, logc, ptr, lo, hi = nbody(rng, 200)[0]
    r = gp.solve(A, logc, ptr, lo, hi)
    some = np.flatnonzero(r.status == 0)
    narrower = 0
    for above in (1e-3, 0.1, 1.0):
        level = r.value[some] + above
        box = (np.broadcast_to(end, (some.size, 2)) for end in (lo, hi))
        low, high = gp_terms.ends_at_level(A, logc[some], ptr, *box, r.y[some], r.multipliers[some], level)
        assert (low <= r.y[some]).all()
        assert (r.y[some] <= high).all()
        narrower += (high - low < 0.5 * (hi - lo)).any(1).sum()
        for _ in range(2000):
            y = r.y[some] + rng.normal(size=(some.size, 2)) * rng.choice([0.01, 0.1, 1.0])
            y = np.clip(y, lo, hi)
            F = gp_terms.evaluate(A, logc[some], ptr, y)
            good = (F[:, 0] <= level) & (F[:, 1:] <= 0.0).all(1)
            assert ((low <= y) & (y <= high))[good].all()
    assert narrower > 0
