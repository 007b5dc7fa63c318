"""The page itself: a template filled with escaped text, its script, its style and its numbers embedded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from results import along

if TYPE_CHECKING:
    from results.page.columns import Table


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page below its pictures: paragraphs, then tables (heading, columns, rows), then verbatim text."""

    heading: str
    text: Sequence[str] = ()
    tables: Sequence[tuple[str, Sequence[str], Sequence[Sequence[str]]]] = ()
    verbatim: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says. All of it is text: nothing in it becomes markup or code.

    ``answer``: facts in a line each (name, words). ``question``: the question in words. ``table``: all points, None for
    a single answer. ``rates``: percent of the objective per percent of a limit or parameter, by name.
    """

    title: str
    answer: Sequence[tuple[str, str]] = ()
    question: str = ""
    table: Table | None = None
    sections: Sequence[Section] = ()
    rates: Mapping[str, float] = field(default_factory=dict)


def html(page: Page) -> str:
    """Return the page as one HTML document that needs nothing else."""
    from jinja2 import Environment
    from plotly.offline import get_plotlyjs

    own = files("results.page")
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        own.joinpath("page.html").read_text(encoding="utf-8")
    )
    drawn = page.table is not None or bool(page.rates)
    return template.render(
        page=page,
        kind="answer" if page.table is None else page.table.kind,
        style=own.joinpath("page.css").read_text(encoding="utf-8"),
        scripts=[own.joinpath(n).read_text(encoding="utf-8") for n in ("page.js", "front.js", "sweep.js")],
        library=get_plotlyjs().replace("</script", "<\\/script") if drawn else "",
        data=_embedded(page),
    )


def save(page: Page, file: str | Path) -> Path:
    """Write the page to a file; raises OSError where that cannot be written."""
    target = Path(file)
    target.write_text(html(page), encoding="utf-8")
    return target


def _embedded(page: Page) -> str:
    """Return the numbers as JSON that no HTML parser takes for markup."""
    data: dict[str, Any] = {"rates": dict(page.rates), "title": page.title}
    if page.table is not None:
        data |= asdict(page.table) | _extras(page.table)
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _extras(table: Table) -> dict[str, Any]:
    """Exchange rates and the knee of a front of two objectives."""
    goals = [c for c in table.columns if c.role == "objective" and not c.labels]
    if table.kind != "front" or len(goals) != 2:
        return {"exchange": [], "knee": None}
    a, b = (np.array([np.nan if v is None else v for v in c.values]) for c in goals)
    rates = [None if np.isnan(r) else float(f"{r:.4g}") for r in along.exchange_rates(a, b)]
    return {"exchange": rates, "knee": along.knee(a, b)}
