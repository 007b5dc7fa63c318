"""Several questions answered side by side: one file on several machines, or several files."""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import scenarios
from dse.comparing import break_even
from dse.comparing.break_even import Range
from dse.machines import is_file
from dse.system.progress import Report, reporting
from dse.uncertain import worlds
from results.side_by_side.comparison import Comparison, Side
from scenarios import Scenario
from scenarios.language.errors import meant, shown
from scenarios.language.machine_files import held, shown_names
from scenarios.questions import question
from solvers.answer import answer

MOST_COMPARED = 12


def asked(sources: Sequence[Any], machines: Sequence[str]) -> list[Scenario]:
    """Return the questions: every source on each of the machines, or as it stands where there are none.

    Raises ScenarioError.
    """
    found = [scenarios.load(s, m) for s in sources for m in (machines or (None,))]
    if len(found) < 2:
        right = "name a second one, or several machines: dse compare FILE --machine A --machine B"
        raise _comparison_mistake(
            found[0].file if found else "", "there is only one question to compare", right
        )
    if len(found) > MOST_COMPARED:
        raise _comparison_mistake(
            found[0].file, f"{len(found)} questions are too many to compare", f"name at most {MOST_COMPARED}"
        )
    return found


def compare(
    questions: Sequence[Scenario], baseline: str | int | None = None, progress: bool | Report | None = None
) -> Comparison:
    """Answer all questions and set them side by side; raises ScenarioError.

    ``baseline``: the label or place of the one that ratios are to (None: the first).
    """
    labels, names = labelled(questions), labelled(questions, shown_machines(questions))
    place = _place_of_baseline(labels, names, baseline)
    for q in questions:
        _one_answer(q)
    sides = []
    with reporting(progress, "answer") as report:
        for label, name, q in zip(labels, names, questions, strict=True):
            sides.append(Side(label, name, q.file, machine_of(q), answer(question(q), neighbours=False)))
            report(len(sides), len(questions))
    return Comparison(tuple(sides), place)


def compare_along(
    questions: Sequence[Scenario],
    over: Range,
    metric: str | None = None,
    baseline: str | int | None = None,
    progress: bool | Report | None = None,
) -> Comparison:
    """Compare along a number: side by side at the first value, and the curves; raises ScenarioError."""
    labels, names = labelled(questions), labelled(questions, shown_machines(questions))
    place = _place_of_baseline(labels, names, baseline)
    for q in questions:
        worlds.measured(q)
    curve = break_even.along(questions, labels, names, over, metric, place, progress)
    asked_first, where = break_even.first(questions, over)
    sides = tuple(
        Side(label, name, q.file, machine_of(q), answer(asked, neighbours=False))
        for label, name, q, asked in zip(labels, names, questions, asked_first, strict=True)
    )
    return Comparison(sides, place, curve, where)


def labelled(questions: Sequence[Scenario], shown: Mapping[str, str] | None = None) -> list[str]:
    """Call each question by what tells it from the others: its file, its machine, or both.

    ``shown``: how people are shown machine files; None: the labels in datasets and JSON, with the files' stems.
    """
    files = [Path(q.file).stem for q in questions]
    machines = [machine_of(q, shown) for q in questions]
    if len(set(files)) == len(files):
        names = files
    elif len(set(machines)) == len(machines) and all(machines):
        names = machines
    else:
        names = [f"{f} on {m}" if m else f for f, m in zip(files, machines, strict=True)]
    seen: collections.Counter[str] = collections.Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def shown_machines(questions: Sequence[Scenario]) -> dict[str, str]:
    """Return how people are shown the machine files of questions: by their titles, or by their paths."""
    texts = [q.text for q in questions]
    return {path: path for text in texts for path in held(text)} | dict(shown_names(*texts))


def machine_of(q: Scenario, shown: Mapping[str, str] | None = None) -> str:
    """Name the machine of a question; of a map of machines all of them, of a table its base; see ``labelled``."""
    spec = q.machine
    known = shown or {}
    if spec is None or isinstance(spec, str):
        called = known.get(spec or "", spec or "")
        return Path(called).stem if shown is None and is_file(called) else called
    if "base" in spec:
        base = str(spec["base"])
        return f"{known.get(base, base)}, changed"
    parts = (
        v if isinstance(v, str) else str(v.get("base", ""))
        for v in spec.values()
        if isinstance(v, str | dict)
    )
    return " + ".join(known.get(p, p) for p in parts if p)


def _place_of_baseline(labels: Sequence[str], names: Sequence[str], baseline: str | int | None) -> int:
    if baseline is None:
        return 0
    if isinstance(baseline, int):
        if 0 <= baseline < len(labels):
            return baseline
    elif baseline in names:
        return names.index(baseline)
    else:
        wanted = Path(baseline).stem if baseline not in labels else baseline
        if wanted in labels:
            return labels.index(wanted)
    raise _comparison_mistake(
        "",
        f"none of the questions is called {shown(baseline)}",
        meant(str(baseline), names),
        "baseline (--baseline)",
    )


def _one_answer(q: Scenario) -> None:
    worlds.measured(q)
    if len(q.goals) > 1:
        right = "keep one objective; fronts are compared with `dse diff` of their stores"
        raise _comparison_mistake(q.file, "this scenario has several objectives", right, "objective")
    if q.sweep:
        right = "compare along one axis with --over PATH, or leave [sweep] out; of all points `dse sweep FILE -o STORE "
        right += "--baseline-machine NAME` keeps the ratio to the same question on another machine"
        raise _comparison_mistake(q.file, f"this scenario sweeps {', '.join(q.sweep)}", right, "sweep")


def _comparison_mistake(file: str, wrong: str, right: str, key: str = "") -> scenarios.ScenarioError:
    return scenarios.ScenarioError.of(file or "compare", key, wrong, right)
