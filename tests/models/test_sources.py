"""Equations as checksums: they change with the equations and with nothing else."""

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import dse.models
from dse.models import Model
from dse.models.described.sources import _hash, _statements, fingerprints
from dse.quantities import Quantity


def test_a_model_is_its_module_and_what_that_imports():
    found = fingerprints(dse.models.get("nbody"))
    assert {
        "dse.models.algorithms.nbody",
        "dse.models.algorithms.distributed",
        "dse.models.arithmetic",
    } <= set(found)
    assert "dse.models.algorithms.fft" not in found
    assert found == fingerprints(dse.models.get("nbody"))


def test_models_that_are_expanded_are_what_expands_them():
    assert "dse.models.partitions.partition" in fingerprints(dse.models.get("partition"))
    assert "dse.models.platforms.dvfs_phases" in fingerprints(dse.models.get("dvfs"))


def test_only_statements_count():
    plain = "def f(x):\n    return x + 1\n"
    told = '"""Why."""\n# a comment\ndef f(x):\n    """More."""\n    return (x\n            + 1)\n'
    other = plain.replace("1", "2")
    sums = [_hash(_statements(ast.parse(text))) for text in (plain, told, other)]
    assert sums[0] == sums[1] != sums[2]


def made(equations: Any) -> Model:
    one = Quantity("x", "x", "", "an input")
    return Model("own", "own", "here", (), (one,), (Quantity("y", "y", "", "an output"),), (), equations)


def test_a_model_of_ones_own_is_what_it_declares_and_computes():
    def plus(g: Any) -> Mapping[str, Any]:
        return {"y": g.x + 1.0}

    model = made(plus)
    assert set(fingerprints(model)) == {"own"}
    renamed = replace(model, metrics=(Quantity("z", "y", "", "an output"),))
    assert fingerprints(renamed) != fingerprints(model)


def test_equations_without_a_file_are_told_apart_too():
    def compiled(text: str) -> Any:
        space: dict[str, Any] = {"__name__": "a notebook"}
        exec(compile(f"def equations(g):\n    return {{'y': {text}}}", "<cell>", "exec"), space)
        return made(space["equations"])

    first, same, other = (fingerprints(compiled(text)) for text in ("g.x + 1.0", "g.x + 1.0", "g.x + 2.0"))
    assert first == same != other
