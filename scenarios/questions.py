"""From what a file says to what it asks: names resolved, numbers in SI, every mistake found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from scenarios import black_boxes, extensions, names
from scenarios.define import functions, weights
from scenarios.language import searches
from scenarios.language.errors import Findings, ScenarioError
from scenarios.language.reading import Reader
from scenarios.language.scenario import Scenario
from scenarios.language.schema import Shape
from scenarios.language.tables import Tables
from scenarios.machines import clocks, prices
from scenarios.question import Question
from scenarios.structured import structure
from scenarios.sweep import points, undefined
from scenarios.sweep.grids import Grid
from scenarios.uncertainty import measured

_NAME = re.compile(r"[A-Za-z_][\w.]*")
_QUOTED = re.compile(r'"([^"]*)"')


def check(asked: Shape, findings: Findings, tables: Tables, *, swept: bool = True) -> Grid | None:
    """Check the meaning of a scenario whose shape is right, noting every mistake in ``findings``.

    ``tables``: those whose rows it sweeps; ``swept``: whether [sweep] counts. Returns the grid (one point where
    nothing is swept), if all is well.
    """
    searches.check(asked, findings)
    plain = structure.plain(asked, findings, swept=swept)
    if plain is None:
        return None
    inside = extensions.within_validity(plain.reader, plain.shape, findings)
    clocked, shape = clocks.with_clocks(inside, plain.shape, swept=swept)
    shape = measured.with_measures(weights.with_weights(shape, findings), findings)
    told, shape = prices.with_prices(clocked, shape, findings, swept=swept)
    reader = _with_definitions(told, shape, findings, tables)
    if reader is None:
        _note_mistakes_beside_definitions(told, shape, findings, tables, swept=swept)
        return None
    grid = points.build(shape, names.resolve(reader, shape, tables, swept=swept))
    if grid is None or findings.problems:
        return None
    found = undefined.kept_apart(grid, findings)
    return None if findings.problems else found


def _with_definitions(reader: Reader, shape: Shape, findings: Findings, tables: Tables) -> Reader | None:
    if not shape.define:
        functions.unused(shape, (), findings)
        return reader
    from scenarios.define import definitions

    return definitions.with_definitions(reader, shape, findings, tables)


def _note_mistakes_beside_definitions(
    reader: Reader, shape: Shape, findings: Findings, tables: Tables, *, swept: bool
) -> None:
    """Note what is wrong elsewhere where definitions cannot be read, but for what may be right once they are.

    That is whatever names a definition, or a name in one that the model does not have.
    """
    apart = Findings(findings.file)
    apart.places = findings.places
    apart.broken.update(findings.broken, (f"define.{n}" for n in shape.define))
    used = {w for text in shape.define.values() for w in _NAME.findall(text)}
    # a number that nothing else needs is of use to a definition
    idle = tuple((n, why) for n, why in reader.model.partless if not {n, f"machine.{n}"} & used)
    alone = Reader(replace(reader.model, partless=idle), apart, reader.parts, reader.unasked)
    points.build(shape, names.resolve(alone, shape, tables, swept=swept))
    defined = {*shape.define, *(n.rpartition(".")[2] for n in shape.define)}
    own = {w for w in used if w not in alone.metrics and w not in alone.parameters}
    for p in apart.problems:
        # units are words of a definition, too: of these only what stands in quotes is a name
        named = {*_parts_of_key(p.key), *_QUOTED.findall(p.wrong)}
        if not (defined & {*_NAME.findall(p.wrong), *named} or own & named):
            findings.add(p.key, p.wrong, p.right)


def _parts_of_key(key: str) -> Iterator[str]:
    """Go through what a key may name: of limits.a.b.max that is a, a.b, a.b.max, and b, and so on."""
    parts = key.split(".")
    yield from (".".join(parts[i:j]) for i in range(len(parts)) for j in range(i + 1, len(parts) + 1))


def grid(scenario: Scenario) -> Grid:
    """Return the grid of a scenario's axes; without [sweep] it has one point. Raises ScenarioError."""
    return _grid_with_bases(scenario, swept=True)


def question(scenario: Scenario) -> Question:
    """Return the question a scenario asks, leaving [sweep] aside. Raises ScenarioError.

    A quantity that only an axis gives a value is missing here: ask ``grid`` for a point instead.
    """
    return _grid_with_bases(scenario, swept=False).question(())


def _grid_with_bases(scenario: Scenario, *, swept: bool) -> Grid:
    findings = Findings(scenario.file)
    found = check(scenario, findings, scenario.tables, swept=swept)
    if found is None:
        raise ScenarioError(findings.problems)
    text = scenario.text
    bases = {i: replace(q, scenario_text=text) for i, q in found.bases.items()}
    return black_boxes.marked(replace(found, bases=bases), scenario.file)
