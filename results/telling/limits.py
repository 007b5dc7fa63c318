"""How limits are named in answers and datasets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from dse.models.described.fitted import RANGE
from formulations import evaluation
from formulations.row_keys import RowKey
from scenarios.question import Decision, Question, fixed, machine_key, with_asked_gaps

MOST_NAME_COMBINATIONS = 256
"""Combinations of names that are all gone through; beyond, it would take seconds."""


def limit_names(question: Question, *, gaps: bool = True) -> tuple[str, ...]:
    """Names of all limits of a question, as ``Solution.limits`` and the ``limit`` dimension have them.

    User limits, bounds of decided variables, what is asked to be whole or from a list without a bound (it can be in
    conflict, and is in no ``Solution.limits``), then those of the model's own limits that apply (to any choice among
    names that may be made) and are not waived. Where a name has limits on both sides it stands for the upper one, and
    ``name.min`` for the lower one. ``gaps``: with what is whole or from a list and has no bound.
    """
    rows: dict[RowKey, None] = {}
    for chosen in choices_with_limits(question):
        rows.update(dict.fromkeys(_limit_keys(fixed(question, chosen))))
    labels = [(evaluation.label(key, rows), key.side == "model") for key in rows]
    asked, own = ([label for label, is_own in labels if is_own == wanted] for wanted in (False, True))
    return tuple(dict.fromkeys([*asked, *(with_asked_gaps(question) if gaps else ()), *own]))


def choices_with_limits(question: Question) -> Iterator[Mapping[str, str]]:
    """Go through combinations of names, one for all that have the same limits.

    Of machines that state the same parameters one stands for all, since numbers play no part. Where there are still
    more than MOST_NAME_COMBINATIONS, each name stands beside the first ones of the others.
    """
    named = {d.name: _unlike(question, d) for d in question.decide if d.choices is not None}
    if math.prod(map(len, named.values())) <= MOST_NAME_COMBINATIONS:
        every: Iterable[tuple[str, ...]] = itertools.product(*named.values())
    else:
        first = tuple(names[0] for names in named.values())
        every = {
            (*first[:k], name, *first[k + 1 :]): None
            for k, names in enumerate(named.values())
            for name in names
        }
    return (dict(zip(named, names, strict=True)) for names in every)


def _unlike(question: Question, decision: Decision) -> tuple[str, ...]:
    """Return the choices of a decision, of machines that state the same parameters the first."""
    found: dict[object, str] = {}
    for name in decision.choices or ():
        stated = question.machines.get(machine_key(decision.name, name))
        found.setdefault(name if stated is None else frozenset(stated), name)
    return tuple(found.values())


def _limit_keys(question: Question) -> Collection[RowKey]:
    """Name the limits of a question in which no name is left to be chosen.

    Which there are does not depend on the values, so any point will do, and a number that overflows is infinite. A
    model that cannot be run even so (one of the user's, say) may have all of its own limits.
    """
    x: dict[str, Any] = {d.name: np.float64(d.values[0] if d.values else 2.0) for d in question.decide}
    asked = evaluation.unraised(question)
    try:
        with np.errstate(all="ignore"):
            at = evaluation.metrics(asked, x)
    except Exception:  # whatever it is: each point that is answered will say so of itself
        import logging

        logging.getLogger("dse").debug(
            "the limits of %s are taken to be all of its own", question.model.name, exc_info=True
        )
        at = dict.fromkeys((m.name for m in question.model.metrics), math.nan)
        at |= dict.fromkeys((own.name for own in question.model.limits), math.nan)
    with np.errstate(all="ignore"):
        return evaluation.ratios(asked, x, at)


def sides_as_one(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of limits without the lower side of those that are there with both."""
    every = tuple(names)
    return tuple(n for n in every if base_name(n) == n or base_name(n) not in every)


def base_name(limit: str) -> str:
    """Return what a limit limits: its name without the mark of the lower side.

    A side of the range of measurements has its mark as a part of its own name.
    """
    return limit if of_range(limit) else limit.removesuffix(".min")


def of_range(limit: str) -> bool:
    """Whether a limit is a side of the range of a fitted model: asked itself, as a kernel or as a function."""
    return f".{RANGE}." in f".{limit}"
