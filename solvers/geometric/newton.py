"""Newton's linear system of the interior point, of many programs at once: condensed, or whole."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solvers.geometric.formulas import TINY
from solvers.geometric.gp_state import State, slacks
from solvers.geometric.gp_terms import Array

STIFF = 1e9  # multiplier / slack beyond which the condensed matrix is not trusted without an interior


class Newton:
    """The condensed Newton matrix of a state, scaled to a unit diagonal; for some instances the whole one."""

    def __init__(self, s: State, whole: bool) -> None:
        m, n = s.F.shape[1] - 1, s.y.shape[1]
        row = s.terms.row_of
        coefficients = np.concatenate([s.weight[:, None], s.L[:, :m]], axis=1)
        # centred exponents: a sum of squares stays one in floating point
        X = s.terms.A - s.G[:, row]
        X *= np.sqrt(coefficients[:, row] * s.W)[:, :, None]
        self.s, self.D = s, s.L / s.S
        Y = s.J * np.sqrt(self.D)[:, :, None]
        curved = X.swapaxes(1, 2) @ X
        H = Y.swapaxes(1, 2) @ Y
        H[:, :n, :n] += curved
        H[:, n, n] += ~s.elastic
        diagonal = np.einsum("bii->bi", H)
        self.scale = 1 / np.sqrt(diagonal)
        self.H = H * self.scale[:, :, None] * self.scale[:, None, :]
        np.einsum("bii->bi", self.H)[...] = 1 + 1e-14
        self.down = np.concatenate([s.weight[:, None] * s.G[:, 0], (s.rho * s.elastic)[:, None]], axis=1)
        self.off = slacks(s.F, s.t, s.y, s.lo, s.hi, s.active) - s.S
        # without an interior, tight limits drown all else in rounding once condensed; unless they pin down y
        tight = (self.D[:, :m] > STIFF).sum(1)
        self.stiff = np.flatnonzero(s.elastic & (tight > 0) & (tight <= n) & whole)
        if len(self.stiff):
            self.whole = Whole(s, self.stiff, curved, self.D)

    def step(self, aim: Array) -> tuple[Array, Array, Array, Array]:
        """Return how the barrier falls, and the step that brings slack times multiplier to ``aim``.

        The step is in (y, t), in the slacks and in the multipliers.
        """
        s = self.s
        pull = aim / s.S - self.D * self.off
        rhs = (pull[:, None, :] @ s.J)[:, 0] - self.down
        d = self.scale * _solve(self.H, self.scale * rhs)
        if len(self.stiff):
            v = self.whole.step(
                d, aim[self.stiff], pull[self.stiff], self.down[self.stiff], self.off[self.stiff]
            )
        dS = (s.J @ d[:, :, None])[:, :, 0] + self.off
        dL = aim / s.S - s.L - self.D * dS
        if len(self.stiff):
            k, m = self.stiff, v.shape[1]
            L = s.L[k, :m]
            on = s.active[k, :m]
            dL[k, :m] = -(v + L) * on
            dS[k, :m] = np.where(on > 0, (aim[k, :m] + s.S[k, :m] * v) / np.maximum(L, TINY), 0.0)
        return (rhs * d).sum(1), d, dS, dL


class Whole:
    """The Newton matrix of a few instances with the multipliers of the limits as unknowns of their own."""

    def __init__(self, s: State, k: NDArray[np.int64], curved: Array, D: Array) -> None:
        m, n = s.F.shape[1] - 1, s.y.shape[1]
        self.k, self.m, self.J = k, m, s.J[k]
        box = self.J[:, m:]
        H = box.swapaxes(1, 2) @ (box * D[k, m:, None])
        H[:, :n, :n] += curved[k]
        J = self.J[:, :m]
        self.ratio = s.S[k, :m] / (s.L[k, :m] + 1 - s.active[k, :m])
        self.inverse_L = s.active[k, :m] / (s.L[k, :m] + 1 - s.active[k, :m])
        unit = 1 / np.sqrt(np.einsum("bii->bi", H))
        size = 1 / np.sqrt(((J * unit[:, None, :]) ** 2).sum(2) + self.ratio)
        self.scale = np.concatenate([unit, size], axis=1)
        K = np.zeros((len(k), n + 1 + m, n + 1 + m))
        K[:, : n + 1, : n + 1] = H
        K[:, n + 1 :, : n + 1] = J
        K[:, : n + 1, n + 1 :] = J.swapaxes(1, 2)
        np.einsum("bii->bi", K)[:, n + 1 :] = -self.ratio
        self.K = K * self.scale[:, :, None] * self.scale[:, None, :]

    def step(self, d: Array, aim: Array, pull: Array, down: Array, off: Array) -> Array:
        """Put the steps of its instances into d; return minus the new multipliers of their limits."""
        m = self.m
        first = (pull[:, None, m:] @ self.J[:, m:])[:, 0] - down
        second = aim[:, :m] * self.inverse_L - off[:, :m]
        x = self.scale * _solve(self.K, self.scale * np.concatenate([first, second], axis=1))
        d[self.k] = x[:, : d.shape[1]]
        return x[:, d.shape[1] :]


def _solve(H: Array, rhs: Array) -> Array:
    """Solve all systems; the few that are singular to the last digit are solved by least squares."""
    try:
        return np.asarray(np.linalg.solve(H, rhs[:, :, None])[:, :, 0], float)
    except np.linalg.LinAlgError:
        if len(H) > 1:
            return np.concatenate([_solve(H[k : k + 1], rhs[k : k + 1]) for k in range(len(H))])
        good = bool(np.isfinite(H).all() and np.isfinite(rhs).all())
        return np.asarray(np.linalg.lstsq(H[0], rhs[0])[0][None], float) if good else 0 * rhs
