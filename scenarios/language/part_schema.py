"""The JSON Schema of the parts of a scenario, for editors."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from itertools import pairwise
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from scenarios.language.parts import Check, Ends, Part, kinds

_PLAIN = {float: "number", int: "integer", str: "string", bool: "boolean", type(None): "null"}


def schema(part: type[Part]) -> dict[str, Any]:
    """Return the schema of a part, with those of the parts inside it under ``$defs``."""
    inner: dict[str, type[Part]] = {}
    made = _object(part, inner)
    done: dict[str, Any] = {}
    while open_ones := [n for n in inner if n not in done]:
        done |= {n: _object(inner[n], inner) for n in open_ones}
    return {"$defs": dict(sorted(done.items())), **made} if done else made


def _object(part: type[Part], inner: dict[str, type[Part]]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    others: Any = False
    abouts = about_keys(part)
    for name, kind in kinds(part).items():
        entry = _reference_to_part(kind, inner)
        if name == part._others:
            others = entry["additionalProperties"]
            continue
        default = part.model_fields[name]
        if not isinstance(default, Part):
            entry["default"] = list(default) if isinstance(default, tuple) else default
        if name in abouts:
            entry["description"] = abouts[name]
        if "$ref" not in str(entry.get("anyOf", "")):
            entry["title"] = name.replace("_", " ").title()
        told[name] = dict(sorted(entry.items()))
    return {
        **({"minProperties": part._least} if part._least else {}),
        "additionalProperties": others,
        "description": inspect.getdoc(part),
        "properties": told,
        "title": part.__name__,
        "type": "object",
    }


def _reference_to_part(kind: Any, inner: dict[str, type[Part]]) -> dict[str, Any]:
    if isinstance(kind, Ends):
        return {"type": "number"} | {k: v for k, v in kind._asdict().items() if v is not None}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _reference_to_part(next(k for k in arguments[1:] if isinstance(k, Check)).shown, inner)
    if origin in (Union, types.UnionType):
        entries: list[dict[str, Any]] = []
        for k in arguments:
            entry = _reference_to_part(k, inner)
            entries += [e for e in entry.get("anyOf", [entry]) if e not in entries]
        return {"anyOf": entries}
    if origin is Literal:
        return {"enum": list(arguments), "type": "string"}
    if origin is dict:
        return {"additionalProperties": _reference_to_part(arguments[1], inner), "type": "object"}
    if origin in (list, tuple):
        return {"items": _reference_to_part(arguments[0], inner), "type": "array"}
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    inner[kind.__name__] = kind
    return {"$ref": f"#/$defs/{kind.__name__}"}


def about_keys(part: type[Part]) -> dict[str, str]:
    """Return the text below each key in the source of a part and of the parts that it is made from."""
    found: dict[str, str] = {}
    for base in reversed(part.__mro__):
        if not issubclass(base, Part) or base is Part:
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        lines = body.body if isinstance(body, ast.ClassDef) else []
        for line, below in pairwise(lines):
            text = below.value if isinstance(below, ast.Expr) else None
            name = line.target if isinstance(line, ast.AnnAssign) else None
            said = isinstance(text, ast.Constant) and isinstance(text.value, str)
            if isinstance(name, ast.Name) and isinstance(text, ast.Constant) and said:
                found[name.id.rstrip("_")] = inspect.cleandoc(str(text.value))
    return found
