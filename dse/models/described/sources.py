"""What a model's equations are, as checksums: so that a stored sweep is not continued with other equations.

Counted are the statements of the modules that a model is made of: its own and those of ``dse.models`` that it
imports. Comments, layout and docstrings are not.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Any

from dse.models.described.fitted import fit_of
from dse.models.model import Model

PACKAGE = "dse.models"
DIGEST_DIGITS = 12


def fingerprints(model: Model) -> dict[str, str]:
    """Return a checksum of each module that a model is made of, by the module's name.

    A model of one's own has one of what it declares and of its equations as they are compiled, where its module
    cannot be read (a notebook).
    """
    parts = [f for f in (model.equations, model.expand, model.needs, model.unused) if f is not None]
    modules = {str(getattr(f, "__module__", "")) for f in parts}
    if all(m.startswith(f"{PACKAGE}.") for m in modules):
        found = {name: _of_module(name) for name in sorted(set().union(*map(_used, modules)))}
        fit = fit_of(model)
        return found | ({f"fitted {model.name}": fit.digest[:DIGEST_DIGITS]} if fit is not None else {})
    try:
        source = inspect.getsource(inspect.getmodule(model.equations) or model.equations)
        told = _statements(ast.parse(source))
    except (OSError, TypeError, SyntaxError):
        told = _compiled_contents(getattr(model.equations, "__code__", None))
    return {model.name: _hash([_declared(model), told])}


@cache
def _used(module: str) -> frozenset[str]:
    """Return a module and all of the package that it imports, directly or not."""
    found, waiting = {module}, [module]
    while waiting:
        for name in _imports(waiting.pop()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return frozenset(found)


@cache
def _tree(module: str) -> ast.Module:
    spec = find_spec(module)
    assert spec is not None, "a module that was imported can be found"
    assert spec.origin is not None, "our modules are files"
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))


def _imports(module: str) -> Iterator[str]:
    """Go through the modules of the package that a module imports (also inside its functions)."""
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            # what is imported from a package may be a module of it
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from (n for n in names if n.startswith(f"{PACKAGE}.") and _is_module(n))


@cache
def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@cache
def _of_module(name: str) -> str:
    return _hash(_statements(_tree(name)))


def _statements(node: Any) -> Any:
    """Return a syntax tree as lists, without docstrings and whatever versions of Python add to it as empty."""
    if isinstance(node, list):
        return [_statements(n) for n in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = []
    for name, value in ast.iter_fields(node):
        kept = value[1:] if name == "body" and _documented(node) else value
        if kept is not None and kept != []:
            fields.append([name, _statements(kept)])
    return [type(node).__name__, fields]


def _documented(node: ast.AST) -> bool:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None


def _declared(model: Model) -> Any:
    parts: list[Any] = [*model.inputs, *model.machine, *model.metrics, *model.limits, *model.valid]
    return [model.name, [asdict(p) for p in parts]]


def _compiled_contents(code: Any) -> Any:
    """Return what a compiled function does: its instructions, names and constants, those inside it included."""
    if not isinstance(code, CodeType):
        return repr(type(code))
    return [
        code.co_code.hex(),
        list(code.co_names),
        [_compiled_contents(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts],
    ]


def _hash(what: Any) -> str:
    return hashlib.sha256(json.dumps(what, default=repr).encode()).hexdigest()[:DIGEST_DIGITS]
