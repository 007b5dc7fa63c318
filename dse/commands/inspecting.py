"""Commands that look at a question without answering it: check, explain."""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import scenarios
from dse.commands.problem_files import FORMS, write_files
from dse.commands.terminal import hints
from dse.commands.terminal.door import ANSWERED
from dse.commands.terminal.options.common_options import AS_JSON, SCENARIO
from dse.commands.terminal.options.machine_option import MACHINE, machine_words
from dse.commands.terminal.printing import say, say_json
from dse.names import some_of
from dse.quantities import plural
from results.stores.files.storage import local

if TYPE_CHECKING:
    from scenarios import Grid, Scenario
    from scenarios.question import Question

MOST_KINDS = 50
MOST_NAMES_SAID = 12


@click.command()
@SCENARIO
@MACHINE
@AS_JSON
def check(scenario: str, machine: str | None, as_json: bool) -> int:
    """Check a scenario, and say what it asks."""
    from dse import api

    asked = api.load(scenario, machine)
    told = _described(asked)
    if as_json:
        say_json({"ok": True, **told})
        return ANSWERED
    say(f"{asked.file}: no mistakes")
    following = shlex.join(["dse", *_for_file(told["command"], scenario, machine)])
    rows = [(name, value) for name, value in _facts(told, following) if value]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        say(f"  {name:{width}}  {value}")
    return ANSWERED


def _described(asked: Scenario) -> dict[str, Any]:
    """Say what a scenario asks: class, decisions, objectives, grid, and the command for it."""
    from dse.uncertain import worlds
    from formulations import failures
    from formulations.culprits import culprit
    from formulations.problem import formulate
    from results.telling.limits import limit_names
    from scenarios.uncertainty import uncertain_words
    from solvers import enumeration
    from solvers.choices import combinations

    grid = scenarios.grid(asked)
    question = grid.first
    asked_about = list(itertools.islice(map(grid.question, grid.kinds()), MOST_KINDS))
    classes: dict[str, None] = {}
    because: dict[str, None] = {}
    trouble = ""
    for q in asked_about:
        first = next(combinations(q))[1]
        try:
            problem = formulate(first)
            enumeration.check_floats(first)
            classes[problem.kind.value] = None
            because.update(dict.fromkeys(filter(None, [culprit(problem)])))
        except ArithmeticError as failure:
            # at other numbers of the axes the question may be answered
            if not grid.axes:
                raise failures.refused(asked.file, first, failure) from failure
            trouble = failures.in_words(first, failure)
    choices = max(math.prod(len(d.choices) for d in q.decide if d.choices is not None) for q in asked_about)
    unsure = uncertain_words.record(question, grid.levels)
    limits = limit_names(question, gaps=False)
    command = _command(asked, grid, question)
    if command in ("solve", "front") and question.uncertain is not None:
        from solvers.robust.searches import chances  # slow to import, and most questions are certain

        chances.refuse_too_few(asked.file, question)
    swept = scenarios.grid(worlds.decided_late(asked)) if command == "sweep" else grid
    return {
        "title": question.title,
        "model": question.model.name,
        "fitted": _forms_of_fitted_models(question),
        "class": " or ".join(classes) or "unknown",
        "because": list(because),
        "trouble": f"at the first point: {trouble}" if trouble else "",
        "choices": choices if choices > 1 else 0,
        **_decided_on_grid(grid),
        "objectives": {g.name: "max" if g.maximize else "min" for g in question.objectives},
        "limits": limits,
        "own_limits": [m.name for m in question.model.limits if m.name in limits],
        "uncertain": unsure,
        "axes": {a.name: len(a.values) for a in swept.axes},
        "points": swept.size,
        **_way(swept, command),
        "command": _on_a_file(command),
    }


def _command(asked: Scenario, grid: Grid, question: Question) -> str:
    """Return which command answers a scenario; ``question``: at any point of its grid."""
    from dse.uncertain import worlds
    from scenarios.uncertainty import uncertain_words

    if len(question.objectives) > 1:
        return "front"
    if grid.axes:
        return "sweep"
    late = uncertain_words.record(question) and not (worlds.decided_now(asked) and worlds.has_measure(asked))
    return "uncertainty" if late else "solve"


def _on_a_file(command: str) -> str:
    return command + " FILE" + (" -o STORE" if command == "sweep" else "")


def _forms_of_fitted_models(question: Question) -> str:
    """Say what forms fitted models have and what these permit; nothing of a model that was written."""
    from dse.models.described.fitted import fit_of, told
    from scenarios.define.composed import definitions_of
    from scenarios.define.functions import ranges

    fit = fit_of(question.model)
    asked = {
        r.function.family: r.function.fit for r in ranges(d.tree for d in definitions_of(question.model))
    }
    alone = [told(fit)] if fit is not None else []
    return "\n".join(alone + [f"{name}: {told(fit)}" for name, fit in asked.items()])


def _way(grid: Grid, command: str) -> dict[str, Any]:
    """Say which way a sweep goes; nothing where nothing is swept."""
    if command != "sweep":
        return {}
    from dse.sweeping import grid_way
    from dse.sweeping.points import chunk_work
    from solvers.many_points import effort

    with effort.quickly():
        return {"way": grid_way.told(chunk_work.ready(grid))}


def _decided_on_grid(grid: Grid) -> dict[str, list[str]]:
    """Return what is decided anywhere on the grid, and what of it is not decided at every point."""
    every = [[d.name for d in q.decide] for q in map(grid.question, grid.kinds())]
    names = dict.fromkeys(name for of in every for name in of)
    return {"decide": list(names), "decide_at_some": [n for n in names if any(n not in of for of in every)]}


def _facts(told: dict[str, Any], following: str) -> list[tuple[str, str]]:
    from results.telling.limit_rows import by_family

    goals = ", ".join(f"{sense} {name}" for name, sense in told["objectives"].items())
    choices = f", for each of {told['choices']} choices" if told["choices"] else ""
    axes = " × ".join(f"{n} {name}" for name, n in told["axes"].items())
    return [
        ("asks", told["title"]),
        ("fit", told["fitted"]),
        ("class", told["class"] + choices),
        ("because", "; ".join(told["because"])),
        ("but", told["trouble"]),
        ("decides", _decisions(told)),
        ("objective", goals or ("any design within the limits" if told["decide"] else "none")),
        ("limits", some_of(by_family(told["limits"], told["own_limits"]), MOST_NAMES_SAID)),
        ("uncertain", some_of(list(_unsure(told)), MOST_NAMES_SAID)),
        ("sampled", told["uncertain"].get("uncertain.sampling", "")),
        ("judged by", _judged(told["uncertain"])),
        ("promised", "\n".join(_promised(told["uncertain"]))),
        ("grid", f"{axes} = {plural(told['points'], 'point')}" if axes else ""),
        ("goes", _way_words(told)),
        ("next", following),
    ]


def _unsure(told: dict[str, Any]) -> Iterator[str]:
    """Go through the names of what is uncertain."""
    head = "uncertain."
    rest = {f"{head}sampling", f"{head}correlation"}
    return (n.removeprefix(head) for n in told["uncertain"] if n.startswith(head) and n not in rest)


def _promised(told: Mapping[str, str]) -> Iterator[str]:
    """Go through what is promised of limits over the samples; of limits that hold together the text names all."""
    from scenarios.uncertainty.promises import JOINT

    head = "limits."
    for name, text in told.items():
        limit = name.removeprefix(head).removesuffix(".probability").removesuffix(".worst")
        if name.startswith(head):
            yield text if limit == JOINT else f"{limit}: {text}"


def _way_words(told: dict[str, Any]) -> str:
    from dse.sweeping import grid_way

    return grid_way.words(told["way"]) if "way" in told else ""


def _decisions(told: dict[str, Any]) -> str:
    some = told["decide_at_some"]
    always = some_of([n for n in told["decide"] if n not in some], MOST_NAMES_SAID) or "nothing"
    return f"{always}; at some points only: {some_of(some, MOST_NAMES_SAID)}" if some else always


def _for_file(command: str, file: str, machine: str | None) -> list[str]:
    """Return the words of a command with the file, a store named after it, and the machine that was asked for."""
    names = {"FILE": file, "STORE": f"{Path(file).stem}.zarr"}
    return [*(names.get(word, word) for word in command.split()), *machine_words(machine)]


@click.command()
@SCENARIO
@MACHINE
@click.option("--format", "form", type=click.Choice(list(FORMS)), help="Write the problem as a file.")
@click.option("-o", "--output", metavar="FILE", help="Where to write it.")
@click.option("--full", is_flag=True, help="Show every list, menu and sum in full.")
def explain(scenario: str, machine: str | None, form: str | None, output: str | None, full: bool) -> int:
    """Show a question as mathematics.

    Variables with domains, objective and limits as formulas, class, method, and the certificate to expect.
    """
    from dse import api
    from dse.uncertain import worlds
    from formulations import failures
    from formulations.problem import formulate
    from formulations.pyomo_models.explain import explain as in_words
    from results.summaries import question_words
    from scenarios.uncertainty import uncertain_words
    from solvers import anchors, designs
    from solvers.answer import answer
    from solvers.choices import combinations
    from solvers.robust.way_told import way_told

    if bool(form) != bool(output):
        raise click.UsageError("--format and -o go together: --format nl -o problem.nl")
    asked = api.load(scenario, machine)
    grid = scenarios.grid(asked)
    # limits within a share of an optimum are shown with their numbers
    asked_first = grid.first
    first = anchors.anchored(asked_first, lambda q: answer(q, neighbours=False)).question
    choice, question = next(combinations(first))
    if form and output:
        return write_files(asked, grid, first, local(output), form)
    try:
        problem = formulate(question)
    except ArithmeticError as failure:
        raise failures.refused(asked.file, question, failure) from failure
    told = question_words.first_point(grid) + question_words.first_choice(question, choice)
    # one design for all samples is looked for by other ways than that of one sample
    now = question.uncertain is not None and worlds.decided_now(asked) and worlds.has_measure(asked)
    over_samples = partial(way_told, question) if now else None
    say(told + in_words(problem, full=full, designs=designs.few(question), way=over_samples))
    unsure = uncertain_words.record(question)
    if unsure:
        say("\nuncertain (the numbers above are nominal)")
    for name, told in unsure.items():
        say(f"  {name.removeprefix('uncertain.')}: {told}")
    command = _command(asked, grid, question)
    way = _way(grid, command)
    if way:
        say(f"\nThe grid: {_way_words(way)}")
    hints.tell(lambda: _for_file(_on_a_file(command), scenario, machine))
    return ANSWERED


def _judged(told: Mapping[str, str]) -> str:
    """Say by what measures designs are judged, those with names of their own by these."""
    head = "objective.measures."
    own = [f"{n.removeprefix(head)} = {text}" for n, text in told.items() if n.startswith(head)]
    return ", ".join(own) or told.get("objective.measure", "")
