"""Reads what is uncertain in a question: distributions, their sampling, measures; promises beside it (``promises``)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dse.quantities import NEAR_ZERO, Quantity, near_zero, show
from scenarios.axes import table_values
from scenarios.axes.axes import WORD_SIZE, Target
from scenarios.define.composed import definitions_of
from scenarios.distributions import (
    CONTINUOUS,
    MOST_CUT,
    Marginal,
    Measure,
    Sampling,
    Uncertain,
)
from scenarios.language.errors import meant, shown
from scenarios.language.reading import Reader
from scenarios.language.schema import Goal, Shape, Spread
from scenarios.names import Roles
from scenarios.places import Place
from scenarios.question import Question
from scenarios.uncertainty import known_spreads, measured, promises
from scenarios.uncertainty.drawing import correlated

AXIS = "sample"
"""The axis along which a question is asked in each world."""
_NUMBERS = {"normal": 2, "lognormal": 2, "uniform": 2, "loguniform": 2, "triangular": 3, "beta": 4}
_WAYS = (*CONTINUOUS, "values", "table", "from_")
_EXAMPLES = {
    "normal": "[mean, standard deviation]",
    "lognormal": "[median, geometric standard deviation]",
    "uniform": "[least, greatest]",
    "loguniform": "[least, greatest]",
    "triangular": "[least, most probable, greatest]",
    "beta": "[shape, shape, least, greatest]",
}


def with_chances(shape: Shape, roles: Roles, place: Place, question: Question) -> Question:
    """Return a question with what is uncertain in it, its measure and its joint limit, noting all mistakes."""
    reader = roles.reader
    measure = _measure(reader, shape.objective)
    measures = measured.measures_of(shape)
    joint = promises.joint_of(reader, shape)
    if shape.uncertain is None:
        _certain(reader, shape, measure, uncertain_example(question, shape))
        return question
    names = tuple(_uncertain_names(shape, roles, place))
    nominal = {n: v for n, v in question.given.items() if not isinstance(v, str)}
    found = {n: m for n in names if (m := _marginal(shape, roles, place, n, nominal.get(n)))}
    if not shape.uncertain.spreads:
        right = f"write [uncertain] {uncertain_example(question, shape)}, or leave the table out"
        reader.findings.missing("uncertain", "nothing is uncertain", right)
    if AXIS in shape.sweep:
        wrong = f"an axis is called {AXIS}, the name of the dimension of samples"
        reader.findings.add(f"sweep.{AXIS}", wrong, "give the axis another name")
    if len(found) < len(_every(shape, roles, place)):
        return question
    uncertain = Uncertain(found, _sampling(shape, roles, place, found))
    _correlations(reader, shape, uncertain)
    whole = replace(question, uncertain=uncertain, measure=measure, joint=joint, measures=measures)
    promises.kept(reader, whole)
    return with_medians(whole, uncertain)


def with_medians(question: Question, uncertain: Uncertain) -> Question:
    """Return a question in which numbers that only have a distribution are given, too: their medians are nominal."""
    stated = {*question.given, *(n for own in question.machines.values() for n in own)}
    alone = {n: m.median() for n, m in uncertain.marginals.items() if n not in stated}
    return replace(question, given={**question.given, **alone}) if alone else question


def uncertain_example(question: Question, shape: Shape) -> str:
    """Write how a number of a question would be uncertain: one that its file gives, with a unit if there is such a one.

    Of what cannot be uncertain there none is taken: counts, what is defined, and what decided numbers divide.
    """
    known = question.model.parameters()
    counts = {u.name for u in question.model.unknowns if u.integer} | {n for n, q in known.items() if q.menu}
    divided = {n for entry in shape.decide.values() for n in entry.divides or ()}
    defined = {d.name for d in definitions_of(question.model)}
    apart = {*counts, *divided, *defined, *shape.decide, WORD_SIZE}
    numbers = {n: v for n, v in question.given.items() if n in known and not isinstance(v, str)}
    given = {n: v for n, v in numbers.items() if v > 0 and n not in apart}
    own = sorted((n for n in given if n in shape.given), key=lambda n: not known[n].unit)
    if "bodies" in own:
        return "bodies = { uniform = [0.8e6, 1.2e6] }"
    name = next(iter([*own, *given]), "")
    if not name:
        return "NAME = { uniform = [LEAST, GREATEST] }"
    unit, key = known[name].unit, json.dumps(name) if "." in name else name
    ends = (json.dumps(show(x * given[name], unit)) if unit else f"{x * given[name]:g}" for x in (0.8, 1.2))
    return f"{key} = {{ uniform = [{', '.join(ends)}] }}"


def _certain(reader: Reader, shape: Shape, measure: Measure | None, example: str) -> None:
    """Note what has a meaning only where something is uncertain; ``example``: of a number that would be."""
    right = f"add what is uncertain: [uncertain] {example}; or leave it out"
    if measure is not None:
        told = next((n for n in measured.KINDS if getattr(shape.objective, n) is not None), "")
        reader.findings.missing(f"objective.{told or 'measures'}", "nothing is uncertain here", right)
    elif measured.measures_of(shape):
        reader.findings.missing(measured.KEY, "nothing is uncertain here", right)
    for name, entry in shape.limits.items():
        for key in ("probability", "worst"):
            if getattr(entry, key):
                reader.findings.missing(f"limits.{name}.{key}", "nothing is uncertain here", right)


def _measure(reader: Reader, goal: Goal | None) -> Measure | None:
    if goal is None:
        return None
    told = [n for n in measured.KINDS if getattr(goal, n) is not None]
    names = measured.ranked(goal)
    own = goal.measures.get(names[0]) if len(names) == 1 else None
    if own is not None and told:
        wrong = f"{names[0]} is a measure, and {told[0]} is another one"
        reader.findings.add(f"objective.{told[0]}", wrong, "leave one of them out")
    if len(told) > 1:
        wrong = f"{' and '.join(told)} exclude each other"
        reader.findings.add("objective", wrong, "keep measure, or quantile, or cvar")
    return measured.measure_of(goal if own is None else own)


def _uncertain_names(shape: Shape, roles: Roles, place: Place) -> Iterator[str]:
    """Go through the uncertain names that can be uncertain, noting those that cannot."""
    reader = roles.reader
    _note_unknown_intervals(shape, roles, place)
    for name in _every(shape, roles, place):
        key, add = f"uncertain.{name}", reader.findings.add
        if name in roles.decide:
            right = "take it out of [decide] or out of [uncertain]"
            add(key, f"{name} is decided, so it cannot be uncertain as well", right)
        elif name in roles.swept:
            right = "take it out of [sweep] or out of [uncertain]"
            add(key, f"{name} is swept, so it cannot be uncertain as well", right)
        elif name in shape.define:
            right = "make a number uncertain that the definition uses"
            add(key, f"{name} is defined by an expression, so it cannot be uncertain", right)
        elif not reader.name_of_parameter(key, name):
            pass
        elif reader.parameters[name].choices or reader.parameters[name].menu:
            add(key, f"{name} is a choice among names", "an uncertain quantity is a number")
        elif name == WORD_SIZE or name.endswith(".word_size"):
            add(
                key,
                "the size of a word cannot be uncertain",
                "numbers in bytes are read with it; leave it out",
            )
        else:
            yield name


def _note_unknown_intervals(shape: Shape, roles: Roles, place: Place) -> None:
    """Note where a name with a star does not stand for the intervals of the machines that are asked."""
    reader = roles.reader
    spreads = shape.uncertain.spreads if shape.uncertain is not None else {}
    for name in spreads:
        if not name.endswith("*"):
            continue
        key = f"uncertain.{name}"
        if (
            name != known_spreads.EVERY
            or spreads[name].from_ != "machine"
            or not _way(reader, key, spreads[name])
        ):
            right = f'write "{known_spreads.EVERY}" = {{ from = "machine" }}, or name each number'
            reader.findings.add(key, "only intervals of a machine are taken all together", right)
        elif choices := tuple(known_spreads.of_choices(shape, roles)):
            for wrong, right in choices:
                reader.findings.add(key, wrong, right)
        elif not any(known_spreads.stated(shape, roles, place)):
            right = "`dse fit` writes a machine file with intervals; or give each number a distribution"
            reader.findings.missing(
                key, "no interval of a parameter of this machine that has an effect here is known", right
            )


def _every(shape: Shape, roles: Roles, place: Place) -> tuple[str, ...]:
    """Return the uncertain names, with those that a machine's intervals stand for; a named line wins."""
    spreads = shape.uncertain.spreads if shape.uncertain is not None else {}
    named = [n for n in spreads if not n.endswith("*")]
    more = known_spreads.stated(shape, roles, place) if known_spreads.EVERY in spreads else ()
    return tuple(dict.fromkeys([*named, *more]))


def _way(reader: Reader, key: str, spread: Spread) -> str | None:
    """Return the one way in which a distribution is written; None, and a mistake noted, where there is not one."""
    ways = [n for n in _WAYS if getattr(spread, n) is not None]
    if len(ways) == 1:
        return ways[0]
    told = " and ".join(n.rstrip("_") for n in ways)
    if ways:
        reader.findings.add(key, f"{told} exclude each other", "keep one distribution")
    else:
        right = "write { normal = [mean, deviation] }, or lognormal, uniform, triangular, values, table, …"
        reader.findings.missing(key, "there is no distribution", right)
    return None


def _marginal(shape: Shape, roles: Roles, place: Place, name: str, nominal: float | None) -> Marginal | None:
    reader, key = roles.reader, f"uncertain.{name}"
    assert shape.uncertain is not None
    q = roles.reader.parameters[name]
    spread = known_spreads.spread_of(shape.uncertain.spreads, name)
    way = _way(reader, key, spread)
    for extra, needs in (("weights", "values"), ("column", "table")):
        unread = reader.findings.unreadable(f"{key}.{needs}")
        if getattr(spread, extra) is not None and way != needs and not unread:
            reader.findings.add(f"{key}.{extra}", f"{extra} stands beside {needs} only", "leave them out")
    found: Marginal | None
    if way is None:
        return None
    if way == "values":
        found = _listed_distribution(reader, key, spread, q, place.word_size)
    elif way == "table":
        found = _table_distribution(roles, key, spread, q, name, place.word_size)
    elif way == "from_":
        found = known_spreads.read(shape, roles, place, name, nominal)
    else:
        found = _continuous(reader, f"{key}.{way}", way, getattr(spread, way), q, place.word_size)
    return None if found is None else _cut_at_domain(reader, key, found, q)


def _listed_distribution(
    reader: Reader, key: str, spread: Spread, q: Quantity, word: float | None
) -> Marginal | None:
    asked = spread.values or ()
    if not asked:
        reader.findings.add(f"{key}.values", "there is no value", "list at least one")
        return None
    read = reader.numbers([f"{key}.values[{i}]" for i in range(len(asked))], asked, q, word)
    stated = zip(asked, read, strict=True)
    sound = [reader.inside(f"{key}.values[{i}]", v, q, text, word) for i, (text, v) in enumerate(stated)]
    sound = [reader.whole_number(f"{key}.values[{i}]", v, q) for i, v in enumerate(sound)]
    weights = spread.weights or (1.0,) * len(asked)
    if len(weights) != len(asked):
        wrong = f"{len(asked)} values have {len(weights)} weights"
        reader.findings.add(f"{key}.weights", wrong, "give each value a weight")
        return None
    if min(weights) < 0 or not 0 < sum(weights) < math.inf:
        wrong = "weights are not negative, and at least one is above 0"
        reader.findings.add(f"{key}.weights", wrong, "write such as weights = [3, 1]")
        return None
    numbers = tuple(v for v in sound if v is not None)
    total = sum(weights)
    return (
        Marginal("values", numbers, weights=tuple(w / total for w in weights))
        if len(numbers) == len(asked)
        else None
    )


def _table_distribution(
    roles: Roles, key: str, spread: Spread, q: Quantity, name: str, word: float | None
) -> Marginal | None:
    reader, table = roles.reader, roles.tables.get(spread.table or "")
    if spread.column is None:
        reader.findings.missing(f"{key}.column", "column is missing", 'write column = "T" beside table')
        return None
    if table is None or name not in table.columns:
        right = "ask with the file that names the table, read by dse.load"
        reader.findings.missing(f"{key}.table", "the rows of this table are not here", right)
        return None
    aim = Target("given", name)
    read = table_values.numbers(reader, f"{key}.column", table, name, aim, q, word)
    if read is None or (reader.findings.count and not all(map(math.isfinite, read.tolist()))):
        # cells that are not numbers are told where the file is read
        return None
    return Marginal("table", tuple(read.tolist()), table=table.name)


def _continuous(
    reader: Reader, key: str, kind: str, asked: Sequence[Any], q: Quantity, word: float | None
) -> Marginal | None:
    whole = [*asked, 0.0, 1.0] if kind == "beta" and len(asked) == 2 and not q.unit else list(asked)
    if len(whole) != _NUMBERS[kind]:
        wrong = f"{kind} has {_NUMBERS[kind]} numbers, not {len(asked)}"
        reader.findings.add(key, wrong, f"write {kind} = {_EXAMPLES[kind]}")
        return None
    plain = {"lognormal": {1}, "beta": {0, 1}}.get(kind, set())
    measured = [i for i in range(len(whole)) if i not in plain]
    read = {i: _plain(reader, f"{key}[{i}]", whole[i]) for i in plain}
    listed = reader.numbers([f"{key}[{i}]" for i in measured], [whole[i] for i in measured], q, word)
    read |= dict(zip(measured, listed, strict=True))
    numbers = tuple(v for _, v in sorted(read.items()) if v is not None)
    if len(numbers) < len(read):
        return None
    wrong = _unsound(kind, numbers)
    if wrong:
        reader.findings.add(key, wrong, f"write {kind} = {_EXAMPLES[kind]}")
        return None
    if q.name in reader.whole:
        right = "list its values: { values = [1, 2, 4], weights = [1, 2, 1] }"
        reader.findings.add(key, f"{q.name} is a whole number, and {kind} is not", right)
        return None
    return Marginal(kind, numbers)


def _plain(reader: Reader, key: str, value: Any) -> float | None:
    if isinstance(value, str):
        reader.findings.add(key, f"{shown(value)} is text", "write a plain number")
        return None
    if near_zero(value):
        reader.findings.add(key, f"{shown(value)} {NEAR_ZERO[0]}", NEAR_ZERO[1])
        return None
    return float(value)


def _unsound(kind: str, numbers: tuple[float, ...]) -> str:
    """Say why SciPy has no such distribution; empty where it has."""
    if kind == "normal":
        return "" if numbers[1] > 0 else f"the standard deviation {numbers[1]:.6g} is not above 0"
    if kind == "lognormal":
        if numbers[0] <= 0:
            return f"the median {numbers[0]:.6g} is not above 0"
        return "" if numbers[1] > 1 else f"the geometric standard deviation {numbers[1]:.6g} is not above 1"
    if kind == "beta" and min(numbers[:2]) <= 0:
        return f"the shapes {numbers[0]:.6g} and {numbers[1]:.6g} are not both above 0"
    low, high = numbers[-2:] if kind == "beta" else (numbers[0], numbers[-1])
    if not low < high:
        return f"the least value {low:.6g} is not below the greatest {high:.6g}"
    if kind == "loguniform" and low <= 0:
        return f"the least value {low:.6g} is not above 0"
    if kind == "triangular" and not low <= numbers[1] <= high:
        return f"the most probable value {numbers[1]:.6g} is not between the ends"
    return ""


def _cut_at_domain(reader: Reader, key: str, found: Marginal, q: Quantity) -> Marginal | None:
    """Return a distribution cut at the domain of its quantity; None, and a mistake noted, where that cuts too much.

    What is cut already counts for nothing.
    """
    made = replace(found, low=max(found.low, q.minimum), high=min(found.high, q.maximum))
    cut = made.outside() - found.outside()
    if cut <= MOST_CUT:
        return made
    ends = f"{show(q.minimum, q.unit)} to {show(q.maximum, q.unit)}" if q.maximum < math.inf else ""
    wrong = f"{100 * cut:.3g} % of the distribution lies outside the domain of {q.name}"
    domain = f"it goes from {ends}" if ends else f"it is at least {show(q.minimum, q.unit)}"
    right = f"{domain}; choose a distribution of which at most {MOST_CUT:g} does"
    reader.findings.add(key, wrong, right)
    return None


def _sampling(shape: Shape, roles: Roles, place: Place, found: Mapping[str, Marginal]) -> Sampling:
    assert shape.uncertain is not None
    asked = shape.uncertain.sampling
    own = asked.correlation or ()
    said = {frozenset(pair[:2]) for pair in own}
    # who writes an empty list wants none of a machine file either
    stated = () if asked.correlation == () else known_spreads.correlations(shape, roles, place, found)
    known = [c for c in stated if frozenset(c[:2]) not in said]
    promised = any(x.probability is not None for x in shape.limits.values())
    method = asked.method or ("random" if promised else "sobol")
    return Sampling(asked.samples, method, asked.seed, (*own, *known))


def _correlations(reader: Reader, shape: Shape, uncertain: Uncertain) -> None:
    """Note correlations of what is not uncertain, or that cannot be all at once."""
    before, seen = reader.findings.count, set[frozenset[str]]()
    for i, (a, b, _) in enumerate(uncertain.sampling.correlation):
        key = f"uncertain.sampling.correlation[{i}]"
        for name in (a, b):
            if name not in uncertain.marginals:
                right = meant(name, uncertain.marginals)
                reader.findings.add(key, f"{shown(name)} is not uncertain, so it has no correlation", right)
            elif uncertain.marginals[name].table:
                wrong = f"{name} is from a table, whose rows say how its numbers depend on each other"
                reader.findings.add(key, wrong, "leave the correlation out")
        if a == b or frozenset((a, b)) in seen:
            reader.findings.add(key, f"{a} and {b} are listed twice, or the same", "list every pair once")
        seen.add(frozenset((a, b)))
    if reader.findings.count > before or not uncertain.sampling.correlation:
        return
    import numpy as np

    try:
        correlated(uncertain)
    except np.linalg.LinAlgError:
        wrong = "the matrix of correlations is not positive definite"
        right = "bring them nearer to 0; what correlates strongly with one number does so with all that it depends on"
        reader.findings.add("uncertain.sampling.correlation", wrong, right)
    goal = shape.objective
    worst = (goal is not None and goal.measure == "worst") or any(x.worst for x in shape.limits.values())
    if worst:
        right = "leave the correlation out, or ask for mean, quantile, cvar or a probability"
        wrong = "a worst case over all values cannot use a correlation"
        reader.findings.add("uncertain.sampling.correlation", wrong, right)
