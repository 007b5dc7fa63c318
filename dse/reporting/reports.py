"""A report: one self-contained page about an answer, a front or a sweep."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import scenarios
from dse.names import UnknownName
from dse.reporting.machine_sections import machine_sections, machines_by_entry
from dse.uncertain import worlds as all_worlds
from formulations.problem import formulate
from results import asked as asked_of
from results import axes, flat, page, plot, provenance
from results.along_fronts import along
from results.along_fronts.variable_names import FRONT, WIDTH, of_whole_front
from results.dataset import BINDING, CONFLICTING, LIMIT, STATUS_CODES, objectives
from results.page import Page, Section
from results.solution import Solution, Status
from results.summaries import checked, headlines, outside, question_words, slices
from results.telling import render
from results.telling.limits import base_name
from results.uncertainty import kept, matters_text, worlds, worlds_text
from scenarios import Scenario, questions
from scenarios.question import Question, combinations
from scenarios.uncertainty.chances import AXIS
from solvers import designs

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from scenarios.language.tables import Table

Facts = list[tuple[str, str]]
# of fronts at many places, how many ways of finding them are told
MOST_WAYS = 2
_INDICES = "Sobol' indices of the objective with 95 % intervals, and what not knowing each number costs"


def command(source: str | Path, *options: str) -> str:
    """Return the command that makes the page of a store or a file again; ``options``: what was asked beside it."""
    return shlex.join(["dse", "report", str(source), *options, "-o", "report.html"])


def _command_for(asked: Scenario, *options: str) -> str:
    """Return the command that makes the page of a scenario again; empty where its file does not say what was asked."""
    try:
        same = scenarios.load(asked.file) == asked
    except scenarios.ScenarioError:
        same = False
    return command(asked.file, *options) if same else ""


def of_scenario(
    asked: Scenario,
    points: int | None = None,
    progress: bool | None = None,
    options: Sequence[str] = (),
) -> Page:
    """Answer a scenario, whatever it asks for, and make the page of the answer.

    ``points``: of a front, how many; ``options``: of the command that makes the page, beside these. Raises
    ScenarioError as ``dse.solve``, ``dse.front`` and ``dse.sweep`` do.
    """
    from dse.fronts import front as fronts
    from dse.fronts import swept_fronts
    from dse.sweeping import sweeps
    from dse.uncertain import uncertainties
    from solvers.answer import answer

    several = len(asked.goals) > 1
    if points is not None and not several:
        wrong = f"points = {points} (--points) is how many a front has, and there is one objective"
        raise scenarios.ScenarioError.of(
            asked.file, "objective", wrong, 'leave it out, or write minimize = ["energy", "time"]'
        )
    fineness = [] if points is None else ["--points", str(points)]
    again = _command_for(asked, *fineness, *options)
    if asked.uncertain is not None and not (several or asked.sweep or all_worlds.decided_now(asked)):
        found_worlds = uncertainties.uncertainty(asked, progress=progress)
        return of_dataset(found_worlds.samples, again, found_worlds)
    if asked.uncertain is not None and not several:
        if all_worlds.decided_now(asked):
            all_worlds.measured(asked)
        asked = all_worlds.decided_late(asked)
    if asked.sweep and several:
        return of_dataset(swept_fronts.front(asked, points, None, progress), again)
    if asked.sweep:
        return of_dataset(sweeps.sweep(asked, progress=progress), again)
    if not several:
        return of_solution(answer(questions.question(asked)), again)
    found = fronts.find(asked, points, None, progress)
    if found.refusal is not None:
        return of_solution(found.refusal, again)
    return of_dataset(fronts.to_dataset(found), again)


def with_indices(asked: Scenario, points: int | None = None, rows: int | None = None) -> Page:
    """Make the page of a scenario with what matters in it: Sobol' indices, and what not knowing each number costs.

    ``rows``: of Saltelli's samples, a power of two. Raises ScenarioError as ``dse.what_matters`` does.
    """
    from dse.uncertain import indices

    # what cannot be asked is refused before the answer is computed
    found = indices.matters(asked, rows)
    made = of_scenario(
        asked, points, options=["--indices", *(["--samples", str(rows)] if rows is not None else [])]
    )
    pictures = _pictures(partial(plot.matters, found), _INDICES) if found.indices else []
    told = Section(
        "What matters", matters_text.sentences(found), matters_text.tables(found), pictures=pictures
    )
    return replace(made, first=[*made.first, told])


def of_solution(solution: Solution, command: str = "") -> Page:
    """Make the page of one answer."""
    rates = {n: s.elasticity for n, s in solution.limits.items() if s.elasticity}
    rates |= {n: v for n, v in solution.parameters.items() if abs(v) > 1e-9}
    tables = [(p.heading, p.columns, p.rows) for p in render.parts(solution)]
    rows = asked_of.tables_of(solution.tables)
    asked = _grid_and_question(solution.scenario, rows)
    question = None if asked is None else asked[1]
    return Page(
        title=solution.title or "An answer",
        answer=[*_question(solution.scenario, asked, rows), *render.head(solution)],
        question="" if asked is None else _in_words(*asked),
        first=[Section("Answer", tables=tables)],
        sections=[
            *machine_sections(
                _given_machines(question),
                asked,
                machines_by_entry(solution.scenario, rows),
                solution.scenario,
            ),
            _reproduction(solution.scenario, provenance.versions(), command),
        ],
        rates=dict(sorted(rates.items(), key=lambda item: -abs(item[1]))),
        headline=headlines.of_solution(solution),
        insides=page.insides_of_solution(solution),
    )


def of_dataset(dataset: xr.Dataset, command: str = "", study: worlds.Worlds | None = None) -> Page:
    """Make the page of a front or of a sweep; ``study``: the worlds of the dataset, with a fixed design beside them."""
    about = dataset.attrs
    tables = asked_of.tables(flat.along_all(dataset).coords, dataset.attrs)
    asked = _grid_and_question(str(about.get("scenario", "")), tables)
    decided = asked[0].decided() if asked else ()
    text = str(about.get("scenario", ""))
    versions = json.loads(about.get("versions", "{}"))
    part = slices.words(dataset, asked[0] if asked else None)
    return Page(
        title=str(about.get("title", "")) or "A study",
        answer=[
            *(_question(text, asked, tables) or _wanted(dataset)),
            *([("part of it", part)] if part else []),
            *_facts(dataset),
        ],
        question="" if asked is None else _in_words(*asked),
        table=page.of_dataset(dataset, decided),
        headline=headlines.of_dataset(dataset),
        first=list(_worlds(dataset, study)),
        sections=[
            *_fresh_samples(dataset),
            *_limits_section(dataset, asked[1] if asked else None),
            *machine_sections(
                json.loads(about.get("machine_parameters", "{}")),
                asked,
                machines_by_entry(text, tables),
                text,
            ),
            _reproduction(text, versions, command),
        ],
    )


def _question(
    text: str, asked: tuple[scenarios.Grid, Question] | None, tables: Sequence[Table] = ()
) -> Facts:
    return (
        []
        if asked is None
        else [("question", question_words.sentence(asked[0], machines_by_entry(text, tables)))]
    )


def _wanted(dataset: xr.Dataset) -> Facts:
    """Say what was asked for where the question itself cannot be read here."""
    wanted = (f"{'greatest' if most else 'least'} {name}" for name, most in objectives(dataset).items())
    return [("asked for", " and ".join(wanted))]


def _facts(dataset: xr.Dataset) -> Facts:
    """Say what the answers are and how sure they are."""
    status = flat.with_status(dataset)["status"].values
    counts = {s.value: int(np.count_nonzero(status == code)) for s, code in STATUS_CODES.items()}
    told = [f"{n} {word}" for word, n in counts.items() if n]
    # fronts are filled up to the length of the longest, which is nothing that is still to come
    missing = 0 if FRONT in dataset.coords else int(np.count_nonzero(status == 0))
    told += [f"{missing} not computed yet"] if missing else []
    gaps = dataset["gap"].values if "gap" in dataset else np.array([np.nan])
    proven = gaps[np.isfinite(gaps) & (status == 1)] if gaps.shape == status.shape else np.zeros(0)
    waived = str(dataset.attrs.get("waived_limits", ""))
    answered = int(np.isin(status, axes.ANSWERED).sum())
    found = [
        ("points", ", ".join(told)),
        ("solved by", _method_text(dataset)),
        ("proved", f"optimality gap of the optimal points ≤ {proven.max():.1g}" if proven.size else ""),
        *_of_front(dataset, list(objectives(dataset))),
        ("outside", outside.words(outside.counts([dataset]), answered)),
        *checked.of_dataset([dataset]),
        ("set aside", f"the model's own limits {waived} (as asked)" if waived else ""),
    ]
    return [(name, text) for name, text in found if text]


def _method_text(dataset: xr.Dataset) -> str:
    """Say how points were solved; of fronts over axes also how each of them was found, where that is alike."""
    found = [str(dataset.attrs.get("method", ""))]
    if "front_method" in dataset and of_whole_front(dataset, "front_method"):
        ways = list(dict.fromkeys(filter(None, map(str, np.ravel(dataset["front_method"].values).tolist()))))
        found += ways[:MOST_WAYS] + ["…"] * (len(ways) > MOST_WAYS)
    return "; ".join(filter(None, found))


def _of_front(dataset: xr.Dataset, goals: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Say of a front how well it is known between its points, and where its knee is."""
    told = dataset.drop_vars([n for n in map(str, dataset.data_vars) if not of_whole_front(dataset, n)])
    widths = np.asarray(dataset.attrs.get(WIDTH, told.get(WIDTH, np.nan)), float)
    proofs = np.ravel(told.get("enclosure_proof", dataset.attrs.get("enclosure", ""))).tolist()
    if np.isfinite(widths).any():
        proof = next((p for p in proofs if p), "")
        exactly = "exactly" if np.nanmax(widths) == 0 else f"to within {along.percent(np.nanmax(widths))}"
        known = f"between the designs the front is known {exactly}"
        yield "enclosed", f"{known}; proof: {proof}" if proof else known
    front = flat.along_all(flat.with_status(dataset))
    knee = along.knee_of(front, goals)
    if knee is not None:
        at = front.isel({FRONT: knee})
        reached = (f"{n} {axes.amount(at[n].values.item(), dataset[n], 4)}" for n in goals)
        yield "knee", f"design {knee}, the farthest from the line between the ends: {', '.join(reached)}"


def _pictures(drawn: Callable[..., Figure], words: str) -> list[tuple[str, str, str]]:
    """Draw a picture twice: for a wide screen, and for a narrow one."""
    return [(plot.svg(drawn()), plot.svg(drawn(narrow=True)), words)]


def _worlds(dataset: xr.Dataset, study: worlds.Worlds | None) -> Iterator[Section]:
    """Tell how the answers of worlds that were drawn are distributed."""
    if "status" not in dataset or tuple(dataset["status"].dims) != (AXIS,):
        return

    found = study or worlds.summarised(dataset)
    try:
        words = "Distributions of the objective and of what is decided, and shares of the samples; as numbers below"
        pictures = _pictures(partial(plot.worlds, found), words)
    except ValueError:
        # all designs are alike, or there is none
        pictures = []
    yield Section("Samples", worlds_text.sentences(found), worlds_text.tables(found), pictures=pictures)


def _fresh_samples(dataset: xr.Dataset) -> Iterator[Section]:
    """Tell in which share of fresh samples limits hold, where designs are decided before the worlds are known."""
    judged = kept.judged(dataset)
    tables = kept.tables(dataset, judged)
    if tables:
        yield Section("Fresh samples", kept.sentences(dataset, judged), tables)


def _limits_section(dataset: xr.Dataset, first: Question | None) -> Iterator[Section]:
    """Tell of every limit where it binds or forbids, and what one percent of it buys.

    ``first``: the question at the first point; of one in which nothing is decided no point has a design.
    """
    if "binding" not in dataset or LIMIT not in dataset:
        return
    rows = []
    status = dataset["status"].values
    # an interrupted chunk may have left a part of what it wrote beside points that have no answer
    told = status != 0
    answered = np.isin(status, axes.ANSWERED)
    evaluated = first is not None and not first.decide
    evaluated |= bool((status == STATUS_CODES[Status.EVALUATED]).any())
    where = "points within the limits" if evaluated else "designs"
    # what a front holds its objectives to is no limit that was asked for
    bounded = objectives(dataset) if FRONT in dataset.dims else ()
    for name in dataset[LIMIT].values:
        if base_name(str(name)) in bounded:
            continue
        states = dataset["binding"].sel({LIMIT: name}).values
        rates = (
            dataset["elasticity"].sel({LIMIT: name}).values[told] if "elasticity" in dataset else np.zeros(0)
        )
        felt = rates[np.isfinite(rates) & (abs(rates) > 1e-9)]
        ends = [f"{end:+.3g} %" for end in (felt.min(), felt.max())] if felt.size else []
        worth = " to ".join(dict.fromkeys(ends))
        binding = int(np.count_nonzero(states[answered] == BINDING))
        forbids = int(np.count_nonzero(states[told] == CONFLICTING))
        rows.append((str(name), f"{binding} of {answered.sum()}", str(forbids), worth))
    columns = ("limit", f"binds at {where}", "forbids at points", "1 % more of it changes the objective by")
    if not rows:
        return
    # of a front of three objectives nobody knows what a limit is worth
    told_of = slice(None if any(row[-1] for row in rows) else -1)
    yield Section("Limits", (), [("", columns[told_of], [row[told_of] for row in rows])])


def _grid_and_question(text: str, tables: Sequence[Table] = ()) -> tuple[scenarios.Grid, Question] | None:
    """Read what was asked again; None where the model or the machine is not known here."""
    try:
        grid = scenarios.grid(scenarios.from_text(text, "scenario", tables))
        first = grid.first
    except (scenarios.ScenarioError, UnknownName, ValueError):
        return None
    return grid, first


def _in_words(grid: scenarios.Grid, question: Question) -> str:
    """Write the question as mathematics, at the first of its points and of its choices."""
    from formulations.pyomo_models.explain import explain

    chosen, first = next(combinations(question))
    told = question_words.first_point(grid) + question_words.first_choice(question, chosen)
    return told + explain(formulate(first), designs=designs.few(first))


def _given_machines(question: Question | None) -> dict[str, Any]:
    if question is None:
        return {}
    cut = len("machine.")
    own = {n[cut:]: v for n, v in question.given.items() if n.startswith("machine.")}
    return own | {name: dict(p) for name, p in question.machines.items()}


def _reproduction(text: str, versions: Mapping[str, str], command: str) -> Section:
    said = [f"Versions: {', '.join(f'{n} {v}' for n, v in versions.items())}."]
    if command:
        said.append(f"Made by: {command}")
    said.append("The scenario:")
    return Section("How to reproduce it", said, verbatim=text)
