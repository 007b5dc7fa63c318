"""The JSON Schema takes what the language takes: starters, library, lists, maps and nested tables."""

import math
import tomllib
from collections.abc import Mapping
from typing import Any

import pytest

from dse import models
from scenarios import json_schema, library, template

SCHEMA = json_schema()
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def within(value: float, schema: Mapping[str, Any]) -> bool:
    """Whether a number is within the ends that it has there."""
    return (
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and schema.get("exclusiveMinimum", -math.inf) < value < schema.get("exclusiveMaximum", math.inf)
        and not ("multipleOf" in schema and value % schema["multipleOf"])
    )


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value has the shape that the part of JSON Schema used here allows."""
    if "$ref" in schema:
        return fits(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema and not any(fits(value, s) for s in schema["anyOf"]):
        return False
    if not all(key in value for key in schema.get("required", ())):
        return False
    kind = schema.get("type")
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool) and within(value, schema)
    if kind is not None and not isinstance(value, TYPES[kind]):
        return False
    if kind == "array":
        return all(fits(v, schema["items"]) for v in value)
    if kind == "object":
        if len(value) < schema.get("minProperties", 0):
            return False
        own, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        rest = {k: v for k, v in value.items() if k not in own}
        known = all(fits(v, own[k]) for k, v in value.items() if k in own)
        return known and (
            others is True or all(others is not False and fits(v, others) for v in rest.values())
        )
    return True


@pytest.mark.parametrize("model", models.names())
def test_starters_fit(model: str) -> None:
    assert fits(tomllib.loads(template(model)), SCHEMA)


@pytest.mark.parametrize("name", library())
def test_the_library_fits(name: str) -> None:
    assert fits(tomllib.loads(library()[name].read_text(encoding="utf-8")), SCHEMA)


@pytest.mark.parametrize(
    "part",
    [
        {"machine": {"cpu": "i7-2600k", "gpu": {"base": "x", "usable_power": "5 W"}}},
        {"machine": {"flops_per_cycle": 2, "settings": [{"name": "a", "constant_power": 1}]}},
        {"given": {"phases": [{"name": "a", "times": [1, "2 s"]}, {"times": {"low": 1}, "whole": True}]}},
        {"given": {"count": {"gpu": 3}}},
        {"decide": {"count": {"gpu": {"max": 3}}, "share": {"a": {"cpu": {}}}}},
        {"decide": {"machine": {"cpu": {"energy_per_flop": {"max_halvings": 2}}}}},
        {"limits": {"time": {"cpu": {"max": "1 s"}}}},
        {"kernels": [{"name": "a", "model": "fft", "given": {"points": 3}, "repeat": 2}], "idle": "on"},
        {"kernels": [{"name": "a", "workload": "spmv", "size": 3}], "overlap": True},
        {
            "given": {
                "lifetime": "4 yr",
                "grid": "usa",
                "utilisation": 0.5,
                "electricity_price": "0.2 USD/kWh",
            }
        },
        {"given": {"grid": 3, "power_usage_effectiveness": 1.2, "carbon_intensity": "400 g/kWh"}},
        {"objective": {"minimize": "time", "ties": ["cost", "time"]}, "valid": True},
        {"sweep": {"a": {"paths": {"bodies": [1, 2], "machine": ["x", "y"]}}}},
        {"sweep": {"a": {"table": "points.csv", "columns": {"bodies": "n"}}}},
    ],
)
def test_lists_maps_and_nested_tables_fit(part: Any) -> None:
    assert fits({"model": "partition"} | part, SCHEMA)


@pytest.mark.parametrize(
    "part",
    [
        {"decide": {"count": {"gpu": {"mx": 3}}}},
        {"decide": {"count": 3}},
        {"limits": {"time": {"cpu": 3}}},
        {"given": {"regions": [3]}},
        {"machine": 3},
        {"objectiv": {}},
        {"kernels": {"name": "a"}},
        {"kernels": [{"nam": "a"}]},
        {"idle": 3},
        {"valid": "yes"},
        {"given": {"lifetime": [4]}},
        {"objective": {"ties": 3}},
        {"sweep": {"a": {"paths": [1, 2]}}},
        {"sweep": {"a": {"table": 3}}},
        {"limits": {"time": {}}},
        {"objective": {}},
        {"objective": {"minimize": "time", "quantile": -1.95}},
        {"objective": {"minimize": "time", "cvar": 1}},
        {"limits": {"time": {"max": 1, "probability": 0}}},
        {"uncertain": {"sampling": {"samples": -513}}},
        {"uncertain": {"sampling": {"seed": 1.5}}},
        {"search": {"trials": 0}},
        {"kernels": [{"name": "a", "model": "fft", "repeat": -51}]},
    ],
)
def test_what_the_language_refuses_does_not_fit(part: Any) -> None:
    assert not fits({"model": "partition"} | part, SCHEMA)


def test_a_question_has_a_model_or_kernels() -> None:
    assert fits({"kernels": [{"name": "a", "workload": "spmv"}]}, SCHEMA)
    assert not fits({"title": "neither"}, SCHEMA)
