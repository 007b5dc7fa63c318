"""Random geometric programs, and what holds of every answer to one: for the kernel in NumPy and the compiled one."""

from __future__ import annotations

import numpy as np

from solvers.geometric.kernel import gp

Table = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
TERMS = 5


def random_programs(
    seed: int, n: int, N: int, *, feasible: bool = True, scaled: bool = False, shared: bool = True
) -> Table:
    """n + 1 posynomials of 5 terms; feasible ones hold, with random room, at a random point."""
    rng = np.random.default_rng(seed)
    m, box = n, 70.0 if scaled else 12.0
    ptr = np.arange(m + 2) * TERMS
    A = rng.normal(size=(ptr[-1], n) if shared else (N, ptr[-1], n))
    logc = rng.normal(size=(N, ptr[-1]))
    logc -= np.repeat(gp.evaluate(A, logc, ptr, rng.normal(size=(N, n))), TERMS, axis=1)
    room = rng.uniform(0, 1, size=(N, m)) if feasible else -rng.uniform(0, 3, size=(N, m))
    logc[:, TERMS:] -= np.repeat(room, TERMS, axis=1)
    if scaled:  # other units for the variables: coefficients times e^-28 .. e^28 and more
        shift = rng.uniform(-28, 28, size=(N, n))
        logc += shift @ A.T if shared else (A @ shift[:, :, None])[:, :, 0]
    return A, logc, ptr, np.full(n, -box), np.full(n, box)


def assert_sound(r: gp.Result) -> None:
    """Claims that hold for every answer, whatever the instance."""
    for name in ("y", "value", "bound", "multipliers", "lower_multipliers", "upper_multipliers", "violation"):
        assert not np.isnan(getattr(r, name)).any(), name
    best = r.status == gp.OPTIMAL
    assert (r.violation[best] <= 1e-9).all()
    assert (np.abs(r.value - r.bound)[best] <= 1e-9 + 1e-13 * r.multipliers.sum(1)[best]).all()
    assert (r.proof[r.status == gp.INFEASIBLE] > 0).all()
    assert (r.multipliers >= 0).all()


def thin_wedge() -> Table:
    """The dearest flops with which an n-body computation keeps its efficiency: limits that leave next to nothing else.

    Multipliers are near 3000, and what meets all limits is some 1e-4 wide.
    """
    A = np.zeros((15, 5))
    A[[0, 9, 11], [4, 2, 3]] = A[2, 1] = A[3, 1] = A[13, 0] = A[13, 1] = -1.0
    A[[1, 2, 4, 4, 5, 7, 8, 10, 12, 14], [2, 3, 1, 4, 4, 0, 2, 3, 4, 1]] = 1.0
    A[14, 0] = 0.5
    logc = [-17.751, 23.714, 21.412, 3.214, 2.991, 4.6, -0.005, -11.09, 22.333, -29.264, 12.717, -19.648]
    low = np.array([0.0, 0.0, -29.764, -20.148, -69.078])
    high = np.array([11.59, 41.447, -21.833, -12.217, 69.078])
    return A, np.array([[*logc, 10.82, 10.628, -10.628]]), np.array([0, 1, *range(7, 16)]), low, high


def far_beyond_a_limit() -> Table:
    """The least power over a clock that another limit caps, where the first guess is far beyond the cap.

    A second variable stands in no term.
    """
    A = np.zeros((7, 2))
    A[:, 0] = [1, 0, 2, 1, 0, 0.77, 0]
    logc = np.array([[-19.24, -5.22, -46.9, -32.19, -2.42, -14.48, -0.69]])
    return A, logc, np.array([0, 5, 7]), np.array([15.6, -5.0]), np.array([23.0, 111.0])
