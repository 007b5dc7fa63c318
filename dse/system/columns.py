"""Rows of text as lines in which each column begins at the same place."""

from collections.abc import Iterable, Sequence


def aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return one line for each row, two spaces between columns, each as wide as its widest cell.

    >>> aligned([("name", "value"), ("deadline", "50 ms")])
    ['name      value', 'deadline  50 ms']
    """
    every = list(rows)
    widths = [max(map(len, column)) for column in zip(*every, strict=True)]
    return ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in every]
