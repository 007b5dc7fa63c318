"""What is promised of limits: which hold, alone or together, with which probability and confidence.

``promises`` is the one list of them: what samples may fail, what is judged in fresh samples, and what a question is
told with begin there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dse.quantities import level_text
from scenarios.distributions import PROMISE_CONFIDENCE, Joint
from scenarios.language.errors import shown
from scenarios.language.reading import Reader
from scenarios.language.schema import Bounds, Shape
from scenarios.question import Decision, Limit, Question

JOINT = "joint"
"""What limits that hold together are called under [limits]."""
MOST_COMBINATIONS_COUNTED = 1e300
"""More combinations of values count as these: a larger number is no float."""


@dataclass(frozen=True, slots=True)
class Promise:
    """Limits that hold together with ``probability``: in the world with ``confidence``, or with 0 in the samples.

    ``key``: where the file has it, under [limits].
    """

    names: tuple[str, ...]
    probability: float
    confidence: float
    key: str = JOINT

    @property
    def at(self) -> str:
        """Where the file has the probability."""
        return f"limits.{self.key}.probability"


def promises(question: Question) -> tuple[Promise, ...]:
    """Return what is promised of limits, in the order of the file; those that hold together last."""
    found = [
        Promise((x.name,), x.probability, x.confidence, x.name)
        for x in question.limits
        if x.probability is not None
    ]
    if question.joint is not None:
        found.append(Promise(question.joint.of, question.joint.probability, question.joint.confidence))
    return tuple(found)


def limited(entry: Any, limit: Limit) -> Limit:
    """Return a limit with the probability with which it holds, where the file states one."""
    if entry is None or (entry.probability is None and not entry.worst):
        return limit
    sure = PROMISE_CONFIDENCE if entry.confidence is None else entry.confidence
    return replace(limit, probability=entry.probability, worst=entry.worst, confidence=sure)


def least_samples(probability: float, confidence: float, decided: int, choices: int = 1) -> int:
    """Return the fewest samples that can promise a probability with a confidence, where all of them must hold.

    The least N with choices · sum over i < d of C(N, i) e^i (1 - e)^(N - i) at most 1 - confidence, e = 1 - probability
    and d the number of decided quantities, at least 1 (Campi and Garatti 2008, theorem 1, for convex problems; what is
    decided in ``choices`` ways counts as that many programs). Without a confidence 1/e: below, no sample may fail at
    all.
    """
    share = 1 - probability
    if confidence <= 0:
        return math.ceil(1 / share - 1e-9)
    from scipy.stats import binom

    def short(count: int) -> bool:
        return bool(choices * binom.cdf(max(decided, 1) - 1, count, share) > 1 - confidence)

    low, high = 0, 1
    while short(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if short(middle) else (low, middle)
    return high


def sizes_of_decisions(
    question: Question, greatest: Callable[[str], float] = lambda _: math.inf
) -> tuple[int, int, list[float]]:
    """Return how many real numbers are decided, how many combinations of names, and how many values the others have.

    ``greatest``: the greatest value of a decided number that is looked at.
    """
    real, names, values = 0, 1, list[float]()
    for d in question.decide:
        if d.choices is not None:
            names *= len(d.choices)
        elif d.values is not None:
            low, high = d.minimum or 0.0, math.inf if d.maximum is None else d.maximum
            values.append(max(sum(low <= v <= high for v in d.values), 1))
        elif d.integer:
            values.append(_count_of_whole_values(question, d, greatest(d.name)))
        else:
            real += 1
    return real, names, values


def _count_of_whole_values(question: Question, d: Decision, greatest: float) -> float:
    """How many whole numbers a decided one may be; infinite where it has no end."""
    q = question.model.parameters()[d.name]
    # a share or a count may be 0; what is above 0 is at least 1
    least = max(1.0 if q.minimum <= 0.0 < q.floor else q.minimum, d.minimum or 0.0)
    most = min(q.maximum, greatest, math.inf if d.maximum is None else d.maximum)
    # as a float: of many numbers without near ends the product is infinite
    return float(max(most if math.isinf(most) else math.floor(most) - math.ceil(least) + 1, 1))


def counts_of_decisions(
    question: Question,
    greatest: Callable[[str], float] | None = None,
    convex: Callable[[], bool] = lambda: True,
) -> list[tuple[int, int]]:
    """How what is decided may count: as so many real numbers, in so many ways (see ``least_samples``).

    The decided real numbers count as Campi and Garatti have it. Of whole and listed values each is a program of its
    own, and so are names. One decided number of discrete values beside d real ones also makes 2 (d + 1) - 1 of them
    (the Helly number of such a set: Averkov and Weismantel, *Transversal numbers over subsets of linear spaces*, Adv.
    Geom. 12, 2012; Calafiore, *Random convex programs*, SIAM J. Optim. 20, 2010, has the count for it) where all limits
    and the objective are ``convex``. ``greatest``: see ``sizes_of_decisions``. Where neither is told, what is best for
    the count is taken: with fewer samples than are needed then there are too few in any case.
    """
    real, names, values = sizes_of_decisions(question, greatest or (lambda _: math.inf))
    every = math.prod(values)
    known = math.isfinite(every) if greatest is None else all(map(math.isfinite, values))
    ways = [(real, names * int(min(every, MOST_COMBINATIONS_COUNTED)))] if known else []
    if len(values) == 1 and convex():
        ways.append((2 * (real + 1) - 1, names))
    return ways or [(real + len(values), names)]


def too_few(promise: Promise, samples: int, needed: int) -> tuple[str, str]:
    """Say what is wrong where a promise needs more samples than there are, and what is right."""
    told = f" with confidence {level_text(promise.confidence)}" if promise.confidence else ""
    wrong = f"{samples} samples cannot show a probability of {level_text(promise.probability)}{told}"
    return wrong, f"write [uncertain.sampling] samples = {needed} or more"


def joint_of(reader: Reader, shape: Shape) -> Joint | None:
    """Return the limits that hold together, noting mistakes of probabilities; None where there are none."""
    for name, entry in shape.limits.items():
        key = f"limits.{name}"
        if entry.confidence is not None and entry.probability is None:
            right = "write probability = 0.95 beside it, or leave it out"
            reader.findings.missing(f"{key}.confidence", "confidence needs a probability", right)
        if entry.probability is not None and entry.worst:
            wrong = "probability and worst exclude each other"
            reader.findings.add(key, wrong, "keep one of them")
        if (entry.probability is not None or entry.worst) and entry.within is not None:
            wrong = "a limit within a share of an optimum holds in every sample"
            reader.findings.add(key, wrong, "write min or max, or leave probability and worst out")
        if (entry.probability is not None or entry.worst) and name in shape.decide:
            wrong = f"{name} is decided before the uncertain is known, so its bounds always hold"
            reader.findings.add(key, wrong, "leave probability and worst out")
    together = shape.limits.get(JOINT)
    return (
        None
        if together is None or together.of is None
        else _joint_promise(reader, shape, together, together.of)
    )


def _joint_promise(reader: Reader, shape: Shape, entry: Bounds, of: Sequence[str]) -> Joint | None:
    key, add = f"limits.{JOINT}", reader.findings.add
    if entry.min is not None or entry.max is not None or entry.within is not None or entry.worst:
        add(
            key,
            "a joint limit has of, probability and confidence only",
            "limit each metric under its own name",
        )
    if entry.probability is None:
        reader.findings.missing(key, "the joint limit has no probability", "write probability = 0.95")
        return None
    if not of:
        there = [n for n in shape.limits if n != JOINT]
        add(f"{key}.of", "the list is empty", f"list the limits that hold together: of = {shown(there)}")
    if len(set(of)) < len(of):
        add(f"{key}.of", "a name is listed twice", "list every name once")
    for name in of:
        own = shape.limits.get(name)
        if shape.objective is not None and name in shape.objective.measures:
            add(f"{key}.of", f"{name} is a measure, which has no probability", "list metrics only")
        elif own is None or name == JOINT:
            right = f"write [limits] {name} = {{ max = … }} too"
            add(f"{key}.of", f"{name} is not limited", right)
        elif own.probability is not None or own.worst:
            add(f"{key}.of", f"{name} has a probability of its own", "leave one of the two out")
    sure = PROMISE_CONFIDENCE if entry.confidence is None else entry.confidence
    return Joint(tuple(of), entry.probability, sure)


def kept(reader: Reader, question: Question) -> None:
    """Note promises that the samples cannot keep."""
    assert question.uncertain is not None, "only what is uncertain has samples"
    method = question.uncertain.sampling.method
    for promise in promises(question):
        if promise.confidence and method != "random":
            wrong = f"a probability is promised from independent samples, and method = {shown(method)}"
            right = 'write method = "random", or confidence = 0 for the limit in the samples only'
            reader.findings.add("uncertain.sampling.method", wrong, right)
        _note_too_few_samples(reader, promise.at, promise, question)


def promised_along(reader: Reader, key: str, name: str, values: Sequence[float], question: Question) -> None:
    """Note the greatest probability on an axis that the samples cannot show."""
    promise = next((p for p in promises(question) if p.key == name), None)
    if promise is not None and question.uncertain is not None:
        _note_too_few_samples(reader, key, replace(promise, probability=max(values)), question)


def _note_too_few_samples(reader: Reader, key: str, promise: Promise, question: Question) -> None:
    assert question.uncertain is not None, "only what is uncertain has samples"
    samples, sure = question.uncertain.sampling.samples, promise.confidence
    needed = min(least_samples(promise.probability, sure, *way) for way in counts_of_decisions(question))
    if samples < needed:
        reader.findings.add(key, *too_few(promise, samples, needed))
