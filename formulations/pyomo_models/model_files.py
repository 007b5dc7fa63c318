"""Pyomo models of a question as files for other solvers: lp, nl, gams."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pyomo.environ as pyo
from pyomo.core.base.label import LPFileLabeler, ShortNameLabeler

from formulations.linear_forms import program_of
from formulations.problem import Kind, Problem
from formulations.pyomo_models.log_program import log_program
from formulations.pyomo_models.program_model import goal_in_si, is_ratio
from formulations.pyomo_models.user_model import LOG, PLAIN, user_model

FORMATS = {"lp": "cpxlp", "nl": "nl", "gams": "gams"}
UNCUT_LABEL = 1_000_000
"""No name is cut in lp files, which have no greatest length."""


class NotLinear(ValueError):
    """A format for linear problems was asked for one that is not."""


def write(
    problem: Problem,
    path: Path,
    form: str,
    ratio: float | None = None,
    box: Mapping[str, tuple[float, float]] | None = None,
) -> list[Path]:
    """Write the model that ``user_model.user_model`` builds as "lp", "nl" or "gams"; return the files, it first.

    ``ratio``: see ``program_model.pyomo_program``; ``box``: see ``user_model``. A comment at the top says what the
    objective and the variables are (nl has no such lines).

    Raises ValueError for another form and for a problem that has no model, and NotLinear where "lp" is asked of a
    problem that is not linear, OSError where the file cannot be written.
    """
    if form not in FORMATS:
        raise ValueError(f"no format {form!r}: there are {', '.join(FORMATS)}")
    linear = problem.kind in {Kind.LP, Kind.MILP}
    if form == "lp" and not linear:
        raise NotLinear(
            f"lp holds linear problems only and this is one of class {problem.kind}: use nl or gams"
        )
    if form == "lp" and ratio is None and problem.program is not None and is_ratio(problem.program):
        raise NotLinear("lp holds linear problems only and this objective is a ratio: use nl or gams")
    model = user_model(problem, PLAIN if linear else LOG, box, ratio=ratio if form == "lp" else None)
    goal = written_goal(problem, ratio if form == "lp" else None) or logarithmic(problem, box)
    notes = [goal] if goal else []
    return _to_file(
        model,
        path,
        form,
        [*notes, *(f"{name}: {named.variable.doc}" for name, named in model.decided.items())],
    )


def written_goal(problem: Problem, ratio: float | None = None) -> str:
    """How the objective in SI follows from that of a written file, which is scaled; empty where it does not."""
    program = program_of(problem)
    return "" if program is None else goal_in_si(program, ratio)


def logarithmic(problem: Problem, box: Mapping[str, tuple[float, float]] | None = None) -> str:
    """How the objective in SI follows from that of a written log program; empty for other problems.

    ``box``: as given to ``write``; it tells whether an objective that may be negative elsewhere has a logarithm.
    """
    if problem.program is not None or problem.kind in {Kind.LP, Kind.MILP}:
        return ""
    program = log_program(problem.question, box, exact=False)
    if not program.goal:
        return ""
    factor = "" if program.size == 1.0 else f"{program.size!r} * "
    value = f"{'-' if program.sign < 0 else ''}{factor}that of the file"
    if program.plain:
        return f"the variables y of the file are natural logarithms of SI numbers; objective in SI = {value}"
    return f"the objective in the file is a natural logarithm: objective in SI = exp({value})"


def _to_file(model: pyo.ConcreteModel, path: Path, form: str, notes: list[str]) -> list[Path]:
    """Write a model and return its files.

    ``notes``: what comments at the top of an lp or gams file say (nl has no such lines).
    """
    options: dict[str, object] = {"symbolic_solver_labels": True}
    if form == "lp":
        # names that differ in signs which lp files cannot hold are numbered apart, as gams has them
        options["labeler"] = ShortNameLabeler(UNCUT_LABEL, "_", labeler=LPFileLabeler())
    lines = (f"* {note}\n" if form == "gams" else f"\\* {note} *\\\n" for note in notes)
    head = "".join(lines) if form != "nl" else ""
    # what is not written to its end leaves nothing, and what the system says of the file is said by itself
    with TemporaryDirectory() as folder:
        model.write(str(Path(folder) / path.name), format=FORMATS[form], io_options=options)
        written = [
            path,
            *sorted(path.with_name(f.name) for f in Path(folder).iterdir() if f.name != path.name),
        ]
        for file in written:
            text = (Path(folder) / file.name).read_text(encoding="utf-8")
            file.write_text(head + text, encoding="utf-8")
    return written
