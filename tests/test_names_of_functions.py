"""A private function's name says what it returns: a short name that fits everywhere says it nowhere."""

import ast
from collections import defaultdict

from own_modules import trees

MOST_MODULES = 3


def implements_its_name(function: ast.FunctionDef) -> bool:
    """Tell whether a function registers what an operation is in one arithmetic, and has that operation's name."""
    name = function.name.removeprefix("_")
    registered = {f"arithmetic.{name}.register", f"arithmetic.register_{name}"}
    calls = (d for d in function.decorator_list if isinstance(d, ast.Call))
    return any(ast.unparse(d.func) in registered for d in calls)


def test_no_private_name_stands_in_many_modules() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path, tree in trees().items():
        for statement in tree.body:
            private = isinstance(statement, ast.FunctionDef) and statement.name.startswith("_")
            if private and not implements_its_name(statement):
                found[statement.name].append(path)
    assert len(found) > 2000
    assert {name: files for name, files in found.items() if len(files) > MOST_MODULES} == {}
