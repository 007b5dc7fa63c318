"""Commands that look at a question without answering it: check, explain."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dse.commands import AS_JSON, SCENARIO, mistakes
from dse.door import ANSWERED, WRONG
from dse.terminal import say, say_json

if TYPE_CHECKING:
    from formulations.problem import Problem
    from formulations.program import Program
    from scenarios import Grid, Scenario
    from scenarios.question import Question

MOST_KINDS = 50


@click.command()
@SCENARIO
@AS_JSON
def check(scenario: str, as_json: bool) -> int:
    """Check a scenario, and say what it asks."""
    from dse import api
    from scenarios import ScenarioError

    try:
        asked = api.load(scenario)
        told = _described(asked)
    except ScenarioError as problem:
        if not as_json:
            raise
        say_json(mistakes(problem))
        return WRONG
    if as_json:
        say_json({"ok": True, **told})
        return ANSWERED
    say(f"{asked.file}: no mistakes")
    rows = [(name, value) for name, value in _facts(told, scenario) if value]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        say(f"  {name:{width}}  {value}")
    return ANSWERED


def _described(asked: Scenario) -> dict[str, Any]:
    """Say what a scenario asks: class, decisions, objectives, grid, and the command for it."""
    import scenarios
    from formulations.problem import formulate
    from results.limits import limit_names
    from solvers.choices import combinations

    grid = scenarios.grid(asked)
    question = grid.question((0,) * len(grid.axes))
    asked_about = [list(combinations(q)) for q in itertools.islice(_kinds(grid), MOST_KINDS)]
    classes = dict.fromkeys(formulate(choices[0][1]).kind.value for choices in asked_about)
    choices = max(map(len, asked_about))
    several = len(question.objectives) > 1
    command = "front" if several else "sweep" if grid.axes else "solve"
    return {
        "title": question.title,
        "model": question.model.name,
        "class": " or ".join(classes),
        "choices": choices if choices > 1 else 0,
        **_decided(grid),
        "objectives": {g.name: "max" if g.maximize else "min" for g in question.objectives},
        "limits": list(limit_names(question)),
        "axes": {a.name: len(a.values) for a in grid.axes},
        "points": grid.size,
        "command": command + " FILE" + (" -o STORE" if command == "sweep" else ""),
    }


def _kinds(grid: Grid) -> Iterator[Question]:
    """Go through the questions that may differ in kind: one for each combination of the names on the axes."""
    named = [range(1 if a.numeric else n) for a, n in zip(grid.axes, grid.shape, strict=True)]
    return (grid.question(index) for index in itertools.product(*named))


def _decided(grid: Grid) -> dict[str, list[str]]:
    """Return what is decided anywhere on the grid, and what of it is not decided at every point."""
    every = [[d.name for d in q.decide] for q in _kinds(grid)]
    names = dict.fromkeys(name for of in every for name in of)
    return {"decide": list(names), "decide_at_some": [n for n in names if any(n not in of for of in every)]}


def _facts(told: dict[str, Any], file: str) -> list[tuple[str, str]]:
    goals = ", ".join(f"{sense} {name}" for name, sense in told["objectives"].items())
    choices = f", for each of {told['choices']} choices" if told["choices"] else ""
    axes = " × ".join(f"{n} {name}" for name, n in told["axes"].items())
    return [
        ("asks", told["title"]),
        ("class", told["class"] + choices),
        ("decides", _decisions(told)),
        ("objective", goals or "any design within the limits"),
        ("limits", ", ".join(told["limits"])),
        ("grid", f"{axes} = {told['points']} points" if axes else ""),
        ("next", f"dse {_for_file(told['command'], file)}"),
    ]


def _decisions(told: dict[str, Any]) -> str:
    some = told["decide_at_some"]
    always = ", ".join(n for n in told["decide"] if n not in some) or "nothing"
    return f"{always}; at some points only: {', '.join(some)}" if some else always


def _for_file(command: str, file: str) -> str:
    """Put the file, and a store named after it, into a command, as a shell takes it."""
    names = {"FILE": file, "STORE": f"{Path(file).stem}.zarr"}
    return " ".join(shlex.quote(names.get(word, word)) for word in command.split())


@click.command()
@SCENARIO
@click.option(
    "--format", "form", type=click.Choice(["lp", "nl", "gams"]), help="Write the problem as a file."
)
@click.option("-o", "--output", metavar="FILE", help="Where to write it.")
@click.option("--full", is_flag=True, help="Shorten no list, menu or sum.")
def explain(scenario: str, form: str | None, output: str | None, full: bool) -> int:
    """Show a question as mathematics.

    Variables with domains, objective and limits as formulas, class, method, and the certificate to expect.
    """
    import scenarios
    from dse import api
    from formulations.explain import explain as in_words
    from formulations.problem import formulate
    from solvers.choices import combinations

    if bool(form) != bool(output):
        raise click.UsageError("--format and -o go together: --format nl -o problem.nl")
    grid = scenarios.grid(api.load(scenario))
    choice, question = next(combinations(grid.question((0,) * len(grid.axes))))
    problem = formulate(question)
    if form and output:
        for line in _write_problem(problem, Path(output), form):
            say(line)
        return ANSWERED
    if grid.axes:
        say(f"At the first of {grid.size} points of the grid:\n")
    if choice:
        say(f"For {', '.join(f'{n} = {c}' for n, c in choice.items())}, the first choice:\n")
    say(in_words(problem, full=full))
    return ANSWERED


def _write_problem(problem: Problem, file: Path, form: str) -> list[str]:
    """Write the problem; say which files there are and what to know about them."""
    from formulations.program_model import is_ratio
    from formulations.pyomo_model import write, written_goal
    from results.store import explained

    ratio = None
    if form == "lp" and problem.program is not None and is_ratio(problem.program):
        ratio = _least_ratio(problem.program)
    try:
        with explained(file, "write"):
            files = write(problem, file, form, ratio)
    except ValueError as refusal:
        raise click.UsageError(str(refusal)) from refusal
    said = [f"Wrote {', '.join(map(str, files))}"]
    if len(files) > 1:
        said.append("The least of their optima is the optimum: in each, another term is the largest.")
    scaled = written_goal(problem, ratio)
    if scaled:
        said.append(f"The file is scaled: {scaled}.")
    if ratio is not None:
        said.append(
            f"The objective is a ratio, and lp holds linear ones: numerator - {ratio:.9g} denominator, "
            "least 0 at the optimum."
        )
    return said


def _least_ratio(p: Program) -> float:
    """The least ratio of a program; raises UsageError where it has none."""
    from solvers import programs

    best = programs.optimise(p).best
    if best is None:
        raise click.UsageError(
            "the objective is a ratio, which lp cannot hold without its least value, and there "
            "is no optimum: use nl or gams"
        )
    return best.ratio
