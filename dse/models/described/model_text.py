"""The text of a model file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from dse.models.described.fitted import KIND, SOFTMAX, Fitted, Term
from dse.models.described.model_files import FORMAT


def written(fitted: Fitted, head: Sequence[str] = ()) -> str:
    """Return the text of a model file; ``head``: lines of comment at its top."""
    lines = [*(f"# {line}".rstrip() for line in head)]
    lines += [f"format = {FORMAT}", f'kind   = "{KIND}"', f"name   = {toml_string(fitted.name)}"]
    lines += [
        f"{k:6} = {toml_string(v)}" for k, v in (("title", fitted.title), ("source", fitted.source)) if v
    ]
    lines += [f"notes  = {toml_string(fitted.notes)}"] if fitted.notes else []
    lines += [f'form   = "{fitted.form}"']
    lines += [f"sharpness = {fitted.sharpness!r}"] if fitted.form == SOFTMAX else []
    lines += ["", "[target]", *_name_unit_meaning(fitted.target, fitted.unit, fitted.meaning)]
    for c in fitted.columns:
        lines += ["", f"[columns.{c.name}]", f"unit = {toml_string(c.unit)}"]
        lines += [f"least = {c.least!r}", f"greatest = {c.greatest!r}"]
        lines += [f"meaning = {toml_string(c.meaning)}"] if c.meaning else []
    for t in fitted.terms:
        lines += ["", "[[terms]]", *_term_lines(t)]
    for d in fitted.derived:
        lines += ["", "[[derived]]", *_name_unit_meaning(d.name, d.unit, d.meaning)]
        lines += ["terms = [", *(f"  {{ {', '.join(_term_lines(t))} }}," for t in d.terms), "]"]
    for f in fitted.hull:
        lines += ["", "[[hull]]", f"exponents = {_powers(f.exponents)}", f"greatest = {f.greatest!r}"]
    if fitted.error or fitted.residuals:
        lines += ["", "[error]", *(f"{k} = {_toml_literal(v)}" for k, v in fitted.error.items())]
        numbers = [f"{r:.5g}" if math.isfinite(r) else "0.0" for r in fitted.residuals]
        rows = [", ".join(numbers[i : i + 10]) for i in range(0, len(numbers), 10)]
        lines += ["residuals = [", *(f"  {row}," for row in rows), "]"] if rows else []
    return "\n".join(lines) + "\n"


def _name_unit_meaning(name: str, unit: str, meaning: str) -> list[str]:
    about = [f"meaning = {toml_string(meaning)}"] if meaning else []
    return [f"name = {toml_string(name)}", f"unit = {toml_string(unit)}", *about]


def _term_lines(t: Term) -> list[str]:
    lines = [f"coefficient = {t.coefficient!r}", f"exponents = {_powers(t.exponents)}"]
    lines += [f"group = {t.group}"] if t.group else []
    return lines + ([f"interval = [{t.interval[0]!r}, {t.interval[1]!r}]"] if t.interval else [])


def _powers(exponents: Mapping[str, float]) -> str:
    return "{ " + ", ".join(f"{n} = {float(e)!r}" for n, e in exponents.items()) + " }" if exponents else "{}"


def _toml_literal(value: Any) -> str:
    return toml_string(value) if isinstance(value, str) else repr(value)


def toml_string(text: str) -> str:
    """Return a text as TOML has it, in quotation marks."""
    # JSON escapes are TOML escapes, except that JSON leaves DEL as it stands
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
