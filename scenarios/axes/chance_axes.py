"""Axes over what is uncertain: a probability, the level of a measure, the spread of a distribution."""

from __future__ import annotations

import math
from dataclasses import replace

from dse.quantities import Quantity
from scenarios.language.reading import Reader
from scenarios.language.schema import Shape

Aim = tuple[str, str, str]
"""What an axis changes: its kind, a name, and a side (``scenarios.axes.axes.Target``)."""
PROBABILITY_AXIS = Quantity("probability", "P", "", "probability with which the limit holds", maximum=1.0)
LEVEL_AXES = {
    "cvar": Quantity("cvar", "b", "", "share of the samples above which the worst are averaged", maximum=1.0),
    "quantile": Quantity(
        "quantile", "q", "", "share of the samples that stay within the objective", maximum=1.0
    ),
}
SPREAD = "spread"
FACTOR_AXIS = Quantity("spread", "s", "", "geometric standard deviation", minimum=1.0, open=True)
KINDS = ("probability", "measure", SPREAD)
LEVELS = ("probability", "measure")


def level(reader: Reader, shape: Shape, key: str, rest: str) -> Aim | None:
    """Find the level of a measure: cvar or quantile of the objective, or of one of its measures."""
    goal = shape.objective
    head, _, kind = rest.rpartition(".")
    name = head.removeprefix("measures.") if head.startswith("measures.") else ""
    entry = None if goal is None else goal.measures.get(name) if head else goal
    if kind not in LEVEL_AXES or (head and not name):
        right = "write objective.cvar, objective.quantile, or objective.measures.NAME.cvar"
        reader.findings.add(key, f"objective.{rest} is not a level of a measure", right)
    elif entry is None or getattr(entry, kind) is None:
        what = f"objective.measures.{name}" if head else "objective"
        right = f"write {kind} = 0.9 there too, in place of another measure"
        reader.findings.add(key, f"{what} has no {kind} to sweep", right)
    else:
        return "measure", name, kind
    return None


def spread(reader: Reader, shape: Shape, key: str, rest: str) -> Aim | None:
    """Find the spread of a distribution: what is uncertain, and normal or lognormal."""
    name, _, side = rest.rpartition(".")
    entry = None if shape.uncertain is None else shape.uncertain.spreads.get(name)
    if side != SPREAD or not name:
        known = [] if shape.uncertain is None else list(shape.uncertain.spreads)
        near = [n for n in (rest, name) if n in known] or known or ["NAME"]
        right = f"write uncertain.{near[0]}.{SPREAD}, of a normal or lognormal distribution"
        reader.findings.add(key, f"uncertain.{rest} is not a spread of a distribution", right)
    elif entry is None:
        known = [] if shape.uncertain is None else list(shape.uncertain.spreads)
        reader.findings.unknown(key, "uncertain number", name, [f"uncertain.{n}.{SPREAD}" for n in known])
    elif entry.normal is None and entry.lognormal is None:
        right = "sweep the standard deviation of a normal distribution, or the factor of a lognormal one"
        reader.findings.add(key, f"the distribution of {name} has no number that is its spread", right)
    elif name in reader.parameters:
        return SPREAD, name, "lognormal" if entry.normal is None else "normal"
    return None


def promise(reader: Reader, shape: Shape, key: str, name: str) -> Aim | None:
    """Find the probability of a limit, or of the limits that hold together."""
    entry = shape.limits.get(name)
    if entry is None or entry.probability is None:
        wrong = f"{name} has no probability to sweep"
        reader.findings.add(key, wrong, f"write [limits] {name} = {{ …, probability = 0.95 }} too")
        return None
    return "probability", name, "probability"


def quantity(reader: Reader, kind: str, name: str, side: str) -> Quantity:
    """Return the quantity whose values stand on such an axis."""
    if kind == "probability":
        return PROBABILITY_AXIS
    if kind == "measure":
        return LEVEL_AXES[side]
    if side == "lognormal":
        return FACTOR_AXIS
    q = reader.parameters[name]
    return replace(
        q, meaning=f"standard deviation of {name}", minimum=0.0, open=True, maximum=math.inf, menu=()
    )


def possible(reader: Reader, key: str, value: float | None, side: str) -> bool:
    """Tell whether a number is a level of this kind; where not, the mistake is noted."""
    # of the worst none is left out at 0, which is the mean
    if value is None or (0 < value < 1) or (value == 0 and side == "cvar"):
        return True
    ends = "from 0 to below 1" if side == "cvar" else "between 0 and 1"
    reader.findings.add(key, f"{value:.12g} is not a {side} {ends}", "write a number such as 0.95")
    return False
