"""A comparison as a page and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from results import axes, page, plot
from results.page import Page, Section

if TYPE_CHECKING:
    from results.side_by_side.comparison import Comparison


def save(found: Comparison, file: str | Path) -> Path:
    """Write one self-contained page; raises OSError where it cannot be written."""
    head, sections = found.table()
    tables = [(name, head, rows) for name, rows in sections]
    base = found.sides[found.baseline].name
    notes = [f"At {found.where}."] if found.where else []
    notes += [f"Ratios are to {base}.", *(f"Not compared: {n}." for n in found.not_shared())]
    curve = found.curve
    first = [Section("Side by side", notes, tables)]
    if curve is not None:
        first.append(Section(f"Along {curve.path}", curve.sentences()))
    made = Page(
        title=f"{' and '.join(s.name for s in found.sides)}",
        answer=[(s.name, s.solution.title or s.file) for s in found.sides],
        table=None if curve is None else page.of_dataset(curve.to_dataset(found.baseline)),
        first=first,
        sections=[
            Section(f"Question: {s.name}", [s.solution.certificate], (), s.solution.scenario)
            for s in found.sides
        ],
    )
    return page.save(made, file)


def picture(found: Comparison, file: str | Path) -> Path:
    """Draw the curves, with a line where one overtakes the baseline; raises StoreError where it cannot be written."""
    curve = found.curve
    assert curve is not None, "without curves there is nothing to draw"
    dataset = curve.to_dataset(found.baseline)
    figure = plot.sweep(dataset)
    panel, along = figure.axes[0], str(dataset["objective"].dims[0])
    told = axes.words(curve.path.removeprefix("given."))
    panel.set_xlabel(panel.get_xlabel().replace(axes.words(along), told, 1))
    return plot.save(figure, Path(file), dataset.attrs)
