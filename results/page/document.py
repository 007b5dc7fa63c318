"""The page itself: a template filled with escaped text, its script, its style and its numbers embedded."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.system.records import dataclass
from dse.system.streams import visible
from results.page.insides import Insides
from results.stores.files.storage import local, write_text
from results.stores.files.trouble import StoreError

if TYPE_CHECKING:
    from results.page.columns import Column, Table

SCRIPTS = ("page.js", "tables.js", "parallel.js", "insides.js", "front.js", "sweep.js")
ENDINGS = (".html", ".htm")
# bytes a page may have, and what its markup, style and scripts take of them
LARGEST_PAGE, FIXED_BYTES = 7_900_000, 200_000


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page below its pictures: paragraphs, pictures, tables (heading, columns, rows), verbatim text.

    ``pictures``: each as SVG, the same for a narrow screen, and what it shows in words.
    """

    heading: str
    text: Sequence[str] = ()
    tables: Sequence[tuple[str, Sequence[str], Sequence[Sequence[str]]]] = ()
    verbatim: str = ""
    pictures: Sequence[tuple[str, str, str]] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says. All of it is text: nothing in it becomes markup or code.

    ``headline``: the answer in one sentence. ``answer``: facts in a line each (name, words), the question first.
    ``question``: the question as mathematics.
    ``table``: all points, None for a single answer, which has its ``insides`` here; ``rates``: percent of its objective
    per percent of a limit or parameter, by name. ``first``, ``sections``: what stands before and behind the pictures.
    """

    title: str
    answer: Sequence[tuple[str, str]] = ()
    question: str = ""
    table: Table | None = None
    first: Sequence[Section] = ()
    sections: Sequence[Section] = ()
    rates: Mapping[str, float] = field(default_factory=dict)
    headline: str = ""
    insides: Insides = field(default_factory=Insides)


def html(page: Page) -> str:
    """Return the page as one HTML document that needs nothing else."""
    from jinja2 import Environment
    from plotly.offline import get_plotlyjs

    own = files("results.page")
    made = Environment(autoescape=True, finalize=_without_controls, trim_blocks=True, lstrip_blocks=True)
    made.filters["base64"] = lambda text: base64.b64encode(text.encode()).decode()
    template = made.from_string(own.joinpath("page.html").read_text(encoding="utf-8"))
    shown = page.insides if page.table is None else page.table.insides
    drawn = page.table is not None or bool(page.rates or shown.sums or shown.roofs)
    library = get_plotlyjs().replace("</script", "<\\/script") if drawn else ""
    return template.render(
        page=page,
        kind="answer" if page.table is None else page.table.kind,
        shown=shown,
        style=own.joinpath("page.css").read_text(encoding="utf-8"),
        scripts=[own.joinpath(n).read_text(encoding="utf-8") for n in SCRIPTS],
        library=library,
        data=_embedded(page, LARGEST_PAGE - FIXED_BYTES - len(library.encode())),
    )


def _without_controls(value: Any) -> Any:
    """Return text without control characters; what is markup of ours stays."""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def check(file: str | Path) -> None:
    """Raise StoreError, before anything is computed, for a file that no browser would take for a page."""
    target = local(file)
    if target.suffix.lower() not in ENDINGS:
        raise StoreError(f"{target}: a report is a page, name it {target.stem}.html")


def save(page: Page, file: str | Path) -> Path:
    """Write the page to a file, which is replaced once all is written; StoreError where that cannot be done."""
    return write_text(file, html(page))


def _embedded(page: Page, room: int) -> str:
    """Return the numbers as JSON that no HTML parser takes for markup, in about ``room`` bytes."""
    data: dict[str, Any] = {"rates": dict(page.rates), "title": page.title, "insides": page.insides}
    if page.table is not None:
        data = {"title": page.title, "rates": {}} | _of_table(page.table, room)
    return visible(_json(data)).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_fields)


def _fields(record: Any) -> dict[str, Any]:
    """Return a record as a mapping, without a copy of what may be a million numbers."""
    return {f.name: getattr(record, f.name) for f in fields(record)}


def _of_table(table: Table, room: int) -> dict[str, Any]:
    """Return a table as plain data: what there is no room for is left out, metrics from the last one on."""
    small = _fields(table)
    del small["columns"], small["insides"]
    for key in ("status", "limits"):
        texts = list(dict.fromkeys(small[key]))
        place = {text: i for i, text in enumerate(texts)}
        small[key] = {"texts": texts, "codes": [place[text] for text in small[key]]}
    # nothing of the designs' insides is kept where it would drive out what can be filtered and sorted by
    insides, left = table.insides, room - len(_json(small))
    used = len(_json(insides))
    if used > left // 2:
        insides, used = Insides(), 0
    columns, dropped = [], []
    for column in table.columns:
        made = _column_as_data(column)
        used += len(_json(made))
        if used <= left or column.role in {"axis", "objective"}:
            columns.append(made)
        else:
            dropped.append(column.label)
    return small | {"columns": columns, "insides": insides, "dropped": dropped}


def _column_as_data(column: Column) -> dict[str, Any]:
    """Return a column as plain data, of one number where all are the same."""
    made = _fields(column)
    return made | {"values": made["values"][:1]} if len(set(column.values)) == 1 else made
