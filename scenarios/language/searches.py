"""What [search] asks for, checked against the rest of the scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from scenarios.language.errors import Findings, ScenarioError
from scenarios.language.scenario import Scenario
from scenarios.language.schema import Searching, Shape
from scenarios.question import ONE_OBJECTIVE, SAMPLERS, Search


def search(shape: Shape) -> Search | None:
    """Return how a scenario is searched; None where it does not ask for it."""
    asked = shape.search
    if asked is None:
        return None
    return Search(
        asked.sampler,
        asked.trials,
        asked.seed,
        asked.storage or "",
        asked.study,
        asked.workers,
        asked.compare,
    )


def check(shape: Shape, findings: Findings) -> None:
    """Note what a search cannot do for this scenario."""
    asked, goals = shape.search, shape.goals
    if asked is None:
        return
    if asked.sampler in ONE_OBJECTIVE and len(goals) > 1:
        others = ", ".join(name for name in SAMPLERS if name not in ONE_OBJECTIVE)
        wrong = f"{asked.sampler} is for one objective, and there are {len(goals)}"
        findings.add("search.sampler", wrong, f"take one of {others}")
    if len(goals) > 1:
        # at each place of a front over axes there is a study of its own
        return
    if shape.sweep and asked.storage:
        wrong = "a sweep searches at every point by itself and keeps no trials"
        findings.add("search.storage", wrong, "leave storage out; a sweep's own store is continued")
    if shape.sweep and asked.workers > 1:
        wrong = "in a sweep every point is searched by one process"
        findings.add("search.workers", wrong, "leave it out; dse sweep --workers shares the points")


def study_at(search: Search, values: Mapping[str, float | str]) -> Search:
    """Return a search whose study is that of one place on swept axes: "dse, cap = 10000"."""
    told = ", ".join(f"{name} = {v if isinstance(v, str) else f'{v:.12g}'}" for name, v in values.items())
    return replace(search, study=f"{search.study}, {told}")


def searched(scenario: Scenario, asked: Mapping[str, Any]) -> Scenario:
    """Return a scenario that is searched as ``asked`` (keys of [search]), whatever else [search] in it says.

    None means not asked. Raises ScenarioError.
    """
    wanted = {name: value for name, value in asked.items() if value is not None}
    if not wanted:
        return scenario
    own = scenario.search.model_dump(exclude_none=True) if scenario.search is not None else {}
    merged = Scenario(model=scenario.model, kernels=scenario.kernels, search=own | wanted).search
    assert isinstance(merged, Searching), "it was asked for"
    made = scenario.model_copy(update={"search": merged})
    findings = Findings(scenario.file)
    check(made, findings)
    if findings.problems:
        raise ScenarioError(findings.problems)
    return made
