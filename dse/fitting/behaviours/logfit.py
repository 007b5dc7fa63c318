"""Sums, softmaxes and maxima of monomials fitted to logarithms of measurements: Levenberg-Marquardt, robust.

A form is y = sum of plain terms + (sum over groups of (sum of the group's terms)^s)^(1/s), each term c prod x_j^e_j.
``s`` is the sharpness; infinite, the second part is the largest group. Residuals are log(modelled/measured).

The loss "error" is the mean of |modelled/measured - 1| itself, without the runs that Tukey's forgets. It draws a model
down, by about the variance of the residuals.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from dse.fitting.behaviours import gram
from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass

Loss = Literal["squares", "huber", "tukey", "error"]
LOSSES: tuple[Loss, ...] = ("huber", "tukey", "squares", "error")

# usual tuning constants: 95 % efficient where errors are normal
HUBER, TUKEY = 1.345, 4.685
MAD = 1.4826
DESCENT_STEPS = 60
GAIN_SETTLED = 1e-7
LEAST_SPREAD = 1e-9
# of the spread: the corner of |modelled/measured - 1| at 0 is rounded so far
ROUNDED_CORNER = 0.05
PULL = 10.0
SHARPEST_FITTED, BLUNTEST = 25.0, 1.0


@dataclass(frozen=True, slots=True)
class Form:
    """K terms over d columns: ``logc`` (K,), ``exponents`` (K, d), ``group`` (K,): 0 for a plain term.

    ``sharpness``: of the groups 1, 2, …; infinite for a maximum. ``tie`` (K,): which coefficient, counted from 0, a
    term has; terms that share one keep their ratio.
    """

    logc: Array
    exponents: Array
    group: Indices
    sharpness: float
    tie: Indices

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return int(self.group.max(initial=0))

    @property
    def coefficients(self) -> int:
        """How many coefficients there are."""
        return int(self.tie.max(initial=-1)) + 1

    def take(self, kept: Bools) -> Form:
        """Return the form with these terms only; its groups and coefficients are numbered anew."""
        group = self.group[kept]
        number = np.concatenate([[0], np.cumsum(np.isin(np.arange(1, self.groups + 1), group))])
        tie = np.unique(self.tie[kept], return_inverse=True)[1]
        made = replace(self, logc=self.logc[kept], exponents=self.exponents[kept], tie=tie)
        return replace(made, group=number[group].astype(np.intp))

    def shifted(self, middle: Array) -> Form:
        """Return the same function of columns whose logarithms are counted from ``middle``."""
        return replace(self, logc=self.logc + self.exponents @ middle)


def form_of(
    logc: Array, exponents: Array, group: Any = 0, sharpness: float = math.inf, tie: Any = None
) -> Form:
    """Return a form; without more said its terms are plain and each has a coefficient of its own."""
    k = len(logc)
    groups = np.broadcast_to(np.asarray(group, np.intp), (k,)).copy()
    ties = np.arange(k) if tie is None else np.asarray(tie, np.intp)
    return Form(np.asarray(logc, float), np.asarray(exponents, float).reshape(k, -1), groups, sharpness, ties)


@dataclass(frozen=True, slots=True)
class Free:
    """What is fitted beside the coefficients."""

    exponents: bool = False
    sharpness: bool = False


def log_value(form: Form, x: Array) -> Array:
    """Return log y at the points ``x``: logarithms of the columns, (N, d)."""
    return _logs(form, x).value


def fitted(
    form: Form,
    x: Array,
    y: Array,
    free: Free,
    loss: Loss = "huber",
    steps: int = DESCENT_STEPS,
    weight: Array | None = None,
) -> tuple[Form, float]:
    """Return the form near ``form`` that fits best, and its robust mean square of residuals.

    ``x``: logarithms of the columns (N, d); ``y``: logarithms of what was measured; ``weight``: of each run. Free
    exponents are pulled towards 0 as by PULL runs each, so that no term turns steep for the sake of a few runs.
    """
    weight = np.ones(len(y)) if weight is None else weight
    damping, logs = 1e-3, _logs(form, x)
    cost, spread = _mean_loss(logs.value - y, weight, loss)
    pulled = slice(form.coefficients, form.coefficients + form.exponents.size) if free.exponents else slice(0)
    for _ in range(steps):
        residual = logs.value - y
        jacobian = _derivatives(form, x, free, logs)
        w = weight * _weights(residual, spread, loss)
        gradient = gram.right(jacobian, w * residual)
        normal = gram.normal(jacobian, w)
        pull = PULL * spread**2
        if free.exponents:
            gradient[pulled] += pull * form.exponents.ravel()
            normal[np.diag_indices(len(normal))] += _only(len(normal), pulled) * pull
            cost += pull * float((form.exponents**2).sum()) / float(weight.sum())
        scale = np.diag(normal) + 1e-12 * max(float(np.diag(normal).max()), LEAST_SPREAD)
        better = False
        for _ in range(8):
            step = np.linalg.solve(normal + np.diag(damping * scale), -gradient)
            tried = _form_after_step(form, np.clip(step, -3.0, 3.0), free)
            with np.errstate(over="ignore", invalid="ignore"):
                there = _logs(tried, x)
            found = _mean_loss(there.value - y, weight, loss, spread)[0]
            if free.exponents:
                found += pull * float((tried.exponents**2).sum()) / float(weight.sum())
            if np.isfinite(found) and found < cost:
                better = True
                break
            damping = damping * 4.0
        if not better:
            break
        gain = (cost - found) / max(cost, LEAST_SPREAD**2)
        damping = max(damping / 6.0, 1e-9)
        form, logs = tried, there
        cost, spread = _mean_loss(logs.value - y, weight, loss)
        if gain < GAIN_SETTLED:
            break
    return form, cost


def _only(size: int, part: slice) -> Array:
    found = np.zeros(size)
    found[part] = 1.0
    return found


def _mean_loss(
    residual: Array, weight: Array, loss: Loss, spread: float | None = None
) -> tuple[float, float]:
    """Return the mean loss in units of squared residuals, and the spread that tells outliers."""
    if spread is None:
        spread = max(MAD * float(np.median(np.abs(residual))), LEAST_SPREAD)
    z = np.abs(residual) / spread
    if loss == "huber":
        each = np.where(z <= HUBER, z**2, 2 * HUBER * z - HUBER**2)
    elif loss == "tukey":
        each = TUKEY**2 / 3 * (1 - np.maximum(1 - (z / TUKEY) ** 2, 0.0) ** 3)
    elif loss == "error":
        error = np.expm1(np.clip(residual, -TUKEY * spread, TUKEY * spread))
        each = 2 * np.hypot(error / spread, ROUNDED_CORNER)
    else:
        each = z**2
    return float(np.average(each, weights=weight)) * spread**2, spread


def _weights(residual: Array, spread: float, loss: Loss) -> Array:
    """Return by how much each residual counts: half the slope of its loss over the residual."""
    z = np.abs(residual) / spread
    if loss == "huber":
        return np.minimum(1.0, HUBER / np.maximum(z, LEAST_SPREAD))
    if loss == "tukey":
        return np.maximum(1 - (z / TUKEY) ** 2, 0.0) ** 2
    if loss == "error":
        near = np.where(z < TUKEY, residual, 0.0)
        error = np.expm1(near)
        # (e^r - 1)/r is 1 where r is 0
        slope = np.divide(error, near, out=np.ones_like(near), where=near != 0)
        return np.where(z < TUKEY, slope * np.exp(near) / np.hypot(error / spread, ROUNDED_CORNER), 0.0)
    return np.ones_like(z)


@dataclass(frozen=True, slots=True)
class _Logs:
    """Logarithms at N points: of each term (N, K), of each group (N, groups), of all groups (N,), of the form (N,)."""

    terms: Array
    inner: Array
    top: Array
    value: Array


def _logs(form: Form, x: Array) -> _Logs:
    u = form.logc + x @ form.exponents.T
    parts = [u[:, form.group == 0]]
    inner = top = np.zeros((len(x), 0))
    if form.groups:
        inner = np.stack([_log_sum(u[:, form.group == g]) for g in range(1, form.groups + 1)], axis=1)
        sharpness = form.sharpness
        top = inner.max(1) if math.isinf(sharpness) else _log_sum(sharpness * inner) / sharpness
        parts.append(top[:, None])
    value = _log_sum(np.concatenate(parts, axis=1))
    return _Logs(u, inner, top, value)


def _derivatives(form: Form, x: Array, free: Free, logs: _Logs) -> Array:
    """Return the derivatives of log y by coefficients, exponents and log sharpness."""
    share = np.exp(logs.terms - logs.value[:, None])
    columns = []
    if form.groups:
        below = logs.inner - logs.top[:, None]
        if math.isinf(form.sharpness):
            lift = (below == 0).astype(float)
            lift /= lift.sum(1, keepdims=True)
        else:
            # a group's terms count by how much the softmax follows their sum
            lift = np.exp((form.sharpness - 1) * below)
        inside = form.group > 0
        share[:, inside] *= lift[:, form.group[inside] - 1]
        if free.sharpness and not math.isinf(form.sharpness):
            entropy = (np.exp(form.sharpness * below) * below).sum(1)
            columns.append((np.exp(logs.top - logs.value) * entropy)[:, None])
    if free.exponents:
        columns.insert(0, (share[:, :, None] * x[:, None]).reshape(len(x), -1))
    if form.coefficients < len(form.tie):
        tied = np.zeros((len(x), form.coefficients))
        np.add.at(tied.T, form.tie, share.T)
        share = tied
    return np.concatenate([share, *columns], axis=1)


def _form_after_step(form: Form, step: Array, free: Free) -> Form:
    (k, d), c = form.exponents.shape, form.coefficients
    made = replace(form, logc=form.logc + step[:c][form.tie])
    if free.exponents:
        made = replace(made, exponents=form.exponents + step[c : c + k * d].reshape(k, d))
    if free.sharpness and not math.isinf(form.sharpness):
        s = form.sharpness * math.exp(float(np.clip(step[-1], -0.7, 0.7)))
        made = replace(made, sharpness=min(max(s, BLUNTEST), SHARPEST_FITTED))
    return made


def _log_sum(u: Array) -> Array:
    if u.shape[1] == 1:
        return u[:, 0]
    top = u.max(1)
    return np.asarray(top + np.log(np.exp(u - top[:, None]).sum(1)))
