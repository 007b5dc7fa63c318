"""Folders of the solvers import one another one way: no circle among them, imports in functions counted."""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST_MODULES = 15


@cache
def modules() -> Mapping[str, ast.Module]:
    files = sorted((ROOT / "solvers").rglob("*.py"))
    names = [".".join(f.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for f in files]
    return {name: ast.parse(f.read_text()) for name, f in zip(names, files, strict=True)}


def imported(tree: ast.Module, known: Mapping[str, object]) -> Iterator[str]:
    for x in ast.walk(tree):
        if isinstance(x, ast.ImportFrom) and x.module:
            yield from (n if (n := f"{x.module}.{a.name}") in known else x.module for a in x.names)
        elif isinstance(x, ast.Import):
            yield from (a.name for a in x.names)


def folder(module: str) -> str:
    """The folder that a module stands in; a module next to the folders stands for itself."""
    return module if module.count(".") == 1 else module.rpartition(".")[0]


def between_folders(found: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {}
    for name, tree in found.items():
        own = graph.setdefault(folder(name), set())
        own |= {folder(n) for n in imported(tree, found) if n in found} - {folder(name)}
    return graph


def test_no_circle_among_the_folders():
    assert list(TopologicalSorter(between_folders(modules())).static_order())


def test_a_circle_is_seen_through_an_import_in_a_function():
    found = {
        "solvers.a.low": ast.parse("def f():\n    from solvers.b import high"),
        "solvers.b.high": ast.parse("from solvers.a import low"),
    }
    with pytest.raises(CycleError):
        TopologicalSorter(between_folders(found)).prepare()


def test_no_folder_holds_too_many_modules():
    files = [f for f in (ROOT / "solvers").rglob("*.py") if f.name != "__init__.py"]
    counts = {d: sum(f.parent == d for f in files) for d in {f.parent for f in files}}
    assert {d.relative_to(ROOT): n for d, n in counts.items() if n > MOST_MODULES} == {}
