"""[define] read against a model: expressions, their order, their units; what comes of it is a composed model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from dse.models.described.fitted import Function
from dse.models.model import MACHINE_PREFIX
from dse.quantities import Quantity
from dse.quantities.units import table
from dse.system.streams import controls
from scenarios.define import dimensions, functions
from scenarios.define.composed import SOURCE, Definition, Own, composed
from scenarios.define.expressions import ExpressionError, parse
from scenarios.define.own_numbers import Names, measure
from scenarios.define.proofs import Meaning, meaning_of, prove, told
from scenarios.define.trees import Expression, names
from scenarios.language.errors import Findings, meant, shown
from scenarios.language.reading import Reader
from scenarios.language.schema import Shape
from scenarios.language.tables import Tables
from scenarios.question import HALVINGS

MOST_DEFINITIONS = 500
# a metric of this name means the same in every model, and ties, reports and fronts rely on it
_USUAL = {
    "time": "s",
    "energy": "J",
    "power": "W",
    "energy_delay": "J*s",
    "cost": "USD",
    "mtbf": "s",
    "area": "m^2",
}
# counts get their unit as a label, as in a model's own equations
_LABELS = frozenset({"word", "flop", "message", "instruction"})
Trees = Mapping[str, Expression]


def with_definitions(reader: Reader, shape: Shape, findings: Findings, tables: Tables) -> Reader | None:
    """Return a reader of the question with its definitions in the model; None where they cannot be read.

    Every mistake is noted.
    """
    if len(shape.define) > MOST_DEFINITIONS:
        findings.add("define", f"there are more than {MOST_DEFINITIONS} definitions", "ask several questions")
        return None
    own = Names(reader, shape, findings, tables)
    known = functions.read(shape, findings)
    named = [own.family(name) for name in shape.models]
    if known is None or not all(named):
        return None
    read = {name: _parsed(own, name, text, known) for name, text in shape.define.items()}
    trees = {name: tree for name, tree in read.items() if tree is not None}
    used = frozenset(n for tree in trees.values() for n in names(tree))
    sound = [own.number(name) for name in sorted(used)]
    if len(trees) < len(read) or not all(sound):
        return None
    functions.unused(shape, trees.values(), findings)
    order = _definition_order(reader, trees, findings)
    made = None if order is None else _proved(own, trees, order)
    return None if made is None else _reader(own, made, used)


def _parsed(own: Names, name: str, text: str, known: Mapping[str, Function]) -> Expression | None:
    named = own.name_of_definition(name)
    if not (own.no_other_role(name) and named):
        return None
    if controls(text):
        # that is noted of every text of a file
        return None
    try:
        return parse(text, known)
    except ExpressionError as error:
        own.findings.add(f"define.{name}", error.wrong, error.right)
        return None


def _reader(own: Names, made: list[Definition], used: frozenset[str]) -> Reader | None:
    """Return a reader of the composed model, if no catalogue value has two meanings in it."""
    base = own.reader.model
    defined = {d.name: d for d in made}
    kept = frozenset(n for n, d in defined.items() if d.replaces is not None and n in names(d.tree))
    stated = own.in_tables()
    twice = (defined.keys() & stated.keys()) - kept
    for name in sorted(twice):
        key, _ = stated[name]
        right = "take one of them out; a definition may use the table's number under the same name"
        own.findings.add(key, f"{name} stands in the machine table and is defined", right)
    for group in base.one_of:
        inside = [n for n in group if n in defined]
        other = [n for n in group if n in own.shape.given or n in own.shape.decide]
        if inside and other:
            wrong = f"{inside[0]} and {other[0]} state the same quantity twice"
            own.findings.add(f"define.{inside[0]}", wrong, f"leave one of {' and '.join(group)} out")
    kept |= twice
    before = frozenset(_needed_by_base(made))
    cut = len(MACHINE_PREFIX)
    machine = tuple(replace(q, name=n[cut:]) for n, q in own.machine.items())
    extra = Own(tuple(own.inputs.values()), machine, used - (defined.keys() - kept), kept)
    model = composed(base, made, extra, before)
    return Reader(model, own.findings, own.reader.parts, own.reader.unasked)


def _needed_by_base(made: list[Definition]) -> Iterator[str]:
    """Go through the definitions that replace something, and those that these are computed from."""
    defined = {d.name: d for d in made}
    open_ones = [d.name for d in made if d.replaces is not None]
    seen: set[str] = set()
    while open_ones:
        name = open_ones.pop()
        if name not in seen:
            seen.add(name)
            open_ones += [n for n in names(defined[name].tree) if n in defined]
    yield from seen


def _needs(reader: Reader, trees: Trees, name: str) -> dict[str, str]:
    """Return the definitions that one needs, each with the base metric through which it does, if so."""
    found: dict[str, str] = {}
    replaced = [n for n in trees if n in reader.parameters]
    for used in names(trees[name]):
        if used in trees:
            # of a machine parameter its own expression means the machine's value
            if used != name or not name.startswith(MACHINE_PREFIX):
                found.setdefault(used, "")
        elif used in reader.metrics:
            for inner in replaced:
                found.setdefault(inner, used)
    return found


def _definition_order(reader: Reader, trees: Trees, findings: Findings) -> list[str] | None:
    """Return the definitions in an order in which each needs only earlier ones; note a circle."""
    done: dict[str, None] = {}
    needs = {name: _needs(reader, trees, name) for name in trees}
    for start in trees:
        path = {start: iter(needs[start])} if start not in done else {}
        while path:
            name = next(reversed(path))
            inner = next(path[name], None)
            if inner is None:
                done[name] = None
                del path[name]
            elif inner in path:
                members = list(path)
                _circle(reader, needs, [*members[members.index(inner) :], inner], findings)
                return None
            elif inner not in done:
                path[inner] = iter(needs[inner])
    return list(done)


def _circle(
    reader: Reader, needs: Mapping[str, Mapping[str, str]], steps: list[str], findings: Findings
) -> None:
    said = []
    for name, inner in pairwise(steps):
        by = needs[name][inner]
        said.append(f"{name} needs {f'{by}, which {reader.model.name} computes from ' if by else ''}{inner}")
    wrong = f"definitions go in a circle: {'; '.join(said)}"
    findings.add(f"define.{steps[0]}", wrong, "take one of these names out of an expression")


def _proved(own: Names, trees: Trees, order: list[str]) -> list[Definition] | None:
    """Prove units in order, and return the definitions; None where one is wrong."""
    known: dict[str, Meaning] = {}
    found: list[Definition] = []
    broken: set[str] = set()
    for name in order:
        # what builds on a wrong one is not called wrong as well
        made = _definition(own, name, trees[name], known) if not broken & names(trees[name]).keys() else None
        if made is None:
            broken.add(name)
            continue
        known[name] = meaning_of(made.metric.unit, 0.0 if made.positive else -math.inf)
        found.append(made)
    return None if broken else found


def _definition(own: Names, name: str, tree: Expression, known: Mapping[str, Meaning]) -> Definition | None:
    """Prove the units of one definition; None, and a mistake noted, where they are wrong."""
    text, q, key = own.shape.define[name], own.reader.parameters.get(name), f"define.{name}"
    try:
        found = prove(text, tree, lambda used: _meaning_or_mistake(own, used, known))
    except ExpressionError as error:
        own.findings.add(key, error.wrong, error.right)
        return None
    wanted = q.unit if q is not None else _USUAL.get(name, found.unit)
    expected = dimensions.read(wanted) if wanted else dimensions.NONE
    label = wanted if q is not None and found.dimension == dimensions.NONE and wanted in _LABELS else ""
    if found.dimension != expected and not label:
        wrong = f"the expression is {told(found.dimension)}, and {name} is {measure(wanted)}"
        missing = dimensions.unit(dimensions.times(expected, found.dimension, -1))
        right = f"{shown(text)[1:-1]}\n    a factor in {missing} is missing"
        own.findings.add(key, wrong, right)
        return None
    low = 0.0 if found.positive else -math.inf
    short = text if len(text) <= 200 else f"{text[:197]}..."
    if q is None:
        return Definition(
            name, text, tree, Quantity(name, name, wanted, short, SOURCE, minimum=low), positive=low == 0
        )
    low = max(low, q.minimum) if found.positive or q.minimum > 0 else low
    meaning = f"{q.meaning}: {short}"
    metric = replace(
        q, name=name, meaning=meaning, source=SOURCE, minimum=low, default=None, optional=False, index=()
    )
    return Definition(name, text, tree, metric, q, label, found.positive)


def _meaning_or_mistake(own: Names, used: str, known: Mapping[str, Meaning]) -> Meaning | str:
    """Return what a name in an expression means, or what is wrong with it and what would be right."""
    r = own.reader
    if used in known:
        return known[used]
    q = own.inputs.get(used) or own.machine.get(used) or r.parameters.get(used) or r.metrics.get(used)
    if q is None:
        return _unknown(own, used)
    if q.choices:
        return f"{used} is a choice among names, not a number"
    if q is HALVINGS:
        return "halvings are counted after everything else\nlimit them, or minimise them"
    return meaning_of(q.unit, q.minimum)


def _unknown(own: Names, used: str) -> str:
    r = own.reader
    if used in r.machine:
        return f"{used} is a machine parameter\nwrite {MACHINE_PREFIX}{used}"
    if used == "machine" or r.is_machine(used):
        return f"{used} is a whole machine, not a number"
    if table().find(used) is not None:
        return f"there is no quantity {shown(used)}\na unit follows a number and one blank: 1 {used}"
    every = [*own.shape.define, *own.shape.given, *own.shape.decide, *r.inputs, *r.metrics, *r.parameters]
    every = [name for name in every if name != HALVINGS.name]
    return f"there is no quantity {shown(used)}\n{meant(used, dict.fromkeys(every))}"
