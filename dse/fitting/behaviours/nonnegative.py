"""Non-negative least squares as a convex quadratic program, with its optimality checked."""

from __future__ import annotations

import numpy as np

from dse.system.arrays import Array

# HiGHS holds signs and gradients to about 1e-7 of columns of length one
AT_ZERO = 1e-6
GRADIENT_ROUNDING = 1e-12
ACTIVE_SET_ROUNDS = 50


def nonnegative_least_squares(rows: Array, right: Array) -> Array:
    """Return the x >= 0 that minimises |rows x - right|; columns must be independent.

    Where the least squares without signs have no negative, they are it. Else HiGHS solves the quadratic program and
    so says which parameters are held at zero; the others follow by orthogonal elimination, exact to rounding, and
    the conditions of optimality are checked for all. Raises ArithmeticError where they cannot be met.
    """
    size = np.linalg.norm(rows, axis=0)
    size[size == 0] = 1.0
    scaled = rows / size
    plain: Array = np.linalg.lstsq(scaled, right, rcond=None)[0]
    if (plain >= 0).all():
        plain /= size
        return plain
    free = _quadratic_program(scaled, right) > AT_ZERO * np.linalg.norm(right)
    for _ in range(ACTIVE_SET_ROUNDS):
        x = np.zeros(rows.shape[1])
        if free.any():
            x[free] = np.linalg.lstsq(scaled[:, free], right, rcond=None)[0]
        descent = scaled.T @ (right - scaled @ x)
        noise = GRADIENT_ROUNDING * np.linalg.norm(right)
        if (x < 0).any():
            free &= x > 0
        elif (descent[~free] > noise).any():
            free[np.argmax(np.where(free, -np.inf, descent))] = True
        else:
            x /= size
            return x
    raise ArithmeticError("the non-negative least squares did not settle on which parameters are zero")


def _quadratic_program(rows: Array, right: Array) -> Array:
    import highspy

    n = rows.shape[1]
    size = np.linalg.norm(right)
    model = highspy.HighsModel()
    model.lp_.num_col_, model.lp_.num_row_ = n, 0
    model.lp_.col_cost_ = -rows.T @ right / size
    model.lp_.col_lower_, model.lp_.col_upper_ = np.zeros(n), np.full(n, np.inf)
    model.lp_.a_matrix_.start_ = np.zeros(n + 1, dtype=int)
    square = rows.T @ rows
    model.hessian_.dim_ = n
    model.hessian_.format_ = highspy.HessianFormat.kTriangular
    model.hessian_.start_ = np.concatenate([[0], np.cumsum(np.arange(n, 0, -1))])
    model.hessian_.index_ = np.concatenate([np.arange(j, n) for j in range(n)])
    model.hessian_.value_ = np.concatenate([square[j:, j] for j in range(n)])
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.passModel(model)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        # the conditions of optimality decide, whatever the start
        return np.full(n, size)
    found: Array = np.maximum(np.array(solver.getSolution().col_value), 0.0) * size
    return found
