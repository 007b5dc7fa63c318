"""Necessary conditions of a box of designs, affine in the logarithms of what is decided, whatever the equations are.

In world i a number f (the objective, the ratio of a limit) is known on a box by interval slopes (``solvers.boxes``):
with δ the logarithmic distance from the centre m,

    log f_i  ∈  log f_i(m) + Σ_v [s_iv − r_iv, s_iv + r_iv] δ_v,      |δ_v| ≤ w_v.

So log f_i ≥ c_i + s_i·δ with c_i = log f_i(m) − Σ_v r_iv w_v, an error of second order in w; f_i itself is above the
tangent of exp there, and −f_i above its chord. What is asked of many worlds becomes lines a·δ + c:

- a mean or CVaR is at least the mean with the weights that attain it at the centre;
- what may be exceeded in k of N worlds: with any one slope g for all of them, c_i − Σ_v |s_iv − g_v| w_v + g·δ lies
  below log f_i, so the (k+1)-th largest of the first parts, plus g·δ, lies below the level that only k worlds exceed;
- a limit without an exception holds in the worlds where it is nearest to breaking, and so does one whose exceptions
  are used up by worlds that certainly break it on the whole box.

What such lines leave of a box, and the least of one of them there: ``solvers.robust.boxes.line_bounds``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations import evaluation
from formulations.arithmetics import enclosures
from formulations.arithmetics.slopes import Slope
from formulations.grids import divided
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from formulations.uncertainty.measures import Quantile, Weighing
from formulations.uncertainty.wanted import Wanted
from formulations.uncertainty.worlds import Cap
from scenarios.define import composed
from solvers.robust.boxes.line_bounds import ASKS_NOTHING, Line


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of B boxes of k variables.

    ``dead``: boxes without a design. ``lines``: each is at most 0 at every design. ``goal``: a line below what is
    minimised, ``flat``: a number below it; the objective is ``objective_at`` of it. ``width``: (2, k, B), how far a box
    reaches below and above its centre, in logarithms, and 0 of boxes ``from_zero``. ``steep``: see ``steepness`` in
    ``formulations.arithmetics.enclosures``.
    """

    dead: Bools
    lines: tuple[Line, ...]
    goal: Line
    flat: Array
    width: Array
    from_zero: Bools
    steep: Array


@dataclass(frozen=True, slots=True)
class _Row:
    """Lower bounds, mostly in logs, of one number on B boxes in N worlds: ``cut`` (B, N), slopes, radii (k, B, N)."""

    cut: Array
    slope: Array
    radius: Array
    reach: Array

    def lower(self) -> Array:
        """The cuts with the error of the slopes taken off."""
        return np.asarray(self.cut - (self.radius * self.reach[..., None]).sum(0))

    def exceeded(self, count: int, nothing: float = ASKS_NOTHING) -> Line:
        """A line below the level that at most ``count`` worlds exceed; ``nothing``: of a line that asks for nothing."""
        place = self.cut.shape[1] - 1 - count
        near = np.argpartition(self.cut, place, axis=1)[:, place]
        one = self.slope[:, np.arange(len(near)), near]
        apart = self.radius + np.abs(self.slope - one[..., None])
        low = self.cut - (apart * self.reach[..., None]).sum(0)
        return _sound(one, np.partition(low, place, axis=1)[:, place], nothing)

    def worst(self, at: Array, without: Bools) -> Line:
        """The line of the world that is largest at the points ``at`` (k, B); ``without`` (B, N): some left out."""
        low = np.where(without, -np.inf, self.lower())
        there = low + (self.slope * at[..., None]).sum(0)
        i = np.where(np.isnan(there), -np.inf, there).argmax(1)
        every = np.arange(len(i))
        return _sound(self.slope[:, every, i], low[every, i])


def _sound(slope: Array, cut: Array, nothing: float = ASKS_NOTHING) -> Line:
    """A line of finite numbers: one that asks for ``nothing`` where there are none."""
    fine = np.isfinite(cut) & np.isfinite(slope).all(0)
    return Line(np.where(fine, slope, 0.0), np.where(fine, cut, nothing))


def known(wanted: Wanted, low: Array, high: Array, slack: float = HOLDS) -> Known:
    """Work out what is known of boxes (B, k); ``slack``: by how much designs may miss limits.

    Raises CannotTake where the equations are not for slopes.
    """
    keys, e = _enclosed(wanted, low, high)
    boxes_, n = len(low), wanted.worlds.size
    count = wanted.worlds.count_of("")
    width = e.width.reshape(2, -1, boxes_, n)[..., 0]
    # from 0 on there are no logarithms: of such a box only numbers are known
    from_zero = np.asarray(~np.isfinite(width).all((0, 1)))
    width = np.where(from_zero, 0.0, width)
    reach = np.abs(width).max(0)
    e = _without_slopes(e, np.repeat(from_zero, n))
    dead = np.zeros(boxes_, bool)
    lines: list[Line] = []
    goal, flat = _goal_line(wanted, e, keys, (boxes_, n), reach)
    # where a descent along the goal would go, the limits matter most
    down = -np.sign(goal.slope) * reach
    failing = [np.zeros((boxes_, count), bool) for _ in wanted.chances]
    promised: list[list[_Row]] = [[] for _ in wanted.chances]
    for r, key in enumerate(keys):
        if key == wanted.eased or not wanted.counts(key.name):
            continue
        take = wanted.worlds.count_of(key.name)
        row, lo = _row_bounds(e, r, (boxes_, n), reach, take), e.low[r].reshape(boxes_, n)[:, :take]
        groups = wanted.failing(key.name)
        if not groups:
            dead |= (lo > 1 + slack).any(1)
            nobody = np.zeros((boxes_, take), bool)
            lines += [row.worst(at, nobody) for at in (np.zeros_like(down), down)]
        for g in groups:
            failing[g] |= lo > 1 + slack
            promised[g].append(row)
            lines.append(row.exceeded(wanted.chances[g].may_fail))
    for g, c in enumerate(wanted.chances):
        number = failing[g].sum(1)
        dead |= number > c.may_fail
        used_up = (number == c.may_fail)[:, None]
        for row in promised[g]:
            out = np.where(used_up, failing[g], True)
            lines += [row.worst(at, out) for at in (np.zeros_like(down), down)]
    lines = [Line(x.slope, x.cut - math.log1p(slack)) for x in lines]
    for r, cap in enumerate(wanted.caps(), len(keys)):
        line, least = _cap(cap, e, r, (boxes_, n), reach, count)
        dead |= least > slack
        lines.append(Line(line.slope, line.cut - slack))
    steep = enclosures.steepness(e).reshape(boxes_, n, -1).max(1)
    return Known(dead, tuple(lines), goal, flat, width, from_zero, steep)


def _without_slopes(e: enclosures.Enclosure, which: Bools) -> enclosures.Enclosure:
    low, high = (np.where(which, np.nan, v) for v in (e.slope_low, e.slope_high))
    return replace(e, slope_low=low, slope_high=high)


def _enclosed(wanted: Wanted, low: Array, high: Array) -> tuple[tuple[RowKey, ...], enclosures.Enclosure]:
    """Bound, in every world, all ratios of limits, the metrics under limits on measures, and the objective."""
    worlds, count = wanted.worlds, len(low)
    every = divided.at(worlds.every, np.tile(np.arange(worlds.size), count))
    low, high = (np.repeat(v, worlds.size, axis=0) for v in (low, high))
    inputs = Slope.inputs(low, enclosures.centres(low, high), high)
    x = {d.name: s for d, s in zip(every.decide, inputs, strict=True)}
    with np.errstate(all="ignore"):
        at = evaluation.metrics(every, x)
        rows = evaluation.ratios(every, x, at)
        found = [*rows.values(), *(at[c.name] for c in wanted.caps())]
        if every.objectives:
            found.append(evaluation.objective(every, x, at))
        return tuple(rows), enclosures.enclosure(tuple(rows), [inputs[0].of(v) for v in found], low.shape)


def _row_bounds(
    e: enclosures.Enclosure, r: int, shape: tuple[int, int], reach: Array, take: int, sign: float = 1.0
) -> _Row:
    """Bounds of ``sign`` times a row's logarithm in the first ``take`` worlds; flat where it may not be positive."""
    lo, hi = (v[r].reshape(shape)[:, :take] for v in (e.low, e.high))
    centre = (e.centre_low if sign > 0 else e.centre_high)[r].reshape(shape)[:, :take]
    ends = [v[r].reshape(-1, *shape)[..., :take] for v in (e.slope_low, e.slope_high)]
    with np.errstate(all="ignore"):
        slope, radius = sign * (ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / 2
        cut = sign * np.log(centre)
    plain = _flat_log(lo, hi, sign)
    fine = (lo > 0) & np.isfinite(cut) & np.isfinite(slope).all(0) & np.isfinite(radius).all(0)
    cut = np.where(fine, cut - 1e-13 * (1.0 + (np.abs(slope) * reach[..., None]).sum(0)), plain)
    return _Row(cut, np.where(fine, slope, 0.0), np.where(fine, radius, 0.0), reach)


def _flat_log(lo: Array, hi: Array, sign: float) -> Array:
    """A number below ``sign`` times a row's logarithm; minus infinity where none is known.

    Of what is to be large 0 is as bad as anything.
    """
    end = lo if sign > 0 else hi
    with np.errstate(all="ignore"):
        found = np.where(end > 0, sign * np.log(end), -np.inf)
    return found if sign > 0 else np.where(end <= 0, -ASKS_NOTHING, found)


def _above(
    e: enclosures.Enclosure, r: int, shape: tuple[int, int], reach: Array, take: int, sign: float
) -> tuple[Array, Array, Array]:
    """A line below ``sign`` times a row in each world: cut (B, N) and slope (k, B, N); and a number below it."""
    lo, hi = (v[r].reshape(shape)[:, :take] for v in (e.low, e.high))
    flat = lo if sign > 0 else -hi
    row = _row_bounds(e, r, shape, reach, take, sign)
    with np.errstate(all="ignore"):
        # sign > 0: exp(t) >= 1 + t; sign < 0: exp(t) <= cosh T + t sinh(T)/T for |t| <= T
        most = (np.abs(row.slope) * reach[..., None]).sum(0)
        level = sign * np.exp(sign * row.lower())
        bent = np.sinh(most) / np.where(most > 0, most, 1.0)
        cut, slope = (
            (level, level * row.slope)
            if sign > 0
            else (level * np.cosh(most), -level * np.where(most > 0, bent, 1.0) * row.slope)
        )
        fine = (lo > 0) & np.isfinite(cut) & np.isfinite(slope).all(0)
        # far out a tangent lies below what plain intervals say
        fine &= cut - (np.abs(slope) * reach[..., None]).sum(0) >= flat - np.abs(flat) * (1 + most)
    return np.where(fine, cut, flat), np.where(fine, slope, 0.0), flat


def _goal_line(
    wanted: Wanted, e: enclosures.Enclosure, keys: Sequence[RowKey], shape: tuple[int, int], reach: Array
) -> tuple[Line, Array]:
    """A line below what is minimised (see ``objective_at``), and a number below it."""
    worlds, r = wanted.worlds, len(keys) + len(wanted.caps())
    if not wanted.aims:
        nothing = np.zeros(shape[0])
        return Line(np.zeros_like(reach), nothing), nothing
    count, sign, most, fails = worlds.measured, wanted.sign, wanted.exceeded, np.False_
    if wanted.eased is not None:
        r, count = keys.index(wanted.eased), worlds.count_of(wanted.eased.name)
        groups = [wanted.chances[g] for g in wanted.failing(wanted.eased.name)]
        if groups:
            # where the others of its group fail for sure it plays no part, and they use up what may fail
            few = min(groups, key=lambda c: c.may_fail)
            others = [k for k, key in enumerate(keys) if key.name in few.names and key != wanted.eased]
            low = [e.low[k].reshape(shape)[:, :count] for k in others if wanted.counts(keys[k].name)]
            most, fails = few.may_fail, np.any([x > 1 + HOLDS for x in low], axis=0)
    if most is not None and not in_logs(wanted):
        cut, slope, flat = _above(e, r, shape, reach, count, sign)
        place = count - 1 - most
        line = _Row(cut, slope, np.zeros_like(slope), reach).exceeded(most, -np.inf)
        return line, np.partition(flat, place, axis=1)[:, place]
    if most is not None:
        row = _row_bounds(e, r, shape, reach, count, sign)
        lo, hi = (v[r].reshape(shape)[:, :count] for v in (e.low, e.high))
        flat = _flat_log(lo, hi, sign)
        row = replace(row, cut=np.where(fails, np.inf, row.cut))
        place = count - 1 - most
        return row.exceeded(most), np.partition(np.where(fails, np.inf, flat), place, axis=1)[:, place]
    assert not isinstance(wanted.measure, Quantile), "a quantile is exceeded in so many samples"
    return _measured(wanted.measure, e, r, shape, reach, count, sign)


def _cap(
    cap: Cap, e: enclosures.Enclosure, r: int, shape: tuple[int, int], reach: Array, count: int
) -> tuple[Line, Array]:
    """A line below, and a number below, how far a limited measure lies beyond its end, relative to that."""
    sign, size = (1.0 if cap.side == "max" else -1.0), abs(cap.end) or 1.0
    line, least = _measured(cap.measure, e, r, shape, reach, count, sign)
    return _sound(line.slope / size, (line.cut - sign * cap.end) / size), (least - sign * cap.end) / size


def _measured(
    measure: Weighing,
    e: enclosures.Enclosure,
    r: int,
    shape: tuple[int, int],
    reach: Array,
    take: int,
    sign: float,
) -> tuple[Line, Array]:
    """A line below the measure of ``sign`` times a row, and a number below it.

    The line has the weights that attain the measure at the centres of the boxes.
    """
    cut, slope, flat = _above(e, r, shape, reach, take, sign)
    centre = (e.centre_low if sign > 0 else e.centre_high)[r].reshape(shape)[:, :take]
    w = np.stack([measure.weights(v) for v in np.nan_to_num(sign * centre, nan=0.0)])
    with np.errstate(invalid="ignore"):
        parts = np.where(w > 0, w * cut, 0.0)
        # in units of the user ASKS_NOTHING is a number like others
        return _sound((slope * w).sum(-1), parts.sum(-1), -np.inf), np.asarray(measure.value(flat))


def in_logs(wanted: Wanted) -> bool:
    """Whether what is minimised is the logarithm of a level: one that samples may exceed, of what is never negative."""
    if wanted.exceeded is None or wanted.eased is not None or not wanted.aims:
        return wanted.exceeded is not None
    nominal = wanted.worlds.nominal
    return not composed.may_be_negative(nominal.model, nominal.objectives[0].name)


def objective_at(wanted: Wanted, key: float) -> float:
    """Return the objective that a value of the goal's line stands for, in the user's own sense."""
    if not in_logs(wanted):
        return wanted.sign * key
    # where no logarithm bounds the objective it may be negative
    return float(np.exp(wanted.sign * key)) if key > ASKS_NOTHING else -wanted.sign * np.inf


def key_of(wanted: Wanted, objective: float) -> float:
    """Return what the goal's line is where the objective has this value; minus infinity where it has none."""
    if not in_logs(wanted) or not wanted.aims:
        # where nothing is to be best any design is as good as another
        return wanted.sign * objective
    return float(wanted.sign * np.log(objective)) if objective > 0 else -np.inf
