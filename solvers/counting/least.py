"""Whole numbers with a least design: of all that meet the rows, one that is smallest in every number at once.

A row in which at most one number gains (has a negative coefficient in ``a . u + k <= 0``) holds for the smaller of two
designs, number by number, if it holds for both. Where all rows are like that the designs have a least one, reached
from the lowest ends by raising what a row asks to be raised; it is best for whatever costs something in every number,
and a tie goes to it. Where instead one number alone earns something, the greatest that it can be is found by halving,
the others being the least that go with it. Rows of another kind are left aside and looked at afterwards: what is found
without them bounds what is possible with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.models.arithmetic import CannotTake
from dse.system.records import dataclass
from formulations.arithmetics.many import Array, plain
from formulations.tolerances import TIE

LEAST_ROUNDS = 40
HALVINGS = 60
SUM_ROUNDING = 1e-12
"""Of what is added up: rounding."""
NEARLY_MET = 1e-9
"""Rows that are broken by less are another method's to judge, whose tolerances are not ours."""

Mask = NDArray[np.bool_]
Form = Mapping[str, Any]


class NotLeast(CannotTake):
    """There is no least design to be found this way."""


@dataclass(frozen=True, slots=True)
class Row:
    """``terms . u + constant <= 0``; numbers are floats or ``Many``."""

    terms: Form
    constant: Any


@dataclass(frozen=True, slots=True)
class Found:
    """The best design of each point.

    ``u`` by name; ``value``: what was minimised; ``lost``: by how much of its size a row is broken (0: there is a
    design; infinite: there is none by far); ``met``: whether the rows left aside hold as well; ``near``: whether
    rounding may decide between this design and another, or none.
    """

    u: Mapping[str, Array]
    value: Array
    lost: Array
    met: Mask
    near: Mask

    @property
    def there(self) -> Mask:
        """Where there is a design, rows left aside not counted."""
        return np.asarray(self.lost == 0.0)


@dataclass(frozen=True, slots=True)
class Raised:
    """A row that asks ``column`` to be at least ``(others . u + constant)/step``."""

    column: str
    step: Any
    others: Form
    constant: Any


def sign(c: Any) -> int:
    """Return the sign of a number; raises Differ where it is not that of all points."""
    return int(c > 0) - int(c < 0)


def total(terms: Form, u: Mapping[str, Array], constant: Any) -> Array:
    """Return ``terms . u + constant`` at all points."""
    found = plain(constant)
    for name, c in terms.items():
        found = found + plain(c) * u[name]
    return np.asarray(found, dtype=float)


def size(terms: Form, u: Mapping[str, Array], constant: Any) -> Array:
    """Return the sum of the sizes of what ``total`` adds up."""
    found = np.abs(plain(constant))
    for name, c in terms.items():
        found = found + np.abs(plain(c) * u[name])
    return np.asarray(found, dtype=float)


def best(
    rows: Sequence[Row],
    cost: Row,
    ends: Mapping[str, tuple[float, float]],
    count: int,
    ties: Iterable[Form] = (),
) -> Found:
    """Minimise ``cost`` over whole numbers between ``ends`` that meet the rows, for ``count`` points.

    ``ties``: what else is to be small; the design found is so in all of them. Raises NotLeast.
    """
    raised, kept, aside = _sorted(rows)
    names = list(ends)
    low = {n: np.full(count, ends[n][0]) for n in names}
    signs = {n: sign(cost.terms.get(n, 0.0)) for n in names}
    if any(sign(c) < 0 for terms in ties for c in terms.values()):
        raise NotLeast("of several designs that are as good the least is not the one to hand out")
    earning = [n for n in names if signs[n] < 0]
    if not earning:
        u, lost, near = _least_design(raised, kept, low, ends)
    elif len(earning) == 1 and not any(signs[n] > 0 for n in names):
        u, lost, near = _greatest(raised, kept, low, ends, earning[0])
    else:
        raise NotLeast("some numbers cost something and others earn something")
    met = np.ones(count, dtype=bool)
    for row in aside:
        met &= _broken(row, u) == 0.0
    value = np.broadcast_to(total(cost.terms, u, cost.constant), (count,))
    return Found(u, value, lost, met, near)


def best_ratio(
    rows: Sequence[Row], above: Row, below: Row, ends: Mapping[str, tuple[float, float]], count: int
) -> Found:
    """Minimise ``above`` over ``below`` as ``best`` does. Raises NotLeast.

    The design with the greatest number in ``below`` is the best where ``above`` is no larger there than it is at least.
    """
    found = best(rows, above, ends, count)
    greatest = best(rows, Row({n: -c for n, c in below.terms.items()}, 0.0), ends, count)
    least, most = (total(above.terms, f.u, above.constant) for f in (found, greatest))
    under = total(below.terms, greatest.u, below.constant)
    if any(sign(c) < 0 for c in below.terms.values()) or not (under > 0.0).all():
        raise NotLeast("a ratio of what may be below zero")
    with np.errstate(invalid="ignore"):
        value = np.broadcast_to(most / under, (count,))
    apart = most > least + SUM_ROUNDING * np.abs(least)
    near = found.near | greatest.near | (greatest.there & apart)
    return Found(greatest.u, value, greatest.lost, found.met & greatest.met, near)


def raised(
    rows: Sequence[Row], start: Mapping[str, Array], ends: Mapping[str, tuple[float, float]]
) -> Mapping[str, Array]:
    """Return the least numbers from ``start`` on by those of the rows in which one number alone gains."""
    return _least_design(_sorted(rows)[0], (), start, ends)[0]


def _sorted(rows: Sequence[Row]) -> tuple[list[Raised], list[Row], list[Row]]:
    """Rows by how many numbers gain in them: one, none, several."""
    raised, kept, aside = [], [], []
    for row in rows:
        gaining = [n for n, c in row.terms.items() if sign(c) < 0]
        if not gaining:
            kept.append(row)
        elif len(gaining) == 1:
            (own,) = gaining
            others = {n: c for n, c in row.terms.items() if n != own}
            raised.append(Raised(own, -plain(row.terms[own]), others, row.constant))
        else:
            aside.append(row)
    return raised, kept, aside


def _broken(row: Row, u: Mapping[str, Array]) -> Array:
    """By how much of its size a row is broken; 0: by no more than rounding."""
    over = spread = plain(row.constant)
    spread = np.abs(spread)
    for name, c in row.terms.items():
        term = plain(c) * u[name]
        over, spread = over + term, spread + np.abs(term)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.divide(over, spread)
    return np.where(share > SUM_ROUNDING, share, 0.0)


def _least_design(
    raised: Sequence[Raised],
    kept: Sequence[Row],
    low: Mapping[str, Array],
    ends: Mapping[str, tuple[float, float]],
) -> tuple[dict[str, Array], Array, Mask]:
    """The least design, by how much rows are broken, and where rounding may matter."""
    u = dict(low)
    count = len(next(iter(u.values())))
    for _ in range(LEAST_ROUNDS):
        moved = False
        for r in raised:
            asked = total(r.others, u, r.constant) / r.step
            slack = SUM_ROUNDING * size(r.others, u, r.constant) / r.step
            # beyond its end there is no design, and no need to go on
            least = np.minimum(np.ceil(asked - slack), ends[r.column][1] + 1.0)
            if (least > u[r.column]).any():
                u[r.column] = np.maximum(u[r.column], least)
                moved = True
        if not moved:
            break
    lost = np.zeros(count)
    for row in kept:
        lost = np.maximum(lost, _broken(row, u))
    near = (lost > 0.0) & (lost < NEARLY_MET)
    for name, (_, high) in ends.items():
        lost = np.where(u[name] > high, np.inf, lost)
    return u, lost, near | moved


def _greatest(
    raised: Sequence[Raised],
    kept: Sequence[Row],
    low: Mapping[str, Array],
    ends: Mapping[str, tuple[float, float]],
    name: str,
) -> tuple[dict[str, Array], Array, Mask]:
    """The design with the greatest number ``name`` and the least of all others."""
    if ends[name][1] * TIE >= 1.0:
        raise NotLeast(f"{name} may be so large that one more is no difference")

    def at_least(number: Array) -> tuple[dict[str, Array], Array, Mask]:
        return _least_design(raised, kept, {**low, name: np.maximum(low[name], number)}, ends)

    u, lost, near = at_least(low[name])
    good, bad = u[name], np.where(lost == 0.0, ends[name][1] + 1.0, u[name] + 1.0)
    for _ in range(HALVINGS):
        if not (bad - good > 1.0).any():
            break
        middle = np.floor((good + bad) / 2.0)
        fits = at_least(middle)[1] == 0.0
        good, bad = np.where(fits, middle, good), np.where(fits, bad, middle)
    above, (u, lost, near) = at_least(good + 1.0), at_least(good)
    # whether one more fits may be a matter of rounding; at its own end it may be without end
    return u, lost, near | above[2] | ((lost == 0.0) & (good >= ends[name][1]))
