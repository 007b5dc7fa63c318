"""Axes that number the rows of a table or of a file's lists: what stands in each row, in the place of its number."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from results import axes
from results.variables import COLUMNS

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

MOST_ROWS_NAMED = 8
"""Rows of which each has its contents below its tick."""
LINES_OF_INCH = 4.5
"""Lines of text that an inch of an axis up has room for."""
LAID_OUT = 1.15
"""By how much a panel is wider once it is laid out."""


def label_of_place(axis: xr.DataArray, place: int) -> str:
    """Write one value of an axis as a legend names a line; of a row its number and what stands in it."""
    if not axes.counts_rows(axis):
        return axes.value_label(axis, place)
    told = ", ".join(_told_cells(axis, place))
    return f"{axes.words(str(axis.name))} {int(axis.values[place])}" + (f": {told}" if told else "")


def tell_rows(panel: Axes, which: str, axis: xr.DataArray) -> None:
    """Say along an axis ("x" or "y") that is already dressed what its rows are; nothing along another one.

    Few rows have their contents below their numbers, of more the title says what they consist of.
    """
    if not axes.counts_rows(axis) or not _varying_columns(axis):
        return
    if axis.size <= MOST_ROWS_NAMED and _tell_each_row(panel, which, axis):
        return
    names = axes.shorten(
        ", ".join(axes.words(str(c.name)) for c in _varying_columns(axis)), 2 * axes.MOST_LETTERS
    )
    told = f"{axes.words(str(axis.name))} (rows of {names})"
    (panel.set_xlabel if which == "x" else panel.set_ylabel)(told)


def _tell_each_row(panel: Axes, which: str, axis: xr.DataArray) -> bool:
    """Write the contents of each row at its tick; false where there is no room for them."""
    figure = panel.get_figure(root=True)
    if figure is None:
        return False
    across = which == "x"
    cells = [[str(int(v)), *_told_cells(axis, i)] for i, v in enumerate(axis.values)]
    longest = max(len(text) for cell in cells for text in cell)
    place = panel.get_position()
    if across:
        fits = (1 + longest) * axis.size <= LAID_OUT * axes.LETTERS * place.width * figure.get_figwidth()
    else:
        # the number stands before the first of the lines
        cells = [[f"{number}: {first}", *rest] for number, first, *rest in cells]
        lines = sum(map(len, cells))
        fits = longest <= axes.MOST_LETTERS and lines <= LINES_OF_INCH * place.height * figure.get_figheight()
    if fits:
        settle = panel.set_xticks if across else panel.set_yticks
        settle(axes.places(axis), ["\n".join(cell) for cell in cells], parse_math=False)
    return bool(fits)


def _varying_columns(axis: xr.DataArray) -> list[xr.DataArray]:
    """Return the columns of rows that are not the same in all of them; all where none differs."""
    there = [axis.coords[n] for n in json.loads(axis.attrs[COLUMNS]) if n in axis.coords]
    every = [c for c in there if c.dims == axis.dims]
    return [c for c in every if len(set(c.values.tolist())) > 1] or every


def _told_cells(axis: xr.DataArray, place: int) -> list[str]:
    found = []
    for column in _varying_columns(axis):
        value = column.values[place]
        text = axes.shown_name(column, value) if axes.is_text(column) else axes.amount(float(value), column)
        found.append(f"{axes.words(str(column.name))} {text}")
    return found
