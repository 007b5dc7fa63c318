"""A dataset as a table in a document: Markdown or LaTeX."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.system.streams import visible
from results import flat
from results.stores.files.storage import replacing

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import xarray as xr

    from results.flat import Column

DOCUMENT_DIGITS = 6
WHY_INFEASIBLE = "why_infeasible"
"""Attribute of an answer without a design: why, and what would do, as JSON: heading, columns, rows of each table."""
_POWER = re.compile(r"(-?[0-9.]+)e([+-])0*([0-9]+)")
_TEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~]|&(?=#?\w+;))")


def to_markdown(
    dataset: xr.Dataset, path: str | os.PathLike[str], columns: Sequence[Column] | None = None
) -> Path:
    """Write a dataset as a Markdown table under its title, one row per point, units in the head.

    Of a single answer the table stands upright: a row for each quantity; of one without a design what conflicts and
    what would do stands below. What comes from a scenario is escaped.
    Raises StoreError where the file cannot be written.
    """
    head, rows, right = _head_and_rows(dataset, columns)
    with replacing(path) as writing, writing.open("w", encoding="utf-8") as file:
        file.write(f"**{_markdown(_title(dataset))}**\n\n" if _title(dataset) else "")
        file.write(_markdown_line(_markdown(h) for h in head))
        file.write(_markdown_line("---:" if r else "---" for r in right))
        for row in rows:
            file.write(_markdown_line(_markdown(cell) for cell in row))
        for heading, columns_below, rows_below in _why_infeasible(dataset):
            file.write(f"\n{_markdown(heading)}\n\n")
            file.write(_markdown_line(_markdown(cell) for cell in columns_below))
            file.write(_markdown_line("---" for _ in columns_below))
            file.writelines(_markdown_line(_markdown(cell) for cell in row) for row in rows_below)
        file.write(f"\n{_markdown(_origin(dataset))}\n")
    return Path(path)


def to_latex(
    dataset: xr.Dataset, path: str | os.PathLike[str], columns: Sequence[Column] | None = None
) -> Path:
    r"""Write a dataset as a LaTeX table for ``\input``, with the lines of the package booktabs.

    Otherwise as ``to_markdown``.
    """
    head, rows, right = _head_and_rows(dataset, columns)
    with replacing(path) as writing, writing.open("w", encoding="utf-8") as file:
        file.write(f"% {' '.join(visible(_origin(dataset)).split())}\n% needs \\usepackage{{booktabs}}\n")
        file.write("\\begin{table}\n  \\centering\n")
        file.write(f"  \\caption{{{_latex(_title(dataset))}}}\n" if _title(dataset) else "")
        file.writelines(_tabular("".join("r" if r else "l" for r in right), head, rows))
        for heading, columns_below, rows_below in _why_infeasible(dataset):
            file.write(f"\n  \\medskip\n  {_latex(heading)}\n\n  \\smallskip\n")
            file.writelines(_tabular("l" * len(columns_below), columns_below, rows_below))
        file.write("\\end{table}\n")
    return Path(path)


def _tabular(alignment: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"  \\begin{{tabular}}{{{alignment}}}\n    \\toprule\n"
    yield _ampersands(map(_latex, head)) + "    \\midrule\n"
    for row in rows:
        yield _ampersands(map(_latex, row))
    yield "    \\bottomrule\n  \\end{tabular}\n"


def _why_infeasible(dataset: xr.Dataset) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return the tables that say why an answer has no design: heading, columns and rows of each."""
    found: list[tuple[str, list[str], list[list[str]]]]
    found = json.loads(str(dataset.attrs.get(WHY_INFEASIBLE) or "[]"))
    return found


def _markdown_line(cells: Any) -> str:
    return f"| {' | '.join(cells)} |\n"


def _ampersands(cells: Any) -> str:
    row = " & ".join(cells)
    # a bracket after the end of the row before would be read as room between the rows
    return f"    {'{}' if row.startswith('[') else ''}{row} \\\\\n"


def _head_and_rows(
    dataset: xr.Dataset, columns: Sequence[Column] | None
) -> tuple[list[str], Iterator[list[str]], list[bool]]:
    """Return the head of the table, its rows, and which columns are numbers."""
    chosen = flat.columns(dataset) if columns is None else columns
    numbers = [c.words is None and not c.text for c in chosen]
    if flat.points(dataset):
        return [c.heading for c in chosen], _text_rows(dataset, chosen, _number_cell), numbers
    (row,) = _text_rows(dataset, chosen, _number_cell)
    upright = [
        [c.label, cell, "" if c.unit == "1" else c.unit] for c, cell in zip(chosen, row, strict=True) if cell
    ]
    return ["name", "value", "unit"], iter(upright), [False, True, False]


def _text_rows(
    dataset: xr.Dataset, columns: Sequence[Column], number: Callable[[float], str]
) -> Iterator[list[str]]:
    for piece in flat.rows(dataset):
        cells = [flat.in_words(flat.values(piece, c), c, "") for c in columns]
        for row in zip(*cells, strict=True):
            yield [cell if isinstance(cell, str) else number(cell) for cell in row]


def _number_cell(value: float) -> str:
    if math.isfinite(value) and float(value).is_integer() and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.{DOCUMENT_DIGITS}g}"


def _title(dataset: xr.Dataset) -> str:
    return " ".join(str(dataset.attrs.get("title", "")).split())


def _origin(dataset: xr.Dataset) -> str:
    """Say where a table comes from."""
    versions = json.loads(dataset.attrs.get("versions", "{}"))
    told = f"dse {versions['dse']}" if "dse" in versions else "dse"
    mark = str(dataset.attrs.get("scenario_hash", ""))[:16]
    source = " ".join(str(dataset.attrs.get("source", "")).split())
    parts = [told, f"model {dataset.attrs['model']} ({source})" if "model" in dataset.attrs else source]
    return ", ".join(p for p in (*parts, f"scenario {mark}" if mark else "") if p)


def _markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", " ".join(visible(text).split()))


def _latex(text: str) -> str:
    """Escape text for LaTeX; a number in powers of ten is written as such."""
    power = _POWER.fullmatch(text)
    if power is not None:
        sign = "" if power[2] == "+" else "-"
        return f"${power[1]} \\times 10^{{{sign}{power[3]}}}$"
    return "".join(_TEX.get(c, c) for c in " ".join(visible(text).split()))
