"""A dataset as a notebook shows it through ``dataset.dse``: the answer in a sentence, its picture, its designs."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING

import numpy as np

from results import page, plot
from results.along_fronts.variable_names import FRONT
from results.page.columns import Column
from results.summaries import headlines
from results.telling.parts import html_table, safe

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

MOST_NOTEBOOK_ROWS = 12
MOST_NOTEBOOK_COLUMNS = 10


def to_html(dataset: xr.Dataset, pictures: tuple[str, ...]) -> str:
    """Return a front or sweep as HTML; ``pictures``: the names of those that it can show. All text is escaped."""
    told = headlines.of_dataset(dataset)
    title = str(dataset.attrs.get("title", ""))
    parts = [f"<h4>{safe(title)}</h4>"] if title else []
    parts += [f"<p><strong>{safe(told)}</strong></p>"] if told else []
    shown = next((n for n in pictures if n in {"front", "sweep"}), "")
    if shown:
        try:
            parts.append(_picture(getattr(plot, shown)(dataset)))
        except ValueError as problem:
            # more axes than a picture has: the message says what to choose
            parts.append(f"<p>{safe(str(problem))}</p>")
    if "status" in dataset:
        parts.append(_design_table(dataset))
    names = ", ".join(f"<code>.dse.{n}()</code>" for n in pictures) or "none"
    parts.append(
        f"<p>Pictures: {names}. <code>dse.report(dataset, 'page.html')</code> writes an interactive page.</p>"
    )
    return f'<div class="dse-dataset">{"".join(parts)}</div>'


def _picture(figure: Figure) -> str:
    kept = io.BytesIO()
    figure.savefig(kept, format="png", dpi=90)
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(kept.getvalue()).decode()}">'


def _design_table(dataset: xr.Dataset) -> str:
    """Return designs with their numbers; of many some evenly spread ones."""
    found = page.of_dataset(dataset, most=MOST_NOTEBOOK_ROWS * 100)
    rows = np.unique(
        np.linspace(0, max(len(found.status) - 1, 0), min(len(found.status), MOST_NOTEBOOK_ROWS))
        .round()
        .astype(int)
    )
    columns = found.columns[:MOST_NOTEBOOK_COLUMNS]
    heads = ["", "status", *(c.label + (f" ({c.unit})" if c.unit else "") for c in columns)]
    lines = [[str(i), found.status[i], *(_cell(c, i) for c in columns)] for i in rows.tolist()]
    of = len(found.status) + found.left_out
    many = f"{len(rows)} of {of} {'designs' if found.kind == FRONT else 'points'}"
    return html_table(heads, lines) + (f"<p>{many}</p>" if len(rows) < of else "")


def _cell(column: Column, row: int) -> str:
    value = column.values[row]
    if value is None:
        return "–"
    return column.labels[int(value)] if column.labels else f"{value:.6g}"
