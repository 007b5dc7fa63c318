"""A dataset as a notebook shows it through ``dataset.dse``: the answer in a sentence, its picture, its designs."""

from __future__ import annotations

import base64
import html
import io
from typing import TYPE_CHECKING

import numpy as np

from results import page, plot
from results.summaries import headlines

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

MOST_NOTEBOOK_ROWS = 12
MOST_NOTEBOOK_COLUMNS = 10


def to_html(dataset: xr.Dataset, pictures: tuple[str, ...]) -> str:
    """Return a front or sweep as HTML; ``pictures``: the names of those that it can show. All text is escaped."""
    told = headlines.of_dataset(dataset)
    parts = (
        [f"<h4>{html.escape(str(dataset.attrs.get('title', '')))}</h4>"] if dataset.attrs.get("title") else []
    )
    parts += [f"<p><strong>{html.escape(told)}</strong></p>"] if told else []
    shown = next((n for n in pictures if n in {"front", "sweep"}), "")
    if shown:
        try:
            parts.append(_picture(getattr(plot, shown)(dataset)))
        except ValueError as problem:
            # more axes than a picture has: the message says what to choose
            parts.append(f"<p>{html.escape(str(problem))}</p>")
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
    lines = []
    for i in rows.tolist():
        cells = [str(i), found.status[i]]
        for c in columns:
            value = c.values[i]
            cells.append("–" if value is None else c.labels[int(value)] if c.labels else f"{value:.6g}")
        lines.append("".join(f"<td>{html.escape(t)}</td>" for t in cells))
    of = len(found.status) + found.left_out
    more = f"<p>{len(rows)} of {of} designs</p>" if len(rows) < of else ""
    head = "".join(f"<th>{html.escape(t)}</th>" for t in heads)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
