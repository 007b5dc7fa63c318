"""Sensitivities of limits and given numbers at optima that one or more cases of the question's maxima attain.

A case's rows say how its maxima are held, so the envelope theorem holds for them like for limits. Where several cases
meet in the optimum, a small change one way is not the mirror of one the other way: then the value for relaxing a
limit, or for moving a given number the way that betters the objective, is meant. A single answer and the points of a
front are weighed here, as N optima.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations import canonical as canon
from formulations import evaluation
from formulations.arithmetics.maxima import SIDE
from formulations.canonical import Canonical
from formulations.problem import Problem
from results.solution import Solution
from solvers import side_by_side
from solvers.geometric.kernel import gp
from solvers.geometric.kernel.formulas import FEASIBLE
from solvers.geometric.programs import multipliers
from solvers.judgement import Judged
from solvers.mechanisms import dual_ends, sensitivity
from solvers.mechanisms.dual_ends import Duals, Optima

GAP_OF_MULTIPLIERS = 1e-8
"""Gap, in logs, of an optimum whose multipliers are told though the kernel gave up."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a case of one question attains its optimum, in log variables (n,); ``force``: its multipliers, if known."""

    case: Problem
    y: Array
    force: Array | None


@dataclass(frozen=True, slots=True)
class Attained:
    """A case that attains N optima: the designs ``y`` (N, n) in logs, and the multipliers of its rows there."""

    case: Problem
    y: Array
    optima: Optima
    duals: Duals


@dataclass(frozen=True, slots=True)
class Sensitivities:
    """Percent of the objective per percent at N optima: of the user's limits and of given numbers.

    ``limits`` and ``numbers``: by label or name, NaN where there is none (numbers only where they were asked for);
    ``limits_apart`` and ``numbers_apart``: where only the value for relaxing, or for moving a number the better way, is
    meant. ``jumps``: at which given numbers something jumps, or a limit breaks, so that there is no rate. ``known``: at
    which optima they were found.
    """

    limits: Mapping[str, Array]
    limits_apart: Mapping[str, Bools]
    numbers: Mapping[str, Array]
    numbers_apart: Mapping[str, Bools]
    jumps: Mapping[str, Bools]
    known: Bools

    def note(self, i: int) -> str:
        """What the certificate of point ``i`` says of numbers that have no rate."""
        return sensitivity.jump_note([name for name, there in self.jumps.items() if there[i]])

    def beside(self, solution: Solution, i: int) -> Solution:
        """The answer of point ``i`` with its sensitivities."""
        limits = dict(solution.limits)
        for label, rates in self.limits.items():
            rate = float(rates[i]) if math.isfinite(rates[i]) else None
            limits[label] = dataclasses.replace(
                limits[label], elasticity=rate, one_sided=bool(self.limits_apart[label][i])
            )
        parameters = {n: float(v[i]) for n, v in self.numbers.items() if math.isfinite(v[i])}
        one_sided = tuple(n for n in parameters if self.numbers_apart[n][i])
        return dataclasses.replace(solution, limits=limits, parameters=parameters, one_sided=one_sided)


def of_places(judged: Judged, places: Sequence[Place]) -> Sensitivities:
    """Weigh the optimum of one question, which one or more cases attain at the same design."""
    return weighed(judged, [attained(place) for place in places])


def weighed(judged: Judged, attained: Sequence[Attained], *, numbers: bool = True) -> Sensitivities:
    """Weigh N optima that one or more cases attain at the same designs; without ``numbers`` the limits only."""
    limits = _largest_duals([_of_limits(a.duals) for a in attained])
    # as a limit moves every case's row moves alike
    shares = sensitivity.shares_of_bounds(attained[0].case, judged, attained[0].y, limits.keys)
    limits = dataclasses.replace(limits, value=limits.value * shares)
    if not numbers or not limits.known.any():
        return _sensitivities(judged, limits, None)
    slopes = [sensitivity.slopes(a.case, judged, a.y, a.optima.keys) for a in attained]
    pairs = list(zip(attained, slopes, strict=True))
    ends = np.array([sensitivity.both_ways(a.optima, a.duals, s) for a, s in pairs])
    jumps = np.any([sensitivity.jumping(a.duals, s) for a, s in pairs], axis=0)
    return _sensitivities(judged, limits, (ends[:, 0].max(0), ends[:, 1].min(0), jumps))


def without_structure(judged: Judged, *, numbers: bool = True) -> Sensitivities:
    """Weigh optima whose equations are not ratios of posynomials, by differences of the model's own."""
    o, d = sensitivity.numeric_duals(judged)
    if not numbers or not d.known.any():
        return _sensitivities(judged, d, None)
    slopes = sensitivity.slopes(None, judged, np.zeros((1, 0)), d.keys)
    return _sensitivities(judged, d, (*sensitivity.both_ways(o, d, slopes), sensitivity.jumping(d, slopes)))


def attained(place: Place) -> Attained:
    """A case where it attains the optimum, with the multipliers of its rows."""
    c, y, force, sure = canon.canonical(place.case, place.case.goal), place.y[None], place.force, None
    if force is None:
        r, _ = multipliers.at(c, y, side_by_side.solve)
        force, sure = r.multipliers, proved(r)
    return Attained(place.case, y, *at_rows(c, y, force, proved=sure))


def proved(r: gp.Result) -> Bools:
    """Where the gap is small enough for the multipliers: they are off by its square root, times the curvature."""
    near = (r.violation <= FEASIBLE) & (r.value - r.bound <= GAP_OF_MULTIPLIERS)
    return np.asarray((r.status == gp.OPTIMAL) | ((r.status == gp.FAILED) & near))


def at_rows(
    c: Canonical,
    y: Array,
    force: Array,
    *,
    wanted: Bools | None = None,
    proved: Bools | None = None,
) -> tuple[Optima, Duals]:
    """Between which ends the multipliers lie at N optima ``y``; see ``dual_ends.duals``.

    ``force``: some multipliers of the programs whose divisors are their tangents there.
    """
    o = dual_ends.optima(c.keys, (*canon.restriction(c, y), c.ptr), (c.low, c.high), y, force)
    return o, dual_ends.duals(o, wanted, proved)


def _sensitivities(judged: Judged, d: Duals, ends: tuple[Array, Array, Bools] | None) -> Sensitivities:
    """What limits are worth, and, given numbers: from slopes to both sides, and where they jump."""
    rates = sensitivity.elasticities(judged, d.keys, np.where(d.known[:, None], d.value, np.nan))
    told = {evaluation.label(key, judged.ratios): d.one_sided[:, k] & d.known for k, key in enumerate(d.keys)}
    # a limit that has no row says nothing either way
    apart = {label: told.get(label, np.zeros(judged.gap.size, bool)) for label in rates}
    if ends is None:
        return Sensitivities(rates, apart, {}, {}, {}, d.known)
    names, (falling, rising, jumps) = sensitivity.numbers(judged.question), ends
    felt = sensitivity.felt(judged, np.where(d.known, falling, np.nan), rising)
    worth, one_way, there = (dict(zip(names, found, strict=True)) for found in (*felt, jumps & d.known))
    return Sensitivities(rates, apart, worth, one_way, there, d.known)


def _of_limits(d: Duals) -> Duals:
    kept = np.array([key.side != SIDE for key in d.keys], dtype=bool)
    keys = tuple(key for key in d.keys if key.side != SIDE)
    return Duals(keys, d.value[:, kept], d.least[:, kept], d.most[:, kept], d.known)


def _largest_duals(all_of: Sequence[Duals]) -> Duals:
    """Relaxing a limit buys what it buys in the case where it buys most."""
    value, least, most, known = (
        pick([getattr(d, name) for d in all_of], axis=0)
        for name, pick in (("value", np.max), ("least", np.min), ("most", np.max), ("known", np.all))
    )
    return Duals(all_of[0].keys, value, least, most, known)
