"""The ways a behaviour is fitted: a form that was written, a sum found on a lattice, a softmax or maximum found.

Each takes the logarithms of the columns, counted from their middle, and what was measured, and returns a form of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dse.fitting.behaviours import lattice, softmax
from dse.fitting.behaviours.forms import Written
from dse.fitting.behaviours.logfit import Form, Free, Loss, fitted, form_of, log_value
from dse.fitting.held_out import folds
from dse.models.described.fitted import MAX, POSYNOMIAL, SOFTMAX
from dse.system.arrays import Array, Indices
from dse.system.records import dataclass

MOST_FOUND = 12
TRIED_TERMS = (1, 2, 3, 4, 6, 8, 10, 12)
LATTICE_RUNS, LATTICE_SAMPLES, MOST_RUNS_COMPARED = 800, 3, 6000
SELECTING_RUNS, SELECTING_FOLDS, SELECTING_STARTS = 3000, 3, 4
FOLD_STARTS = 5
# further terms have to lower the held-out error by this share
EARNS = 0.02
MOST_MISSED = 1.0
SHOWN_SHARE = 1e-4
START_SHARPNESS = 4.0


@dataclass(frozen=True, slots=True)
class Way:
    """How a behaviour is fitted.

    ``form``: posynomial, softmax or max; ``terms``: how many, None: as the held-out error says; ``free``: exponents off
    the lattice too (posynomial); ``written``: the form to fit, whose names of columns are ``columns``.
    """

    form: str
    terms: int | None = None
    free: bool = False
    loss: Loss = "tukey"
    written: Written | None = None
    columns: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        """Whether the terms are found, not written."""
        return self.written is None


def base(written: Written, columns: Sequence[str], middle: Array) -> Form:
    """Return a written form with every coefficient 1, over columns counted from their middle."""
    exponents = np.array([[t.exponents.get(c, 0.0) for c in columns] for t in written.terms])
    logc = np.log([t.factor for t in written.terms]) + exponents @ middle
    tie = [written.coefficients.index(t.coefficient) for t in written.terms]
    sharpness = START_SHARPNESS if written.form == SOFTMAX else math.inf
    return form_of(logc, exponents, [t.group for t in written.terms], sharpness, tie)


def left_out(way: Way, form: Form, middle: Array) -> list[str]:
    """Return the coefficients of a written form that the fit has not, since the runs do not show their terms."""
    written = way.written
    if written is None or form.coefficients == len(written.coefficients):
        return []
    there = base(written, way.columns, middle)
    kept = {_powers(e) for e in form.exponents}
    own = {c: there.exponents[there.tie == i] for i, c in enumerate(written.coefficients)}
    return [c for c, exponents in own.items() if not any(_powers(e) in kept for e in exponents)]


def _powers(exponents: Array) -> tuple[float, ...]:
    return tuple(np.round(exponents, 9).tolist())


def design(form: Form, x: Array) -> Array:
    """Return what each coefficient of a sum is multiplied by, (runs, coefficients)."""
    terms = np.exp(form.logc + x @ form.exponents.T)
    found = np.zeros((len(x), form.coefficients))
    np.add.at(found.T, form.tie, terms.T)
    return found


def solve(
    way: Way,
    x: Array,
    y: Array,
    middle: Array,
    terms: int,
    starts: int = softmax.SOFTMAX_STARTS,
    seed: int = 0,
) -> Form:
    """Return the form that fits these runs; ``terms`` counts where they are found, ``starts`` of a softmax."""
    if way.written is not None:
        start = base(way.written, way.columns, middle)
        return summed(start, x, y, way.loss) if way.form == POSYNOMIAL else _fit_of_maximum(start, x, y, way)
    if way.form != POSYNOMIAL:
        return softmax.fit(x, np.log(y), terms, way.loss, sharp=way.form == MAX, starts=starts, seed=seed)
    # what a sample of the runs shows may be of that sample alone: the terms of several are fitted to all
    samples = [
        some(len(x), LATTICE_RUNS, seed + i) for i in range(LATTICE_SAMPLES if len(x) > LATTICE_RUNS else 1)
    ]
    found = [lattice.found(x[few], y[few], terms, way.loss) for few in samples]
    made = [_of_sum(way, sums[min(terms, len(sums)) - 1], x, y) for sums in found]
    return min(made, key=lambda form: _missed(log_value(form, x), y))


def with_terms(way: Way, form: Form, x: Array, y: Array) -> Form:
    """Return the form with the terms that were found, fitted to these runs: exponents of a lattice stay as they are."""
    if way.form == POSYNOMIAL:
        return _of_sum(way, form.exponents, x, y)
    free = Free(exponents=True, sharpness=way.form == SOFTMAX and form.groups > 1)
    return softmax.robustly(form, x, np.log(y), free, way.loss)


def _of_sum(way: Way, exponents: Array, x: Array, y: Array) -> Form:
    form = summed(form_of(np.zeros(len(exponents)), exponents), x, y, way.loss)
    if not way.free:
        return form
    return softmax.robustly(form, x, np.log(y), Free(exponents=True), way.loss)


def summed(start: Form, x: Array, y: Array, loss: Loss) -> Form:
    """Return a sum with its coefficients fitted by non-negative least squares; those at 0 are left out."""
    c = lattice.coefficients(design(start, x), y, loss)
    kept = c[start.tie] > 0
    with np.errstate(divide="ignore"):
        made = replace(start, logc=start.logc + np.log(c)[start.tie])
    return made.take(kept)


def _fit_of_maximum(start: Form, x: Array, y: Array, way: Way) -> Form:
    """Fit the coefficients of a written maximum: from its sum, and from each coefficient in turn made small."""
    c = lattice.coefficients(design(start, x), y, way.loss)
    # what the sum does not show starts where it would reach a tenth of the median
    least = 0.1 * np.median(y) / np.maximum(np.median(design(start, x), axis=0), 1e-300)
    free = Free(sharpness=way.form == SOFTMAX)
    ly = np.log(y)
    tried: list[tuple[float, int, Form]] = []
    for shrunk in (None, *range(start.coefficients)):
        theta = np.log(np.maximum(c, least))
        if shrunk is not None:
            theta[shrunk] -= 2.0
        few = some(len(x), SELECTING_RUNS, 0)
        made = replace(start, logc=start.logc + theta[start.tie])
        form, cost = fitted(made, x[few], ly[few], free, "huber")
        tried.append((cost, len(tried), form))
    return visible(softmax.robustly(min(tried)[2], x, ly, free, way.loss), x)


def visible(form: Form, x: Array) -> Form:
    """Leave out the terms that the runs do not show: nowhere a SHOWN_SHARE of the whole, or never the largest."""
    while len(form.logc) > 1:
        whole = log_value(form, x)
        shown = np.array([_changes(form, x, whole, g) for g in form.tie])
        if shown.all() or not shown.any():
            return form
        worst = int(np.argmin(shown))
        form = form.take(form.tie != form.tie[worst])
    return form


def _changes(form: Form, x: Array, whole: Array, coefficient: int) -> bool:
    without = form.tie != coefficient
    if not without.any():
        return True
    return bool((whole - log_value(form.take(without), x)).max() > SHOWN_SHARE)


def count(way: Way, x: Array, y: Array, groups: Indices) -> int:
    """Return how many terms lower the held-out error: more are added while each addition earns its place."""
    if way.written is not None:
        return len(way.written.terms)
    if way.terms is not None:
        return way.terms
    few = some(len(x), SELECTING_RUNS, 1)
    x, y, fold = x[few], y[few], folds(groups[few], SELECTING_FOLDS, seed=1)
    if way.form == POSYNOMIAL:
        part = some(len(x), LATTICE_RUNS, 0)
        sums = lattice.found(x[part], y[part], MOST_FOUND, way.loss)
        tries = {len(e): e for e in sums}
        errors = {k: _error(fold, x, y, partial(_of_sum, way, e)) for k, e in tries.items()}
    else:
        errors = {}
        sharp = way.form == MAX
        for k in TRIED_TERMS:
            one = partial(_softmax, k, way.loss, sharp)
            errors[k] = _error(fold, x, y, one)
            if k > 2 and errors[k] > min(errors.values()):
                break
    chosen = min(errors)
    for k in sorted(errors):
        if errors[k] < (1 - EARNS) * errors[chosen]:
            chosen = k
    return chosen


def _softmax(terms: int, loss: Loss, sharp: bool, x: Array, y: Array) -> Form:
    return softmax.fit(x, np.log(y), terms, loss, sharp=sharp, starts=SELECTING_STARTS)


def _error(fold: Indices, x: Array, y: Array, fit: Callable[[Array, Array], Form]) -> float:
    """Return what folds miss that were held out; see ``_missed``."""
    found = np.empty(len(y))
    for f in range(int(fold.max()) + 1):
        out = fold == f
        found[out] = log_value(fit(x[~out], y[~out]), x[out])
    return _missed(found, y)


def _missed(modelled: Array, y: Array) -> float:
    """Mean of |log(modelled/measured)|, at most MOST_MISSED each; ``modelled``: logarithms.

    Gross errors of the runs then count the same whatever the number of terms.
    """
    return float(np.minimum(np.abs(modelled - np.log(y)), MOST_MISSED).mean())


def some(count: int, most: int, seed: int) -> Indices:
    """Return the places of at most ``most`` of ``count`` runs, drawn at random, in order."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, most, replace=False))
