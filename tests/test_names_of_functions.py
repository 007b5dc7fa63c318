"""A private function's name says what it returns: a short name that fits everywhere says it nowhere."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
OWN = ("dse", "scenarios", "formulations", "solvers", "results")
MOST_MODULES = 3


def test_no_private_name_stands_in_many_modules() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(p for package in OWN for p in (ROOT / package).rglob("*.py")):
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.FunctionDef) and statement.name.startswith("_"):
                found[statement.name].append(str(path.relative_to(ROOT)))
    assert len(found) > 1500
    assert {name: files for name, files in found.items() if len(files) > MOST_MODULES} == {}
