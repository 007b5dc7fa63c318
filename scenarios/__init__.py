"""What is asked: the scenario language.

``load`` reads a scenario; ``grid`` and ``scenarios.questions.question`` turn it into what formulations take.
The function ``question`` is not offered here: ``scenarios.question`` is the module of the class it returns.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scenarios.language.errors import Problem, ScenarioError
    from scenarios.language.ready import library
    from scenarios.language.scenario import Scenario
    from scenarios.loading import from_text, load
    from scenarios.questions import grid
    from scenarios.sweep.grids import Grid, GridAxis
    from scenarios.templates.templates import json_schema, template

__all__ = [
    "Grid",
    "GridAxis",
    "Problem",
    "Scenario",
    "ScenarioError",
    "from_text",
    "grid",
    "json_schema",
    "library",
    "load",
    "template",
]

# imported when first asked for: `scenarios.question` needs none of it
_HOMES = {
    "Grid": "sweep.grids",
    "GridAxis": "sweep.grids",
    "Problem": "language.errors",
    "Scenario": "language.scenario",
    "ScenarioError": "language.errors",
    "from_text": "loading",
    "grid": "questions",
    "json_schema": "templates.templates",
    "library": "language.ready",
    "load": "loading",
    "template": "templates.templates",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
