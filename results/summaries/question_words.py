"""A question in one sentence: what is wanted, of which model and machine, what is decided, limited and swept."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dse.quantities import level_text, plural, show
from formulations.evaluation import quantity
from results.axes import words
from results.telling.families import family_name
from scenarios.language.machine_files import shown_names
from scenarios.sizes import unit_in_question
from scenarios.uncertainty import uncertain_words
from scenarios.uncertainty.promises import promises
from scenarios.uncertainty.worst_cases import without_samples

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from scenarios import Grid, GridAxis
    from scenarios.question import Decision, Limit, Question

    # axes by what they sweep: "limit" or "decide", its name, and which end of it
    _Swept = Mapping[tuple[str, str, str], str]

MOST_LISTED = 8
MOST_DECIDED_SAID = 12
SHOWN_OF_ENDLESS = 4


def sentence(grid: Grid, machines: Mapping[str, str]) -> str:
    """Say what a grid of questions asks; ``machines``: those that it names, by their entry in a map (or "")."""
    question, levels = grid.first, grid.levels
    wanted = " and ".join(
        f"{'greatest' if g.maximize else 'least'} {_goal_text(question, g.name, levels)}"
        for g in question.objectives
    )
    # a machine that is decided or swept is told there
    open_ = {d.name for d in question.decide} | {c.target.changes[0] for c in grid.changes}
    on = ", ".join(
        f"{entry} {_shown(question, name)}".strip()
        for entry, name in machines.items()
        if name and f"machine.{entry}".rstrip(".") not in open_
    )
    without = "any design within the limits" if question.decide else "the metrics"
    told = [f"{wanted or without} of {question.model.name} ({question.model.title})"]
    told[0] += f" on {on}" if on else ""
    swept = {
        (c.target.kind, c.target.name, c.target.side): grid.axes[c.along].name
        for c in grid.changes
        if c.target.kind in ("limit", "decide")
    }
    decided = list(_decision_texts(question, swept))
    if decided:
        more = len(decided) - MOST_DECIDED_SAID
        told.append(
            f"decided: {', '.join(decided[:MOST_DECIDED_SAID])}" + (f" and {more} more" if more > 0 else "")
        )
    limits = [text for x in question.limits if (text := _limit_text(question, x, swept))]
    if limits:
        told.append(f"within {', '.join(limits)}")
    told += _uncertain(question, {p.key for p in promises(question) if ("probability", p.key) in levels})
    if grid.axes:
        told.append(f"for every {' × '.join(_axis_text(question, a) for a in grid.axes)}")
    sentence_ = "; ".join(told)
    return f"{sentence_[0].upper()}{sentence_[1:]}."


def first_point(grid: Grid) -> str:
    """Say that a question is told at the first point of its grid, with an empty line behind; empty without axes."""
    return f"At the first of {plural(grid.size, 'point')} of the grid:\n\n" if grid.axes else ""


def first_choice(question: Question, chosen: Mapping[str, str]) -> str:
    """Say for which of the choices among names a question is told, with an empty line behind; empty without choices."""
    told = ", ".join(f"{n} = {_shown(question, c)}" for n, c in chosen.items())
    return f"For {told}, the first choice:\n\n" if chosen else ""


def _shown(question: Question, name: str) -> str:
    return shown_names(question.scenario_text).get(name, name)


def _goal_text(question: Question, name: str, levels: Collection[tuple[str, str]]) -> str:
    """Write what is to be best: of uncertain numbers a measure of a metric, under a name of its own or not."""
    measure = question.measures.get(name, question.measure)
    if question.uncertain is None or measure is None:
        return words(name)
    own = name in question.measures
    swept = ("measure", name if own else "") in levels
    told = words(uncertain_words.named(measure, name, swept=swept))
    return f"{words(name)} ({told})" if own else told


def _uncertain(question: Question, swept: Collection[str]) -> Iterator[str]:
    """Say with which probabilities limits hold, and what is uncertain; nothing where all is known."""
    if question.uncertain is None:
        return
    for p in promises(question):
        level = (
            "each of the probabilities asked"
            if p.key in swept
            else f"probability {level_text(p.probability)}"
        )
        yield f"{' and '.join(map(words, p.names))} with {level}"
    numbers = _first_and_last([words(n.removeprefix("machine.")) for n in question.uncertain.marginals])
    over = "" if without_samples(question) else f" ({plural(question.uncertain.sampling.samples, 'sample')})"
    yield f"uncertain: {numbers}{over}"


def _value_in_question(question: Question, name: str, value: float) -> str:
    return show(value, unit_in_question(question, name, quantity(question.model, name).unit), 4)


def _decision_texts(question: Question, swept: _Swept) -> Iterator[str]:
    """Go through what is decided; elements of a list that are decided alike are told together."""
    alike: dict[str, list[str]] = {}
    for d in question.decide:
        # a choice among names, of machines say, is not a quantity
        q = None if d.choices is not None else quantity(question.model, d.name)
        one = _decision(question, d, swept)
        together = one.replace(words(d.name), words(family_name(q)), 1) if q is not None and q.index else one
        alike.setdefault(together, []).append(one)
    for together, each in alike.items():
        yield each[0] if len(each) == 1 else f"{len(each)} × {together}"


def _decision(question: Question, d: Decision, swept: _Swept) -> str:
    name = words(d.name)
    if d.choices is not None:
        return f"{name} among {_first_and_last([_shown(question, c) for c in d.choices])}"
    low, high = (
        words(swept["decide", d.name, side])
        if ("decide", d.name, side) in swept
        else None
        if v is None
        else _value_in_question(question, d.name, v)
        for side, v in (("min", d.minimum), ("max", d.maximum))
    )
    if d.values is not None:
        # the user's own bounds leave the rest of a list out; swept ones are told beside it
        own = [
            -math.inf if v is None or ("decide", d.name, side) in swept else sign * v
            for side, sign, v in (("min", 1.0, d.minimum), ("max", -1.0, d.maximum))
        ]
        left = [v for v in d.values if own[0] <= v <= -own[1]]
        without_end = [d.endless and math.isinf(end) for end in own]
        among = f"{name} among {_list_text(question, d.name, left, *without_end)}"
        beside = [f"from {low}"] * (("decide", d.name, "min") in swept)
        beside += [f"up to {high}"] * (("decide", d.name, "max") in swept)
        return " ".join([among, *beside])
    room = f"{low} to {high}" if low and high else f"from {low}" if low else f"up to {high}" if high else ""
    told = ", ".join(["whole number"] * bool(d.integer) + [room] * bool(room))
    return f"{name} ({told})" if told else name


def _list_text(question: Question, name: str, values: list[float], no_least: bool, no_greatest: bool) -> str:
    """Write a list of values; of powers without end how they go on, not where a number of a computer ends."""
    texts = [_value_in_question(question, name, v) for v in values]
    if no_least and len(values) > 1 and values[0] < 1.0:
        return f"powers of {values[1] / values[0]:g}" + ("" if no_greatest else f" up to {texts[-1]}")
    return f"{', '.join(texts[:SHOWN_OF_ENDLESS])}, …" if no_greatest else _first_and_last(texts)


def _first_and_last(texts: list[str]) -> str:
    if len(texts) <= MOST_LISTED:
        return ", ".join(texts)
    return f"{texts[0]}, {texts[1]}, … {texts[-1]} ({len(texts)})"


def _limit_text(question: Question, x: Limit, swept: _Swept) -> str:
    sides = []
    for side, sign, value in (("min", "≥", x.minimum), ("max", "≤", x.maximum)):
        if ("limit", x.name, side) in swept:
            sides.append(f"{sign} {words(swept['limit', x.name, side])}")
        elif value is not None and math.isfinite(value):
            sides.append(f"{sign} {_value_in_question(question, x.name, value)}")
    return f"{words(x.name)} {' and '.join(sides)}" if sides else ""


def _axis_text(question: Question, axis: GridAxis) -> str:
    if axis.columns:
        return f"row of {words(axis.name)} ({len(axis.values)}: {', '.join(words(c.name) for c in axis.columns)})"
    unit = unit_in_question(question, axis.path, axis.unit)
    values = [_shown(question, v) if isinstance(v, str) else show(v, unit, 4) for v in axis.values]
    few = len(values) <= MOST_LISTED
    return f"{words(axis.name)} ({', '.join(values) if few else f'{values[0]} to {values[-1]}, {len(values)} values'})"
