"""Branches of a program with maxima in its objective: which term of each is taken as the largest."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from formulations.programs.program import Array, Program


def branches(p: Program) -> Iterator[Array]:
    """Rows to add, one set for each way of choosing the largest argument of every exact maximum."""
    for choice in itertools.product(*(range(a.shape[-2]) for _, a in p.exact)):
        rows = [-arguments[..., k, :] for (_, arguments), k in zip(p.exact, choice, strict=True)]
        for row, (place, _) in zip(rows, p.exact, strict=True):
            row[..., place] += 1.0
        yield np.stack(np.broadcast_arrays(*rows), axis=-2) if rows else np.zeros((0, len(p.columns) + 1))


def branch_count(p: Program) -> int:
    """How many sets of rows ``branches`` yields."""
    return math.prod(a.shape[-2] for _, a in p.exact)
