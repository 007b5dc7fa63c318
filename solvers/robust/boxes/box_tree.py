"""The search tree over boxes of designs: boxes are bounded in all worlds at once, shrunk, halved, let go.

The ends of the box that neither the user nor mathematics sets are those of a search only. No proof may rest on them:
once the box is closed, what lies beyond them is searched too, with the best design so far to be beaten
(``solvers.robust.masters.ends``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dse.system.arrays import Array, Bools
from formulations import evaluation
from formulations.arithmetics import enclosures
from formulations.row_keys import RowKey
from formulations.tolerances import HOLDS
from formulations.uncertainty.wanted import Wanted, reached
from scenarios.question import Question
from solvers import beyond, boxes, side_by_side
from solvers.boxes import Space
from solvers.nonlinear import search
from solvers.nonlinear.search import Boxes
from solvers.patterns import joined
from solvers.robust.boxes import box_lines, line_bounds
from solvers.sampling import descent

AT_ONCE = 32_768
FEW_SLOPES = 8
"""Decided numbers, each with its slopes, from which on a box takes work in proportion to them."""
FEW_NUMBERS = 256
"""Designs of a box of neighbouring floats that are judged one by one."""
GLANCE = 8192
"""Boxes times worlds after which a choice is left where another is better: what it reaches is told, too."""
SPARE = 1e-10
"""What a local search keeps of a limit, so that rounding does not break it."""
FIRST_HALVINGS, WORK_OF_ANY = 3, 8192
"""Rounds of halving before a design is looked for, and where any will do up to how many boxes times worlds more."""
STARTS = 3
TRIED = 512
"""Points of a Sobol sequence that are judged for the first starts."""
SHARE_OF_GAP, FINE_SHARE = 0.2, 0.01
"""Which part of the gap asked for may be left in a box: less while that takes little work."""
UNSUCCESSFUL = 65_536
"""Boxes times worlds after which a design that needs the slack of limits counts where no other is known."""


@dataclass(slots=True)
class Tree:
    """The search; the key of a box is a lower bound of what is minimised there (``box_lines.key_of``).

    ``best``: key of the best design, ``best_x``; ``strict``: it holds its limits to rounding. ``slack``: of the best
    that needs the slack of ``HOLDS``; it becomes the best one where no other is met: the designs may be a single point.
    """

    wanted: Wanted
    most: int
    where: Space = field(init=False)
    now: Boxes = field(init=False)
    best: float = np.inf
    best_x: Array | None = None
    strict: bool = False
    slack: float = np.inf
    slack_x: Array | None = None
    closed: float = np.inf
    done: int = 0
    boxes: int = 0

    def __post_init__(self) -> None:
        self.where = boxes.space(self.wanted.worlds.nominal)
        none = np.empty((0, len(self.where.names)))
        self.now = Boxes(np.empty(0, np.intp), none, none, np.empty(0), none)

    @property
    def open(self) -> bool:
        """Whether anything is left that may hold a design."""
        return bool(self.now.key.size) or bool(np.isfinite([self.closed, self.beaten]).any())

    @property
    def bound(self) -> float:
        """The least of what is not excluded."""
        return float(min(self.now.key.min(initial=np.inf), self.closed, self.best, self.beaten))

    @property
    def beaten(self) -> float:
        """From where on designs are worse than that of another choice, by more than the gap; infinite: nowhere."""
        level = self.wanted.level
        if level is None or level.best is None or self.done < GLANCE:
            return np.inf
        key = box_lines.key_of(self.wanted, level.best)
        return key + self._part_of_gap(1.0, key)

    def run(self, known: Mapping[str, float] | None = None) -> None:
        """Search until the gap is closed or the work is done, first the box, then what is beyond its own ends."""
        if known is not None:
            self._descend(np.array([known[n] for n in self.where.names]))
        kept = boxes.tighten(self.wanted.certain(), self.where)
        if kept is not None:
            self._examine(kept[0][None], kept[1][None])
            for _ in range(FIRST_HALVINGS):
                # often this proves that there is nothing to look for
                self._halve()
            while (
                not self.wanted.aims and self.now.key.size and self.best_x is None and self.done < WORK_OF_ANY
            ):
                # sets of limits that are asked for mostly have no design
                self._halve()
            if self.now.key.size and self.best_x is None:
                self.look(*kept)
            self._close()
        if any(map(any, self.where.ends)) and not self._enough():
            self._beyond()
        self._take_slack()

    def _take_slack(self) -> None:
        """Take the best design that needs the slack of limits where no other is known."""
        if not self.strict and self.slack_x is not None:
            self._take(self.slack, self.slack_x)

    def _enough(self) -> bool:
        """Whether there is a design and nothing to be best."""
        return self.best_x is not None and not self.wanted.aims

    def _close(self) -> None:
        """Halve the boxes that promise most until none promises anything or the work is done."""
        self._let_go()
        again = self.done + 8 * AT_ONCE
        while self.now.key.size and self.done < self.most and not self._enough():
            if self.done >= UNSUCCESSFUL:
                self._take_slack()
            if self.done >= again:
                again = 2 * self.done
                order = np.argsort(self.now.key, kind="stable")[: 1 if self.best_x is not None else STARTS]
                for i in map(int, order):
                    self._descend(enclosures.centres(self.now.low[i], self.now.high[i]))
            self._halve()
            if self.wanted.level is not None:
                side_by_side.pause()
            self._let_go()

    def _beyond(self) -> None:
        """Search what lies between the ends of the box and others far away."""
        near, certain = self.where, evaluation.farthest(self.wanted.certain())
        self.where = boxes.space(certain)
        kept = boxes.tighten(certain, self.where)
        shells = [] if kept is None else list(beyond.outside(near, *kept))
        if kept is None or not shells:
            return
        self._examine(*map(np.array, zip(*shells, strict=True)))
        self._let_go()
        if self.now.key.size and self.done < self.most:
            if self.best_x is None:
                self.look(*kept)
            else:
                self._descend(self.best_x)
            self._close()

    def _halve(self) -> None:
        """Bound both halves of the boxes that promise most."""
        order = np.argsort(self.now.key, kind="stable")[: max(AT_ONCE // self.wanted.worlds.size // 2, 2)]
        some = self.now.take(order)
        along = boxes.cut_along(self.where, some.low, some.high, some.steep)
        parts = boxes.halves(self.where, some.low, some.high, along)
        self.now = self.now.take(np.delete(np.arange(self.now.key.size), order))
        self._examine(*parts)

    def _let_go(self) -> None:
        """Drop boxes that cannot improve the best design by more than a part of the gap; their bounds stay."""
        self._close_but(self.now, self.now.key < self._cutoff())

    def _close_but(self, now: Boxes, kept: Bools) -> None:
        """Keep some boxes open; the bounds of the others stay."""
        self.closed = min(self.closed, float(now.key[~kept].min(initial=np.inf)))
        self.now = now.take(kept)

    def _cutoff(self) -> float:
        share = FINE_SHARE if self.done < 4 * AT_ONCE else SHARE_OF_GAP
        own = self.best - self._part_of_gap(share, self.best) if np.isfinite(self.best) else np.inf
        return min(own, self.beaten)

    def _part_of_gap(self, share: float, key: float) -> float:
        return share * self.wanted.worlds.nominal.gap * (1.0 if box_lines.in_logs(self.wanted) else abs(key))

    def _examine(self, low: Array, high: Array) -> None:
        """Bound boxes, let go what is of no use, try their centres, keep the rest open."""
        low, high = self.where.snap(low, high)
        alive = (low <= high).all(1)
        low, high = low[alive], high[alive]
        if not len(low):
            return
        self.done += int(len(low) * self.wanted.worlds.size * max(low.shape[1] / FEW_SLOPES, 1.0))
        self.boxes += len(low)
        self._try(enclosures.centres(low, high))
        # beside a design that holds its limits to rounding none counts that needs their slack
        slack = search.HELD_WITHIN if self.strict else HOLDS
        found = box_lines.known(self.wanted, low, high, slack)
        lines = list(found.lines)
        level = min(self.best, self.beaten)
        if np.isfinite(level):
            lines.append(line_bounds.Line(found.goal.slope, found.goal.cut - level))
        near, far = line_bounds.contracted(lines, found.width[0], found.width[1])
        alive = ~found.dead & (near <= far).all(0)
        keys = np.maximum(line_bounds.least(found.goal, found.lines, near, far), found.flat)
        middle, wide = enclosures.centres(low, high), self._wide(low, high)
        with np.errstate(over="ignore"):
            inner = middle * np.exp(near.T) * (1 - 1e-12), middle * np.exp(far.T) * (1 + 1e-12)
        low, high = self.where.snap(
            np.where(found.from_zero[:, None], low, np.maximum(low, inner[0])),
            np.where(found.from_zero[:, None], high, np.minimum(high, inner[1])),
        )
        alive &= (low <= high).all(1)
        # of a point that is left of a wide box the bound of that box says little
        again = wide & alive
        again[again] = ~self._wide(low[again], high[again])
        for i in np.flatnonzero(alive & ~wide):
            alive[i] = self._may_hold(low[i], high[i], slack)
        now = Boxes(np.zeros(len(keys), np.intp), low, high, keys, found.steep).take(alive & ~again)
        there = np.ones(self.now.key.size, bool)
        self._close_but(joined([self.now, now]), np.append(there, self._wide(now.low, now.high)))
        self._examine(low[alive & again], high[alive & again])

    def _may_hold(self, low: Array, high: Array, slack: float) -> bool:
        """Judge each number of a box that has only a few: where a step lies between them its bounds have both sides."""
        each = [_numbers_between(a, b) for a, b in zip(low, high, strict=True)]
        if math.prod(map(len, each)) > FEW_NUMBERS:
            return True
        x = self.where.point(np.array(list(itertools.product(*each))))
        found = reached(self.wanted, dict(zip(self.where.names, x.T, strict=True)))
        return not bool((found.over() > slack).all())

    def _wide(self, low: Array, high: Array) -> Bools:
        """Which boxes are more than a point."""
        return np.asarray((self.where.width(low, high) > boxes.SMALLEST).any(1))

    def _try(self, x: Array) -> None:
        """Judge designs in every world and keep the best."""
        x = self.where.point(x.copy())
        found = reached(self.wanted, dict(zip(self.where.names, x.T, strict=True)))
        over = found.over()
        with np.errstate(all="ignore"):
            keys = np.array([box_lines.key_of(self.wanted, float(v)) for v in found.goal])
        keys = np.where((over <= HOLDS) & np.isfinite(found.goal) & np.isfinite(keys), keys, np.inf)
        i = int(keys.argmin())
        if keys[i] < self.slack:
            self.slack, self.slack_x = float(keys[i]), x[i]
        keys[over > search.HELD_WITHIN] = np.inf
        i = int(keys.argmin())
        if keys[i] < self.best:
            self.strict = True
            self._take(float(keys[i]), x[i])
        elif self.best_x is not None and not self.strict and self.slack < self.best:
            # where slack is needed a better design that needs it counts
            self._take_slack()

    def _take(self, key: float, x: Array) -> None:
        self.best, self.best_x = key, x
        if self.wanted.level is not None:
            self.wanted.level.reach(box_lines.objective_at(self.wanted, key), self.wanted.sign)

    def look(self, low: Array, high: Array) -> None:
        """Look for designs to begin with: points spread over the box, and the best of them followed downhill."""
        from scipy.stats import qmc  # slow to import

        u = qmc.Sobol(low.size, rng=np.random.default_rng(0)).random(TRIED)
        x = self.where.point(self.where.spread(low, high, u))
        step = max(AT_ONCE // self.wanted.worlds.size, 1)
        over, goal = np.empty(TRIED), np.empty(TRIED)
        for at in range(0, TRIED, step):
            part = slice(at, at + step)
            found = reached(self.wanted, dict(zip(self.where.names, x[part].T, strict=True)))
            over[part], goal[part] = found.over(), self.wanted.sign * found.goal
        self._try(x[np.lexsort((goal, over))[:1]])
        order = np.lexsort((np.nan_to_num(goal, nan=np.inf), np.nan_to_num(over, nan=np.inf)))
        for i in map(int, order[:STARTS]):
            self._descend(x[i])

    def _descend(self, start: Array) -> None:
        """Follow a design downhill by tangents of what limits come to in all worlds."""

        def numbers(_: Question, x: Mapping[str, Any]) -> tuple[dict[RowKey, Any], Any]:
            found = reached(self.wanted, x)
            return {k: v * (1 + SPARE) for k, v in found.rows.items()}, found.goal

        nominal = self.wanted.worlds.nominal
        with np.errstate(all="ignore"):
            x = descent.descents(nominal, self.where, self.where.point(start[None].copy()), numbers)
        self._try(x)


def _numbers_between(low: float, high: float) -> list[float]:
    """Return the floats of a short interval, at most one more than are judged."""
    found = [float(low)]
    while found[-1] < high and len(found) <= FEW_NUMBERS:
        found.append(math.nextafter(found[-1], math.inf))
    return found
