"""The ranges of sums of exponentials over a box of log variables, by interval arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from formulations.arithmetics.intervals import Interval
from formulations.arithmetics.intervals import exp as interval_exp
from formulations.pyomo_models.log_data import LEAST_LOG, Linear, Term

Box = Mapping[str, Interval]
"""Bounds of the log variables."""


def range_of_log(terms: Sequence[Term], box: Box) -> tuple[float, float]:
    """Bounds on the logarithm of a positive sum."""
    # the largest exponent is taken out, so that neither end overflows
    shift = max(float(_exponent(t, box).hi) for t in terms)
    shift_low = max(float(_exponent(t, box).lo) for t in terms)
    high = range_of_terms(terms, box, shift).hi
    low = range_of_terms(terms, box, shift_low).lo
    # what may be 0 or negative has a logarithm down to that of the least float
    least = math.log(low) + shift_low if low > 0 else LEAST_LOG
    return least, math.log(high) + shift if high > 0 else LEAST_LOG


def range_of_terms(terms: Sequence[Term], box: Box, shift: float = 0.0) -> Interval:
    """Range of a sum divided by exp(shift)."""
    total = Interval.of(0.0)
    for t in terms:
        part = interval_exp(_exponent(t, box) - shift)
        for form in t.factors:
            part = part * linear_range(form, box)
        total = total + part * t.sign
    return total


def linear_range(form: Linear, box: Box) -> Interval:
    """Range of a linear form of the log variables."""
    total = Interval.of(form.get("", 0.0))
    for name, a in form.items():
        if name:
            total = total + box[name] * a
    return total


def certain_sign(terms: Sequence[Term], box: Box) -> int | None:
    """1 for what is positive, 0 for the number zero, -1 for what is negative; None where that is open."""
    if not terms or all(t.sign > 0 and not t.factors for t in terms):
        return 1 if terms else 0
    if all(t.sign < 0 and not t.factors for t in terms):
        return -1
    value = range_of_terms(terms, box)
    if float(value.lo) > 0 or leading(terms, box) is not None:
        return 1
    down = Term(-1.0, 0.0, {})
    return -1 if float(value.hi) < 0 or leading([t.times(down) for t in terms], box) is not None else None


def leading(terms: Sequence[Term], box: Box) -> Term | None:
    """Return a term by which a sum is to be divided to see that it is positive: c d^3 - d^4 is, where d / c < 1.

    None where that is plain without, or cannot be seen.
    """
    if all(t.sign > 0 for t in terms) or float(range_of_terms(terms, box).lo) > 0:
        return None
    for t in terms:
        if t.sign > 0 and not t.factors:
            down = t.inverse()
            if float(range_of_terms([x.times(down) for x in terms], box).lo) > 0:
                return t
    return None


def _exponent(t: Term, box: Box) -> Interval:
    return linear_range({"": t.constant, **t.exponents}, box)
