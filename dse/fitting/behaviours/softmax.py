"""Softmaxes and maxima of K monomials with free exponents, fitted from several starts.

A start cuts the runs into K parts around random runs and fits a monomial to each, then moves runs to the monomial that
is largest there (Magnani and Boyd, Convex piecewise-linear fitting, 2009); Hoburg, Kirschen and Abbeel, Data fitting
with geometric-programming-compatible softmax functions (2016) describe the form.
"""

from __future__ import annotations

import math

import numpy as np

from dse.fitting.behaviours.logfit import Form, Free, Loss, fitted, form_of
from dse.system.arrays import Array

SOFTMAX_STARTS, TRIED_STEPS, POLISHED = 10, 25, 3
MOST_TRIED_ON = 1500
SOFTMAX_ROUNDS = 6
RIDGE = 1e-2
SOFT_START = 8.0


def fit(
    x: Array, y: Array, terms: int, loss: Loss, *, sharp: bool, starts: int = SOFTMAX_STARTS, seed: int = 0
) -> Form:
    """Return the softmax (a maximum where ``sharp``) of ``terms`` monomials that fits best.

    ``x``: logarithms of the columns, counted from their middle; ``y``: logarithms of what was measured. Starts are
    tried on at most MOST_TRIED_ON runs; the best is fitted to all.
    """
    rng = np.random.default_rng(seed)
    few = rng.choice(len(x), min(MOST_TRIED_ON, len(x)), replace=False)
    free = Free(exponents=True, sharpness=not sharp)
    if terms == 1:
        return robustly(_starting_form(x[few], y[few], 1, rng, sharp=True), x, y, Free(exponents=True), loss)
    found: list[tuple[float, int, Form]] = []
    for _ in range(starts):
        start = _starting_form(x[few], y[few], terms, rng, sharp=sharp)
        form, cost = fitted(start, x[few], y[few], free, "huber", TRIED_STEPS)
        found.append((cost, len(found), form))
    best = min(
        (fitted(form, x[few], y[few], free, "huber") for _, _, form in sorted(found)[:POLISHED]),
        key=lambda f: f[1],
    )
    return robustly(best[0], x, y, free, loss)


def robustly(form: Form, x: Array, y: Array, free: Free, loss: Loss) -> Form:
    """Fit from a start; where the loss forgets far runs, after those that find them: Huber's, then Tukey's."""
    before: dict[Loss, tuple[Loss, ...]] = {"tukey": ("huber",), "error": ("huber", "tukey")}
    for one in (*before.get(loss, ()), loss):
        form, _ = fitted(form, x, y, free, one)
    return form


def _starting_form(x: Array, y: Array, terms: int, rng: np.random.Generator, *, sharp: bool) -> Form:
    spread = x.std(0)
    z = x / np.where(spread > 0, spread, 1.0)
    ones = np.column_stack([np.ones(len(x)), x])
    centres = z[rng.choice(len(z), terms, replace=len(z) < terms)]
    part = ((z[:, None] - centres[None]) ** 2).sum(-1).argmin(1)
    # parts of few runs lean on the monomial that fits all
    lean = RIDGE * len(x) / terms * np.diag([0.01, *(0.1 * np.maximum(spread, 1e-3) ** 2)])
    whole = np.linalg.solve(ones.T @ ones + lean, ones.T @ y)
    found = np.tile(whole, (terms, 1))
    for _ in range(SOFTMAX_ROUNDS):
        for i in range(terms):
            mine = ones[part == i]
            found[i] = np.linalg.solve(mine.T @ mine + lean, mine.T @ y[part == i] + lean @ whole)
        part = (ones @ found.T).argmax(1)
    sharpness = math.inf if sharp else SOFT_START
    return form_of(found[:, 0], found[:, 1:], np.arange(1, terms + 1), sharpness)
