"""From what a file says to what it asks: names resolved, numbers in SI, every mistake found."""

from __future__ import annotations

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
