"""Columns of maxima in the programs of many worlds: what defines them, and which are decided once for all worlds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dse.system.arrays import Array, Bools
from formulations.arithmetics.forms import Maximum
from formulations.programs.program import Program


def rows_of_definitions(
    p: Program, tops: Array, bottoms: Array, choices: Sequence[int]
) -> tuple[list[int], dict[int, list[int]]]:
    """Return rows of shared columns, and of each column of a maximum those that say what it is at least."""
    defines: dict[int, list[int]] = {i: [] for i, c in enumerate(p.columns) if isinstance(c, Maximum)}
    base: list[int] = []
    for r, key in enumerate(p.keys):
        if key is not None or tops[0, r, choices].any() or bottoms[0, r, choices].any():
            continue
        held = np.flatnonzero(bottoms[0, r])
        if held.size == 1 and int(held[0]) in defines and not p.equal[r]:
            defines[int(held[0])].append(r)
        else:
            base.append(r)
    return base, defines


def maxima_within(base: Sequence[int], defines: Mapping[int, Sequence[int]], rows: Array) -> list[int]:
    """Return the columns of maxima that some rows of ``base`` have, and those within these."""
    found: list[int] = []
    left = list(base)
    while left:
        there: Bools = np.any(rows[:, left] != 0.0, axis=(0, 1), keepdims=True)[0, 0]
        left = [r for i, own in defines.items() if i not in found and there[i] for r in own]
        found += [i for i in defines if i not in found and there[i]]
    return found


def same_maxima(p: Program, defines: Mapping[int, Sequence[int]], rows: Array) -> list[int]:
    """Return the columns of maxima that are the same in every world, where nothing is easier by one of them."""
    goals = [np.atleast_2d(v) for v in (p.goal, p.under) if v is not None]
    used = np.concatenate(
        [rows[:, [r for r, k in enumerate(p.keys) if k is not None]].reshape(-1, rows.shape[-1]), *goals]
    )
    found: list[int] = []
    # inner ones come first
    for i, own in defines.items():
        outer = [j for j in defines if j not in (*found, i)]
        if not (
            np.ptp(rows[:, own], axis=0).any() or rows[:, own][..., outer].any() or (used[:, i] < 0).any()
        ):
            found.append(i)
    return found
