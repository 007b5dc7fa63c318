"""Worst cases: whether a question asks for the worst over all values that its uncertain numbers can have."""

from __future__ import annotations

import math

from scenarios.distributions import Measure
from scenarios.question import Question
from scenarios.uncertainty.drawing import box, listed
from scenarios.uncertainty.promises import promises

LISTED = 4096
"""Combinations of the values of uncertain numbers up to which each is a world of its own."""
AT_WORST = Measure("worst")
"""What counts where no measure is asked for."""


def all_at_worst(question: Question, measure: Measure) -> bool:
    """Whether everything is asked at its worst.

    What may fail in some samples says nothing at a vertex. Beside another measure, which is one of samples, the worst
    is that of the same samples.
    """
    alike = all(m.kind == "worst" for m in question.measures.values())
    return measure.kind == "worst" and not promises(question) and alike


def over_box(question: Question, measure: Measure | None = None) -> bool:
    """Whether something is asked at its worst over all values that the uncertain numbers can have."""
    uncertain = question.uncertainty
    asked = any(x.worst for x in question.limits)
    bounded = all(math.isfinite(x) for e in box(uncertain).values() for x in e)
    # rows of a table beside continuous numbers: neither the rows alone nor the box of their ends is all there is
    open_rows = uncertain.tied and listed(uncertain, LISTED) is None
    measure = measure or question.measure or AT_WORST
    return bounded and not open_rows and (asked or all_at_worst(question, measure))


def without_samples(question: Question) -> bool:
    """Whether designs are judged at their worst over all values alone: no sample is taken, and metrics are nominal."""
    if question.uncertain is None or (question.measure is None and not question.measures):
        return False
    measure = question.measure or AT_WORST
    return all_at_worst(question, measure) and over_box(question, measure)
