"""A model on a page: what goes in, what comes out, what always holds, made from the model itself."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from pathlib import Path

from dse.models.model import MACHINE_PREFIX, Model
from dse.models.registry import get, names
from dse.quantities import Quantity

_HEAD = ("name", "symbol", "unit", "domain", "meaning", "source")


def table(model: Model) -> str:
    """Return a model's quantities and limits as Markdown tables, with units, meanings and sources."""
    parts = [
        "## Inputs",
        _quantities(model.inputs, ""),
        "## Machine parameters",
        _quantities(model.machine, MACHINE_PREFIX),
        "## Metrics",
        _rows(
            ("name", "symbol", "unit", "meaning", "source"),
            [(f"`{q.name}`", q.symbol, q.unit, q.meaning, q.source) for q in model.metrics],
        ),
    ]
    if model.limits:
        rows = [(f"`{x.name}`", x.formula, x.meaning, x.source) for x in model.limits]
        parts += ["## Limits that always hold", _rows(("name", "limit", "meaning", "source"), rows)]
    return "\n\n".join(parts) + "\n"


def page(model: Model) -> str:
    """Return a model's whole page: title, source, the equations in words, and its tables."""
    said = inspect.getdoc(model.equations) or ""
    parts = (
        f"# {model.name}: {model.title}",
        f"Source: {model.source}.",
        said,
        model.notes.strip(),
        table(model),
    )
    return "\n\n".join(part for part in parts if part)


def write(folder: Path) -> None:
    """Write the page of every model to ``folder``, one ``<name>.md`` each."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names():
        (folder / f"{name}.md").write_text(page(get(name)), encoding="utf-8")


def domain(q: Quantity) -> str:
    """Return a quantity's domain, default and whether it may be absent, in words."""
    if q.choices:
        text = " or ".join(q.choices)
    elif math.isfinite(q.maximum):
        text = f"{q.minimum:g} to {q.maximum:g}"
    else:
        text = f"at least {q.minimum:g}"
    if q.default is not None:
        text += f"; default {q.default if isinstance(q.default, str) else format(q.default, '.6g')}"
    return text + ("; may be absent" if q.optional else "")


def _quantities(quantities: Iterable[Quantity], prefix: str) -> str:
    rows = [(f"`{prefix}{q.name}`", q.symbol, q.unit, domain(q), q.meaning, q.source) for q in quantities]
    return _rows(_HEAD, rows)


def _rows(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell or "–" for cell in line) + " |" for line in lines)
