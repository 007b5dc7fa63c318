"""Which definition of a scenario keeps its question from being a geometric program."""

from __future__ import annotations

from typing import Any

from formulations import evaluation
from formulations.arithmetics import maxima
from formulations.arithmetics.differences import Difference
from formulations.arithmetics.posynomial import NotPosynomial, Ratio, Refused, symbol
from formulations.problem import Kind, Problem
from scenarios.define.composed import definitions_of
from scenarios.define.trees import names


def culprit(problem: Problem) -> str:
    """Say which definition made a problem other than linear or geometric, and by what; empty where none did.

    The first one, in the order of computation, that brings in what stands in the way by its own expression. Empty
    also where the model's own equations ask for more than ratios of posynomials, such as whether there is any of a
    count.
    """
    question = problem.question
    definitions = definitions_of(question.model)
    if problem.kind not in (Kind.NLP, Kind.MINLP) or question.model.black_box or not definitions:
        return ""
    x = {d.name: symbol(d.name) for d in question.decide if d.choices is None}
    try:
        with maxima.named():
            at: dict[str, Any] = {**question.given, **x, **evaluation.metrics(question, x)}
    except NotPosynomial:
        return ""
    for d in definitions:
        used = [at[n] for n in names(d.tree) if n in at and n != d.name]
        why = _refusal_text(at[d.name])
        if why and not any(_refusal_text(v) for v in used):
            return f"the definition {d.name} holds {why}"
    return ""


def _refusal_text(value: Any) -> str:
    if isinstance(value, Refused | Difference):
        return value.reason
    if isinstance(value, Ratio) and not value.denominator.is_monomial:
        return f"a division by a sum of {len(value.denominator.terms)} terms"
    return ""
