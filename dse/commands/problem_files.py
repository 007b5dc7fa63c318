"""Files of a question for other solvers: what `dse explain --format` writes, one for each choice among names."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dse.commands.terminal.door import ANSWERED, folder_for
from dse.commands.terminal.printing import say
from dse.quantities import plural
from dse.system.records import dataclass
from results.stores.files.storage import spared, writable
from results.stores.files.trouble import StoreError

if TYPE_CHECKING:
    from formulations.problem import Problem
    from formulations.programs.program import Program
    from scenarios import Grid, Scenario
    from scenarios.question import Question

FORMS = {"lp": (".lp",), "nl": (".nl",), "gams": (".gams", ".gms")}
"""Formats, and how the names of their files end."""
MOST_FILES = 100


def _unwritten(grid: Grid, asked: Question) -> str:
    """Say which parts of a question files leave out, and what to do; empty where they hold all."""
    parts = []
    if asked.uncertain is not None:
        names = ", ".join(asked.uncertain.marginals)
        parts.append(
            f"numbers are uncertain ({names}), and a file takes each as known: "
            "take [uncertain] and what belongs to it out"
        )
    if grid.axes:
        names = ", ".join(a.name for a in grid.axes)
        parts.append(
            f"it sweeps {names} ({plural(grid.size, 'point')}): "
            "take [sweep] out and write the value of one point in its place"
        )
    if len(asked.objectives) > 1:
        names = ", ".join(o.name for o in asked.objectives)
        parts.append(f"it has {len(asked.objectives)} objectives ({names}): keep one, and limit the others")
    return "; ".join(parts)


def write_files(asked: Scenario, grid: Grid, first: Question, file: Path, form: str) -> int:
    """Write a file for each choice among names, and say what to know about them.

    Raises UsageError for what no such file holds, and StoreError for a name that ends otherwise than such files do.
    """
    from formulations import failures
    from formulations.problem import formulate
    from solvers.choices import combinations

    writable(file)
    if file.suffix.lower() not in FORMS[form]:
        raise StoreError(f"{file}: a file of this format is named {file.stem}{FORMS[form][0]}")
    spared([file], asked.reads)
    unwritten = _unwritten(grid, first)
    if unwritten:
        raise click.UsageError(f"a file of one problem cannot hold this question: {unwritten}")
    every = list(itertools.islice(combinations(first), MOST_FILES + 1))
    if len(every) > MOST_FILES:
        raise click.UsageError(
            f"there are more than {MOST_FILES} choices, a file for each: take some out of [decide]"
        )
    folder_for(file)
    for choice, question in every:
        try:
            problem = formulate(question)
        except ArithmeticError as failure:
            raise failures.refused(asked.file, question, failure) from failure
        at = file.with_stem("-".join([file.stem, *map(_in_a_name, choice.values())]))
        told = ", ".join(f"{n} = {c}" for n, c in choice.items())
        said = _write_problem(problem, at, form, told)
        for line in said.lines:
            say(line)
        for line in said.warnings:
            click.echo(line, err=True)
    if len(every) > 1:
        most = "greatest" if first.objectives and first.objectives[0].maximize else "least"
        say(f"The {most} of their optima is the optimum: each file is one choice.")
    return ANSWERED


def _in_a_name(choice: str) -> str:
    """Return a choice as a part of a file's name."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in choice)


@dataclass(frozen=True, slots=True)
class _Said:
    """What to say of a file written, and what to be warned of."""

    lines: list[str]
    warnings: list[str]


def _write_problem(problem: Problem, file: Path, form: str, choice: str) -> _Said:
    """Write the problem; say what to know about its file."""
    from formulations.problem import Kind
    from formulations.pyomo_models.model_files import logarithmic, write, written_goal
    from formulations.pyomo_models.program_model import is_ratio
    from results.stores.store import explained
    from solvers.others.pyomo_answers import box

    ratio = None
    if form == "lp" and problem.program is not None and is_ratio(problem.program):
        ratio = _least_ratio(problem.program)
    curved = problem.program is None and problem.kind not in {Kind.EVALUATION, Kind.BLACK_BOX}
    within = box(problem.question) if curved and form != "lp" else None
    try:
        with explained(file, "write"):
            written = write(problem, file, form, ratio, within)
    except ValueError as refusal:
        of = f"with {choice} " if choice else ""
        raise click.UsageError(f"{of}the problem cannot be written: {refusal}") from refusal
    said = [f"Wrote {', '.join(map(str, written))}" + (f" of {choice}" if choice else "")]
    scaled = written_goal(problem, ratio)
    if scaled:
        said.append(f"The file is scaled: {scaled}.")
    if ratio is not None:
        said.append(
            f"The objective is a ratio, and lp files hold linear ones: minimised is numerator - {ratio:.9g} × "
            "denominator, which is 0 at the optimum."
        )
    note = logarithmic(problem, within)
    return _Said(said, [note] if note else [])


def _least_ratio(p: Program) -> float:
    """The least ratio of a program; raises UsageError where it has none."""
    from solvers.linear import programs

    best = programs.optimise(p).best
    if best is None:
        raise click.UsageError(
            "the objective is a ratio, which lp cannot hold without its least value, and there "
            "is not an optimum: use nl or gams"
        )
    return best.value
