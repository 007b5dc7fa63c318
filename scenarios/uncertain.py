"""Questions with uncertain numbers: what is uncertain, worlds drawn from it, and the same question in each world."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scenarios.distributions import Joint, Marginal, Measure, Sampling, Uncertain
from scenarios.language.errors import ScenarioError
from scenarios.language.machine_files import pin_lines
from scenarios.language.scenario import Scenario, scenario
from scenarios.language.tables import MARK, Cells, Table, checksum
from scenarios.language.toml_text import to_toml
from scenarios.questions import grid, question
from scenarios.uncertainty.chances import AXIS, with_medians
from scenarios.uncertainty.drawing import box, draw
from scenarios.uncertainty.measured import KINDS
from scenarios.uncertainty.promises import JOINT, least_samples

if TYPE_CHECKING:
    from scenarios.distributions import Array
    from scenarios.question import Question

__all__ = [
    "AXIS",
    "CORRELATED",
    "Joint",
    "Marginal",
    "Measure",
    "Sampling",
    "Uncertain",
    "at_samples",
    "box",
    "draw",
    "least_samples",
    "nominal",
    "of_measures",
    "refuse",
    "told_of",
    "uncertain_of",
]
CORRELATED = ", correlation "
"""Stands before the correlations in the line that says how worlds were drawn."""
_OF_MEASURE = (*KINDS, "measures")
_OF_LIMIT = ("probability", "confidence", "worst")


def uncertain_of(asked: Scenario) -> Uncertain | None:
    """Return what is uncertain in a scenario; None where nothing is. Raises ScenarioError.

    Also where the distributions differ along an axis, such as those of the machines that are swept.
    """
    if asked.uncertain is None:
        return None
    found = [base.uncertain for base in grid(asked).bases.values()]
    if any(u != found[0] for u in found):
        raise ScenarioError.of(
            asked.file,
            "uncertain",
            "what is uncertain differs between the machines that are swept",
            "write distributions that hold for all of them, or ask for one machine",
        )
    return found[0]


def refuse(asked: Scenario, what: str) -> None:
    """Raise ScenarioError where something is uncertain, which ``what`` ("a front") is not made for."""
    if asked.uncertain is None:
        return
    raise ScenarioError.of(
        asked.file,
        "uncertain",
        f"numbers are uncertain here, and {what} takes each as known",
        "use `dse uncertainty FILE`; or take [uncertain] and what belongs to it out",
    )


def nominal(asked: Scenario) -> Question:
    """Return the question with the values in the file or the catalogue in place of what is uncertain.

    What has neither counts as its median. Raises ScenarioError.
    """
    uncertain = uncertain_of(asked)
    if uncertain is None:
        return question(asked)
    line = "# every uncertain number at its nominal value\n"
    return with_medians(question(_scenario_with(asked, _certain(asked), line, {})), uncertain)


def at_samples(asked: Scenario, samples: Mapping[str, Array], told: str = "") -> Scenario:
    """Return the scenario in each of some worlds: an axis ``sample`` in place of [uncertain].

    ``samples``: SI values by path, entry i of each is world i (as ``draw`` gives them); ``told``: one line for the
    text that says where they are from. What is decided is then decided in each world by itself: the measure is gone,
    and each limit holds in each world.
    """
    import numpy as np

    data = _certain(asked)
    columns = {p: Cells(np.asarray(v, float)) for p, v in samples.items()}
    table = Table(MARK + checksum(columns), columns)
    axis = {"table": table.name, "columns": {p: p for p in columns}}
    data["sweep"] = {AXIS: axis, **data.get("sweep", {})}
    return _scenario_with(asked, data, f"# {told}\n" if told else "", {table.name: table})


def told_of(sampling: Sampling, first: int, count: int) -> str:
    """Say in a line how worlds were drawn."""
    pairs = f"{CORRELATED}{json.dumps(sampling.correlation)}" if sampling.correlation else ""
    return f"worlds {first + 1} to {first + count}: {sampling.method}, seed {sampling.seed}{pairs}"


def _certain(asked: Scenario) -> dict[str, Any]:
    """Return what a scenario says without what is uncertain, and what depends on it."""
    data = asked.model_dump(exclude_defaults=True, exclude_none=True, exclude={"uncertain"})
    goal = {k: v for k, v in data.get("objective", {}).items() if k not in _OF_MEASURE}
    measures = {} if asked.objective is None else asked.objective.measures
    for way in ("minimize", "maximize"):
        if way in goal:
            # a world has no distribution: what is judged by two measures is one metric there
            plain = (measures[n].of if n in measures else n for n in goal[way])
            goal[way] = tuple(dict.fromkeys(plain))
    limits = {
        name: {k: v for k, v in entry.items() if k not in _OF_LIMIT}
        for name, entry in data.get("limits", {}).items()
        if (name != JOINT or "of" not in entry) and name not in measures
    }
    own, defined = data.get("limits", {}), dict(data.get("define", {}))
    for name, of, alone in of_measures(asked):
        limits[of if alone else name] = {k: v for k, v in own[name].items() if k not in _OF_LIMIT}
        defined |= {} if alone else {name: of}
    return {
        **data,
        **({"define": defined} if defined else {}),
        **({"objective": goal} if goal else {}),
        **({"limits": limits} if "limits" in data else {}),
    }


def of_measures(asked: Scenario) -> tuple[tuple[str, str, bool], ...]:
    """Return the limits on measures: name, metric, and whether there is no other limit on that metric.

    In one world a measure is what it measures.
    """
    measures = {} if asked.objective is None else asked.objective.measures
    named = [(n, measures[n].of) for n in asked.limits if n in measures and n != JOINT]
    metrics = [of for _, of in named]
    return tuple((n, of, of not in asked.limits and metrics.count(of) == 1) for n, of in named)


def _scenario_with(asked: Scenario, data: dict[str, Any], line: str, tables: Mapping[str, Table]) -> Scenario:
    text = to_toml(data) + line + pin_lines(asked.text)
    return scenario(data, asked.file, text, {**asked.tables, **tables})
