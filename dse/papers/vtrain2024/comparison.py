"""Errors of training times on runs held out, and what the chosen plans lose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dse import machines
from dse.models.transformers.transformer_measured import FACTORS
from dse.papers import drawing
from dse.papers.drawing import BLUE, ORANGE
from dse.papers.report import Picture, Row
from dse.papers.rows import Rows
from dse.papers.vtrain2024 import fit as fits
from dse.papers.vtrain2024.runs import (
    Array,
    Runs,
    chosen,
    joined,
    layers_of,
    measured,
    missed,
    modelled,
)

PAPER = "vtrain2024"
ROWS = Rows(PAPER)
# groups of at least so many plans count, on one node and on many
LEAST = {"single_node": 5, "multi_node": 2}
HALVES = 5
# the constants that ship have four digits
ROUNDED = 1e-3
NEAR = 0.03
ALONE = {"measured_layers": 0.0}


def times(runs: Runs, constants: Mapping[str, float], factors: Mapping[tuple[int, int, int], float]) -> Array:
    """Return modelled times of plans with these constants, and layers with these factors."""
    keys = np.column_stack([runs.plans[n] for n in fits.KINDS]).astype(int)
    factor = np.array([factors.get((int(h), int(t), int(b)), 1.0) for h, t, b in keys])
    return modelled(runs, fits.SHEET, constants) + (factor - 1.0) * layers_of(runs, fits.SHEET, constants)


@cache
def without(column: str, value: float) -> tuple[Runs, Array, Array]:
    """Return the runs on one node that were held out, and their times with measured layers and by constants alone."""
    one, many = (measured(which) for which in ("single_node", "multi_node"))
    out = one.plans[column] == value
    kept, held = one.only(~out), one.only(out)
    constants = fits.fit(joined([kept, many]))
    return held, times(held, constants, fits.factors(kept, constants)), modelled(held, fits.SHEET, constants)


def _near(lost: Array) -> float:
    return 100.0 * float((lost <= NEAR).mean())


def constants() -> Sequence[Row]:
    """The constants that ship are those of the fit."""
    found = fits.fit(fits.everything())
    shipped = machines.get(fits.NAME).parameters
    rows = [
        ROWS.derived("c_shipped", name, shipped[name], value, fits.START[name][1], tolerance=ROUNDED)
        for name, value in found.items()
    ]
    again = fits.factors(measured("single_node"), found)
    same = again.keys() == FACTORS.keys() and max(abs(again[k] - FACTORS[k]) for k in FACTORS) <= ROUNDED
    return [*rows, ROWS.holds("c_layers", "32 factors", ours=same)]


def many_nodes() -> Sequence[Row]:
    """Errors and plans of the runs on 64 and 512 devices."""
    one, many = measured("single_node"), measured("multi_node")
    ours = modelled(many, fits.NAME)
    off = missed(ours, many.seconds)
    rows = [ROWS.holds("m_all", "73 runs", ours=off <= 8.0, remark=f"{off:.2f} %")]
    errors = []
    for seed in range(HALVES):
        out = _half(many, seed)
        found = fits.fit(joined([one, many.only(~out)]))
        held = many.only(out)
        errors.append(missed(modelled(held, fits.SHEET, found), held.seconds))
    told = f"{np.mean(errors):.1f} %; {min(errors):.1f} to {max(errors):.1f} % in {HALVES} halves"
    rows.append(ROWS.holds("m_rows", "five halves", ours=float(np.mean(errors)) <= 10.0, remark=told))
    for width in np.unique(many.plans["hidden"]):
        out = many.plans["hidden"] == width
        found = fits.fit(joined([one, many.only(~out)]))
        held = many.only(out)
        off = missed(modelled(held, fits.SHEET, found), held.seconds)
        rows.append(ROWS.holds("m_size", f"hidden size {width:.0f}", ours=off <= 12.0, remark=f"{off:.1f} %"))
    lost = chosen(many, ours, LEAST["multi_node"])
    told = f"{100 * lost.mean():.2f} % in {lost.size} groups"
    return [*rows, ROWS.holds("m_plan", "both sizes", ours=lost.mean() <= NEAR, remark=told)]


def _half(runs: Runs, seed: int) -> NDArray[np.bool_]:
    """Return which runs are held out: half of those of each size, drawn at random."""
    rng, out = np.random.default_rng(seed), np.zeros(runs.seconds.size, bool)
    for width in np.unique(runs.plans["hidden"]):
        of = np.flatnonzero(runs.plans["hidden"] == width)
        out[rng.permutation(of)[: of.size // 2]] = True
    return out


def one_node() -> Sequence[Row]:
    """Errors and plans of the runs on two to eight devices."""
    one, least = measured("single_node"), LEAST["single_node"]
    ours, alone = modelled(one, fits.NAME), modelled(one, fits.NAME, ALONE)
    off, by_constants = missed(ours, one.seconds), missed(alone, one.seconds)
    told = f"{off:.2f} %; by constants alone {by_constants:.2f} %"
    rows = [ROWS.holds("s_all", "900 runs", ours=off <= 2.0 and by_constants <= 6.5, remark=told)]
    lost = []
    for depth in np.unique(one.plans["layers"]):
        held, found, constant = without("layers", float(depth))
        off, by_constants = missed(found, held.seconds), missed(constant, held.seconds)
        lost.append(chosen(held, found, least))
        told = f"{off:.1f} %; by constants alone {by_constants:.1f} %"
        rows.append(ROWS.holds("s_depth", f"{depth:.0f} layers", ours=off <= 9.0, remark=told))
    for width in np.unique(one.plans["hidden"]):
        held, found, _ = without("hidden", float(width))
        off = missed(found, held.seconds)
        picked = chosen(held, found, least)
        told = f"{off:.1f} %; plans within 3 % in {_near(picked):.0f} % of groups"
        rows.append(ROWS.holds("s_width", f"hidden size {width:.0f}", ours=off <= 10.0, remark=told))
    for which, picked, share in (
        ("s_plan", chosen(one, ours, least), 80.0),
        ("s_plan_depth", np.concatenate(lost), 80.0),
        ("s_plan_constants", chosen(one, alone, least), 70.0),
    ):
        told = f"{_near(picked):.1f} % of {picked.size} groups; mean loss {100 * picked.mean():.2f} %"
        rows.append(ROWS.holds(which, "all groups", ours=_near(picked) >= share, remark=told))
    return rows


def draw(folder: Path) -> tuple[Picture, ...]:
    """Draw modelled over measured times."""
    figure, axes = drawing.canvas(
        "Modelled over measured time of an iteration", "measured time (s)", "ratio", 2
    )
    for axis, which, title in zip(axes, LEAST, ("one node", "8 and 64 nodes"), strict=True):
        runs = measured(which)
        for name, constants, colour in (
            ("seven constants", ALONE, ORANGE),
            ("with measured layers", None, BLUE),
        ):
            ours = modelled(runs, fits.NAME, constants)
            if constants is None and which == "multi_node":
                continue
            label = f"{name}: {missed(ours, runs.seconds):.1f} %"
            axis.semilogx(runs.seconds, ours / runs.seconds, ".", color=colour, alpha=0.5, label=label)
        axis.axhline(1.0, color=drawing.BLACK, linewidth=1.0)
        axis.set_title(title, fontsize=14)
        axis.legend(fontsize=12)
    path = drawing.save(figure, folder / "ratios.png")
    caption = "Modelled over measured times of all runs; mean errors in the legend."
    return (Picture(path, caption),)
