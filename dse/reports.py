"""A report: one self-contained page about an answer, a front or a sweep."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import scenarios
from results import page, provenance, reading, render
from results.dataset import STATUS_CODES, objectives
from results.page import Page, Section

if TYPE_CHECKING:
    import xarray as xr

    from dse.machines import Machine
    from results.solution import Solution
    from scenarios import Scenario
    from scenarios.question import Question

Facts = list[tuple[str, str]]


def of_store(path: str | Path) -> Page:
    """Make the page of a sweep's store, or of a dataset that was exported; raises StoreError."""
    return of_dataset(reading.open(path), f"dse report {shlex.quote(str(path))} -o report.html")


def of_scenario(asked: Scenario, points: int | None = None, progress: bool | None = None) -> Page:
    """Answer a scenario, whatever it asks for, and make the page of the answer.

    ``points``: of a front, how many. Raises ScenarioError as ``dse.solve``, ``dse.front`` and ``dse.sweep`` do.
    """
    from dse import fronts, sweeps
    from scenarios.questions import question
    from solvers.answer import answer

    command = f"dse report {shlex.quote(asked.file)} -o report.html"
    if asked.sweep:
        return of_dataset(sweeps.sweep(asked, progress=progress), command)
    goal = asked.objective
    if goal is None or len((goal.minimize or ()) + (goal.maximize or ())) < 2:
        return of_solution(answer(question(asked)), command)
    found = fronts.find(asked, points, None, progress)
    if found.refusal is not None:
        return of_solution(found.refusal, command)
    return of_dataset(fronts.to_dataset(found), command)


def of_solution(solution: Solution, command: str = "") -> Page:
    """Make the page of one answer."""
    rates = {n: s.elasticity for n, s in solution.limits.items() if s.elasticity}
    rates |= {n: v for n, v in solution.parameters.items() if abs(v) > 1e-9}
    tables = [(p.heading, p.columns, p.rows) for p in render.parts(solution)]
    asked = _asked(solution.scenario)
    question = None if asked is None else asked[1]
    return Page(
        title=solution.title or "An answer",
        answer=render.head(solution),
        question="" if question is None else _in_words(question),
        sections=[
            Section("Answer", tables=tables),
            *_machines(_given_machines(question), _entries(solution.scenario)),
            _reproduction(solution.scenario, provenance.versions(), command),
        ],
        rates=dict(sorted(rates.items(), key=lambda item: -abs(item[1]))),
    )


def of_dataset(dataset: xr.Dataset, command: str = "") -> Page:
    """Make the page of a front or of a sweep."""
    about = dataset.attrs
    asked = _asked(str(about.get("scenario", "")))
    decided = asked[0].decided() if asked else ()
    versions = json.loads(about.get("versions", "{}"))
    return Page(
        title=str(about.get("title", "")) or "A study",
        answer=_facts(dataset),
        question="" if asked is None else _in_words(asked[1]),
        table=page.of_dataset(dataset, decided),
        sections=[
            *_machines(
                json.loads(about.get("machine_parameters", "{}")), _entries(str(about.get("scenario", "")))
            ),
            _reproduction(str(about.get("scenario", "")), versions, command),
        ],
    )


def _facts(dataset: xr.Dataset) -> Facts:
    """Say what the answers are and how sure they are."""
    status = dataset["status"].values
    counts = {s.value: int(np.count_nonzero(status == code)) for s, code in STATUS_CODES.items()}
    missing = int(np.count_nonzero(status == 0))
    told = [f"{n} {word}" for word, n in counts.items() if n] + (
        [f"{missing} not computed yet"] if missing else []
    )
    goals = objectives(dataset)
    wanted = " and ".join(f"{'most' if most else 'least'} {name}" for name, most in goals.items())
    found = [
        ("asked for", wanted),
        ("points", ", ".join(told)),
        ("solved by", str(dataset.attrs.get("method", ""))),
    ]
    gaps = dataset["gap"].values if "gap" in dataset else np.array([np.nan])
    proven = gaps[np.isfinite(gaps) & (status == 1)]
    if proven.size:
        found.append(
            ("proven", f"no optimal point is worse than its bound by more than {proven.max():.1g} (relative)")
        )
    waived = str(dataset.attrs.get("waived_limits", ""))
    if waived:
        found.append(("set aside", f"the model's own limits {waived} (as asked)"))
    return [(name, text) for name, text in found if text]


def _asked(text: str) -> tuple[scenarios.Grid, Question] | None:
    """Read what was asked again; None where the model or the machine is not known here."""
    from dse.names import UnknownName

    try:
        grid = scenarios.grid(scenarios.from_text(text, "scenario"))
        return grid, grid.question((0,) * len(grid.axes))
    except (scenarios.ScenarioError, UnknownName, ValueError):
        return None


def _in_words(question: Question) -> str:
    """Write the question as mathematics, at its first choices."""
    from formulations.explain import explain
    from formulations.problem import formulate
    from scenarios.question import combinations

    chosen, first = next(combinations(question))
    before = (
        f"For {', '.join(f'{n} = {c}' for n, c in chosen.items())}, the first choice:\n\n" if chosen else ""
    )
    return before + explain(formulate(first))


def _given_machines(question: Question | None) -> dict[str, Any]:
    if question is None:
        return {}
    cut = len("machine.")
    own = {n[cut:]: v for n, v in question.given.items() if n.startswith("machine.")}
    return own | {name: dict(p) for name, p in question.machines.items()}


def _entries(text: str) -> dict[str, str]:
    """Return the machines that a scenario names: of a map by their entries, a single one under the empty name."""
    try:
        written = scenarios.from_text(text, "scenario").machine
    except scenarios.ScenarioError:
        return {}
    if not isinstance(written, Mapping):
        return {"": written or ""}
    if isinstance(written.get("base"), str):
        return {"": written["base"]}
    named = {n: v.get("base") if isinstance(v, Mapping) else v for n, v in written.items()}
    return {n: v for n, v in named.items() if isinstance(v, str)}


def _machines(parameters: Mapping[str, Any], named: Mapping[str, str]) -> Iterator[Section]:
    """Tell the machines' numbers in SI units, those of each machine in a table."""
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            # "cpu: NAME" is a machine that may take the place cpu of a map, NAME one that may be the machine
            entry, _, machine = name.rpartition(": ")
            of = groups.setdefault((entry, machine), {})
            of |= {n.removeprefix("machine.").removeprefix(f"{entry}."): v for n, v in value.items()}
        else:
            entry = name.partition(".")[0] if name.partition(".")[0] in named else ""
            of = groups.setdefault((entry, named.get(entry, "")), {})
            of[name.removeprefix(f"{entry}.")] = value
    if groups:
        tables = [_parameters(entry, machine, values) for (entry, machine), values in groups.items()]
        yield Section("Machine parameters", ("Numbers in SI units.",), tables)


def _parameters(
    entry: str, name: str, values: Mapping[str, Any]
) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
    from dse import machines
    from dse.machines import MachineError
    from dse.names import UnknownName

    try:
        known = machines.get(name) if name else None
    except (UnknownName, MachineError):
        known = None
    columns = ("parameter", "value", "where it comes from")
    heading = ": ".join(n for n in (entry, name) if n)
    if known is None:
        return heading, columns, [(n, _si(v), "") for n, v in sorted(values.items())]
    rows = [(n, _si(v), _origin(known, n, v)) for n, v in sorted(values.items())]
    return f"{heading}, {known.title} ({known.source})", columns, rows


def _si(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _origin(machine: Machine, name: str, value: Any) -> str:
    """Where a value comes from: the catalogue, unless the scenario says otherwise."""
    own = machine.parameters.get(name)
    if own is None or own != value:
        return "stated in the scenario"
    return _and(machine.provenance.get(name, ""), machine.doubts.get(name, ""))


def _and(source: str, doubt: str) -> str:
    return f"{source}; doubtful: {doubt}" if doubt else source


def _reproduction(text: str, versions: Mapping[str, str], command: str) -> Section:
    said = [f"Versions: {', '.join(f'{n} {v}' for n, v in versions.items())}."]
    if command:
        said.append(f"Made by: {command}")
    said.append("The scenario, as it was asked:")
    return Section("How to reproduce it", said, verbatim=text)
