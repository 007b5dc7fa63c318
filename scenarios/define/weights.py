"""[objective] weights: the least weighted sum of metrics, as a definition that is minimised."""

from __future__ import annotations

import re

from dse.quantities import UnitError, to_si, written_unit
from scenarios.define import dimensions
from scenarios.language.errors import Findings, shown
from scenarios.language.schema import Shape

NAME = "weighted"
KEY = "objective.weights"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*")


def with_weights(shape: Shape, findings: Findings) -> Shape:
    """Return the question with its weights as the definition NAME, which is minimised; every mistake is noted.

    A question without weights stays as it is.
    """
    goal = shape.objective
    if goal is None or goal.weights is None:
        return shape
    way = "minimize" if goal.minimize is not None else "maximize" if goal.maximize is not None else ""
    if way:
        wrong = f"weights and {way} exclude each other"
        findings.add("objective", wrong, "keep one; negative weights are for what is to be large")
    unread = findings.unreadable(KEY)
    if not (goal.weights or unread):
        findings.add(KEY, "no weight is given", 'write { energy = "1 1/J", time = "20 W/J" }')
    if NAME in shape.define:
        findings.add(f"define.{NAME}", f"{NAME} is what the sum by weights is called", "choose another name")
    findings.places[f"define.{NAME}"] = KEY
    terms = [_weighted_metric(name, value, findings) for name, value in goal.weights.items()]
    update: dict[str, object] = {"weights": None}
    told = [t for t in terms if t]
    if told and len(told) == len(terms) and not (way or unread):
        update["minimize"] = (NAME,)
        shape = shape.model_copy(update={"define": {**shape.define, NAME: " + ".join(told)}})
    else:
        # nothing else is called missing
        findings.broken.add("objective")
    return shape.model_copy(update={"objective": goal.model_copy(update=update)})


def _weighted_metric(name: str, value: float | str, findings: Findings) -> str:
    """Return one weight times its metric as an expression; empty, and a mistake noted, where it is none."""
    key = f"{KEY}.{name}"
    try:
        written = written_unit(value) if isinstance(value, str) else ""
        unit = dimensions.unit(dimensions.read(written)) if written else ""
        number = to_si(value, unit)
    except UnitError as error:
        wrong, _, right = str(error).partition("; ")
        findings.add(key, wrong, right or 'write a number, or text with a unit such as "1 1/J"')
        return ""
    if number == 0:
        findings.add(key, f"the weight of {name} is 0", "leave it out")
        return ""
    if "`" in name or not name.strip():
        findings.add(key, f"{shown(name)} is not a name of a quantity", "name a metric or a decided quantity")
        return ""
    named = name if _PLAIN.fullmatch(name) else f"`{name}`"
    return f"{number!r} {unit.replace('^', '**')}".rstrip() + f" * {named}"
