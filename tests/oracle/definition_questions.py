"""A question with definitions, changes of it, and its mistakes."""

import copy
from typing import Any

import pytest

import dse
from scenarios import ScenarioError
from scenarios.language.errors import Problem

PLAIN = {
    "model": "nbody",
    "machine": "jaketown",
    "given": {"bodies": 1e6, "flops_per_pair": 20},
    "decide": {"processors": {"max": 4096}, "memory": {}},
    "objective": {"minimize": "energy"},
}


def asked(**more: Any) -> dict[str, Any]:
    """Return a question with more said in some of its sections; None takes an entry out."""
    found = copy.deepcopy(PLAIN)
    for section, entries in more.items():
        both = (
            isinstance(entries, dict) and isinstance(found.get(section, {}), dict) and section != "objective"
        )
        found[section] = {**found.get(section, {}), **entries} if both else entries
        if both:
            found[section] = {k: v for k, v in found[section].items() if v is not None}
    return found


def mistakes(**more: Any) -> tuple[Problem, ...]:
    with pytest.raises(ScenarioError) as caught:
        dse.load(asked(**more))
    return caught.value.problems
