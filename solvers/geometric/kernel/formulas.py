"""The interior point in numbers and formulas: the one statement of what its two forms share.

``solvers.geometric.kernel.gp_steps`` takes them with arrays, one number for each program; compiled for one program
(``solvers.geometric.kernel.iteration``) they take plain numbers. So they hold arithmetic and ufuncs only.

A program is ``min w F_0(y) + rho t`` subject to ``F_k(y) <= t``, ``t >= 0`` and a box. ``S`` and ``L`` are slacks and
multipliers of its inequalities, ``mu`` is the mean of their products.
"""

from __future__ import annotations

from typing import Any

import numpy as np

FEASIBLE = 1e-9
"""A limit counts as met when its log ratio is at most this."""
FIXED = 1e-11
"""A narrower interval counts as one value."""
TINY = 1e-300
FOLLOWED = 0.2
"""So much of itself a slack may be off its linear prediction and still follow it: curvature is then no obstacle."""
EXACT_SLACK = 1e-11
"""Below it a slack recomputed from F is mostly rounding, and is carried on by its own steps."""
FIRST_PENALTY, TOP_PENALTY, LAST_PENALTY, DEARER = 1e2, 1e4, 1e7, 1e2
"""The price rho of t: at first, the highest before the objective is set aside, after that, and how it is raised."""
TOP_PENALTY_AGAIN = 1e8
"""The highest of the last try, for limits that move the optimum 1e4 times as much as themselves and more."""
LEAST_MU, LEAST_ELASTIC = 1e-13, 1e-14
"""Product of slack and multiplier below which slacks drown in rounding; with an elastic t for each unit of rho."""
OPEN_SHARE = 1e-4
"""Product of slack and multiplier, as a part of a gap that is open, below which the rows that bind drown in rounding
what leads along them."""
PATIENCE, STALE = 40, 0.9
"""Iterations before a program counts as jammed, unless its open gap falls to this part of the least so far."""
NOT_WITHIN = 1e9
"""Score from which on an iterate is not within the limits."""
LATE, LATE_CAUTIOUS = 3, 8
"""Iterations without progress that an optimum is given to become sharper."""
SHARP = 1e-11
"""A gap that needs no more sharpening."""
STARTS_BROKEN, STARTS_AGAIN = -0.1, -1e-2
"""The greatest limit from which on a start needs an elastic t: the first one, and that of the cautious mode."""
LIFT, LIFT_AGAIN = 1.0, 0.1
"""How far above the greatest limit t begins."""
FLOOR_OF_SLACKS = 1e-3
"""Slacks begin no smaller than this part of the narrowest margin that keeps the first iterate inside the box."""
SHORT_STEP, SHORTER, CUTS = 0.3, 0.6, 40
"""A step that counts as short (after it products are made alike: where one is much smaller than the others, steps creep
along its limit); how a step that will not do is cut, and how often."""
ANY = 10.0
"""As tolerance: any design will do, so that the objective is set aside from the start."""
BARE = 20.0
"""As tolerance: the same, and a proof that there is none is carried on until it rests on no limit more than it must."""
DONE = 1e-11
"""Sum of products at which phase one has done what it can."""


def first_margin(low: Any, high: Any) -> Any:
    """How far inside its box the first iterate lies."""
    return np.minimum(0.05 * (high - low), 1.0)


def second_margin(low: Any, high: Any) -> Any:
    """The same where the cautious mode begins."""
    return 1e-6 * np.minimum(high - low, 1.0)


def centring(ratio: Any, short: Any, least: Any) -> Any:
    """Mehrotra's centring parameter, from what the predictor leaves of ``mu``; after a ``short`` step at least a half.

    ``least``: the least product, as a part of ``mu``.
    """
    cubed = np.minimum(np.maximum(ratio * ratio * ratio, 1e-4), 1.0)
    return np.maximum(np.maximum(cubed, 0.5 * (short > 0)), np.minimum(least, 1.0))


def least_product(least: Any, gap: Any) -> Any:
    """The least product that steps aim at while a ``gap`` (0: closed) is open; ``least``: the least of all."""
    return np.maximum(least, OPEN_SHARE * np.minimum(gap, 1.0))


def fraction(mu: Any) -> Any:
    """How much of the way to the nearest end a step goes."""
    return np.maximum(0.99, 1.0 - mu)


def follows(old: Any, miss: Any, step: Any, off: Any) -> Any:
    """Whether a slack is near enough to its prediction to follow it; ``off``: what it was off before."""
    return (miss <= FOLLOWED * old) | (miss <= (1.0 - 0.5 * step) * off)


def enough(slack: Any, old: Any, step: Any, mu: Any, multiplier: Any) -> Any:
    """Whether a true slack is not too small at the end of a step: beside the old one, or the one that is centred."""
    rest = slack - 0.01 * (1.0 - step) * old
    return (rest >= 1e-4 * old) | (rest * multiplier >= 1e-4 * mu)


def rounding(ahead: Any, slack: Any) -> Any:
    """Whether a slack is so small that its true value is rounding."""
    return (ahead < 2 * EXACT_SLACK) & (slack > -1e-13)


def allowed(before: Any, step: Any, fall: Any) -> Any:
    """What the barrier may be at the end of a step along which it falls by ``fall`` (Armijo's rule)."""
    return before - 1e-4 * step * fall + 1e-12 * (1.0 + np.abs(before))


def minimised(fall: Any, target: Any, count: Any) -> Any:
    """Whether the barrier is as small as its parameter ``target`` needs it, with ``count`` inequalities."""
    return fall < 0.1 * target * count


def near(multiplier: Any, centred: Any) -> Any:
    """A multiplier, kept near the one that centres its product."""
    return np.minimum(np.maximum(multiplier, 1e-4 * centred), 1e4 * centred)


def roomy(value: Any, slack: Any) -> Any:
    """Whether a limit holds with room, so that it needs no t."""
    return value <= -0.1 * slack


def stuck(total: Any, rho: Any, products: Any, t: Any) -> Any:
    """Whether t refuses to vanish: the limits' multipliers, in sum ``total``, press on its price."""
    return (total > 0.9 * rho) & (products < 0.5 * rho * t)


def artefact(total: Any, rho: Any) -> Any:
    """Whether the multipliers come from the penalty: the limits have no common interior."""
    return total > 0.3 * rho


def steady(score: Any, best: Any) -> Any:
    """Whether an iterate is within the limits, and its gap is closed or falls; scores are gaps, plus 1 while open."""
    return (score < NOT_WITHIN) & ((score < 1) | (score - 1 <= STALE * (best - 1)))


def close(gap: Any, total: Any, tol: Any) -> Any:
    """Whether value - bound counts as nothing.

    With multipliers that sum to ``total``, limits shifted by 1e-12 move the optimum by 1e-12 * total: where
    that exceeds the tolerance (limits without interior), floating point cannot do better.
    """
    return (gap <= tol + 1e-13 * total) & (gap >= -tol - 1e-12 * total)
