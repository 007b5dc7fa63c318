"""A model on a page: what goes in, what comes out, what always holds, made from the model itself."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from dse.models.model import MACHINE_PREFIX, Model, Unknown
from dse.models.registry import built_in_names, get
from dse.models.shared import economics
from dse.models.shared.structure import Column, Structure
from dse.quantities import Quantity

ASKED = "Present if the question asks for `cost` or `carbon`, or gives an input that only they need"
VALID = (
    "With `valid = true` each is a limit called `valid.NAME`; without it an answer outside the range says so"
)
LIST_HEAD = ("key", "value", "meaning", "source")
_HEAD = ("name", "symbol", "unit", "domain", "meaning", "source")


def table(model: Model) -> str:
    """Return a model's quantities and limits as Markdown tables, with units, meanings and sources."""
    parts = [
        *(_lists(model.structure) if model.structure is not None else ()),
        "## Inputs",
        _quantities(model.inputs, "", unknowns(model)),
        "## Machine parameters",
        _quantities(model.machine, MACHINE_PREFIX, {}),
        "## Metrics",
        _markdown_table(
            ("name", "symbol", "unit", "meaning", "source"),
            [(f"`{q.name}`", q.symbol, q.unit, q.meaning, q.source) for q in model.metrics],
        ),
    ]
    if model.limits:
        rows = [(f"`{x.name}`", x.formula, x.meaning, x.source) for x in model.limits]
        parts += ["## Limits that always hold", _markdown_table(("name", "limit", "meaning", "source"), rows)]
    if model.valid:
        rows = [(f"`{x.name}`", x.formula, x.meaning, x.source) for x in model.valid]
        ranges = _markdown_table(("name", "limit", "meaning", "source"), rows)
        parts += ["## Range in which it was derived", f"{VALID}.", ranges]
    totals = economics.quantities(model)
    if totals:
        listed = [(f"`{name}`", q.unit, domain(q), q.meaning, q.source) for name, q in totals]
        titles = ("name", "unit", "domain", "meaning", "source")
        parts += ["## Cost and carbon", f"{ASKED}.", _markdown_table(titles, listed)]
    return "\n\n".join(parts) + "\n"


def page(model: Model) -> str:
    """Return a model's whole page: title, source, the equations in words, and its tables."""
    parts = (f"# {model.name}: {model.title}", f"Source: {model.source}.", equations(model), table(model))
    return "\n\n".join(part for part in parts if part)


def equations(model: Model) -> str:
    """Return what a model says of its equations, as it is written in its docstring and its notes."""
    # a model over lists has equations only once the lists are known
    plain = model.structure is None or model.structure.optional
    parts = (inspect.getdoc(model.equations) or "" if plain else "", model.notes.strip())
    return "\n\n".join(part for part in parts if part)


def documented(model: Model, docs: Path) -> str:
    """Return a model's page for the documentation: also what it assumes, and where its paper is in doubt.

    ``docs``: the folder with ``assumptions.md``, whose headings name models, and the ``papers``.
    """
    supposed = re.split(r"^## ", (docs / "assumptions.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[
        1:
    ]
    mine = [
        text
        for head, _, text in (s.partition("\n") for s in supposed)
        if model.name in re.findall(r"\w+", head)
    ]
    parts = [page(model).rstrip()]
    if mine:
        also = "[Assumptions and limits](../assumptions.md) lists those of all models."
        told = re.sub(r"\]\((?!https?:|#)", "](../", "\n\n".join(text.strip() for text in mine))
        parts.append(f"## Assumptions\n\n{told}\n\n{also}")
    papers = [
        p.stem
        for p in sorted((docs / "papers").glob("*.md"))
        if _lead(model.source) and _cited(p) == _lead(model.source)
    ]
    parts += [
        f"## Errata\n\n[The paper's page](../papers/{name}.md) lists errors and gaps of the paper, what is used "
        "instead, and the results that are reproduced."
        for name in papers
    ]
    return "\n\n".join(parts) + "\n"


def _cited(page: Path) -> tuple[str, ...] | None:
    return _lead(page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# "))


def _lead(citation: str) -> tuple[str, ...] | None:
    """First author and year of a citation such as "Choi et al. 2014 (1)"."""
    found = re.match(r"([\w-]+)\D*?(\d{4})\b", citation)
    return found.groups() if found else None


def write(folder: Path) -> None:
    """Write the page of every model that comes with dse to ``folder``, one ``<name>.md`` each.

    Where the folder lies in that of the documentation they also say what the model assumes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    docs = folder.parent
    inside = (docs / "assumptions.md").exists()
    for name in built_in_names():
        text = documented(get(name), docs) if inside else page(get(name))
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def unknowns(model: Model) -> dict[str, Unknown]:
    """Return the inputs that are decided wherever nothing else is said of them, by name."""
    return {u.name: u for u in model.unknowns}


def domain(q: Quantity, unknown: Unknown | None = None) -> str:
    """Return a quantity's domain, default and whether it may be absent or is then decided, in words."""
    if q.choices:
        text = " or ".join(q.choices)
    elif math.isfinite(q.maximum):
        text = f"{q.minimum:g} to {q.maximum:g}"
    else:
        text = f"{'above' if q.open else 'at least'} {q.minimum:g}"
    if q.default is not None:
        text += f"; default {q.default if isinstance(q.default, str) else _digits(q.default)}"
    if q.whole:
        text += "; whole where decided"
    if q.counted:
        text += "; real where decided"
    if unknown is not None:
        return f"{text}; decided unless given{', in whole numbers' if unknown.integer else ''}"
    return text + ("; may be absent" if q.optional else "")


def _lists(structure: Structure) -> list[str]:
    parts = ["## Lists"]
    for sentence, rows in lists(structure):
        parts += [sentence, _markdown_table(LIST_HEAD, rows)] if rows else [sentence]
    return parts


def lists(structure: Structure) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Return what a model takes beside numbers: tables of rows, a map of machines, a menu of settings.

    Each is a sentence, of tables with their rows (``LIST_HEAD`` says of what), names in backticks.
    """
    found: list[tuple[str, list[tuple[str, ...]]]] = []
    for rows in structure.tables:
        needed = "one at least" if rows.required else "may be left out"
        columns: list[tuple[str, ...]] = [("`name`", "text", f"name of the {rows.dimension}", "")]
        columns += [(f"`{q.name}`", value(q), q.meaning, q.source) for q in rows.numbers]
        columns += [(f"`{c.name}`", _kind_and_default(c), c.meaning, "") for c in rows.columns]
        sentence = f"`[[given.{rows.name}]]`, one per {rows.dimension} ({needed}): {rows.meaning}."
        found.append((sentence, columns))
    if structure.machines:
        sentence = (
            f"`[machine.<{structure.machines}>]`: a map of at least {structure.least} machines, one per "
            f"{structure.machines}, in order; a parameter x of `cpu` is `machine.cpu.x`."
        )
        found.append((sentence, []))
    if structure.settings:
        found.append(("The machine has a menu of settings (`[[settings]]` of its file).", []))
    return found


def value(q: Quantity, unknown: Unknown | None = None) -> str:
    """Return a quantity's unit and domain."""
    return domain(q) if q.choices else f"{q.unit or 'number'}; {domain(q, unknown)}"


def _digits(value: float) -> str:
    """Write a number with six digits, or with ten where six are not all of it."""
    short = format(value, ".6g")
    return short if float(short) == value else format(value, ".10g")


def _kind_and_default(column: Column) -> str:
    if column.refers:
        return f"name of one of the {column.refers}"
    return f"true or false; default {str(column.default).lower()}"


def _quantities(quantities: Iterable[Quantity], prefix: str, decided: Mapping[str, Unknown]) -> str:
    rows = [
        (f"`{prefix}{q.name}`", q.symbol, q.unit, domain(q, decided.get(q.name)), q.meaning, q.source)
        for q in quantities
    ]
    return _markdown_table(_HEAD, rows)


def _markdown_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(_markdown_cell(cell) or "–" for cell in line) + " |" for line in lines)


def _markdown_cell(text: str) -> str:
    # a placeholder such as <region> would be read as HTML
    return text if "`" in text else re.sub(r"<\w+>", r"`\g<0>`", text)
