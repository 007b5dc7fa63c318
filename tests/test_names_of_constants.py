"""A constant's name says which number it is: no name stands for two numbers. The files are read, not imported."""

import ast
from collections.abc import Iterator

from own_modules import trees

FUNCTIONS = frozenset({"float", "int", "math.log", "math.log1p", "math.sqrt", "np.log1p"})


def constants() -> Iterator[tuple[str, str, str]]:
    """Go through the numbers that modules give a name to: name, file, and the number as it is written."""
    for path, tree in trees().items():
        for statement in tree.body:
            for name, value in named(statement):
                if name.isupper() and is_number(value):
                    yield name, path, ast.unparse(value)


def named(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Go through the names that a statement assigns, each with its value."""
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets: list[ast.expr] = [statement.target]
    elif isinstance(statement, ast.Assign):
        targets = statement.targets
    else:
        return
    value = statement.value
    for target in targets:
        if isinstance(target, ast.Name) and value is not None:
            yield target.id, value
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = zip(target.elts, value.elts, strict=True)
            yield from ((t.id, v) for t, v in pairs if isinstance(t, ast.Name))


def is_number(value: ast.expr) -> bool:
    """Tell whether an expression is a number that is written down here, perhaps as a formula of others."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    if isinstance(value, ast.UnaryOp):
        return is_number(value.operand)
    if isinstance(value, ast.BinOp):
        return all(is_number(v) or is_name(v) for v in (value.left, value.right))
    if isinstance(value, ast.Call):
        return ast.unparse(value.func) in FUNCTIONS and all(is_number(v) or is_name(v) for v in value.args)
    return False


def is_name(value: ast.expr) -> bool:
    return ast.unparse(value).rpartition(".")[2].isupper()


def test_no_name_stands_for_two_numbers() -> None:
    found: dict[str, dict[str, str]] = {}
    for name, file, value in constants():
        found.setdefault(name, {})[file] = value
    assert len(found) > 500
    assert {name: files for name, files in found.items() if len(set(files.values())) > 1} == {}
