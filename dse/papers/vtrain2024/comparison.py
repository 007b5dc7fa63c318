"""Errors of training times on runs held out, and what the chosen plans lose."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from dse import machines
from dse.models.transformers.transformer_measured import FACTORS
from dse.papers import drawing
from dse.papers.comparer import Answers, Found
from dse.papers.report import Picture
from dse.papers.vtrain2024 import fit as fits
from dse.papers.vtrain2024.runs import Runs, chosen, joined, layers_of, measured, missed, modelled
from dse.system.arrays import Array, Bools
from dse.system.pictures import BLACK, BLUE, ORANGE

PAPER = "vtrain2024"
answers = Answers(PAPER)
# groups of at least so many plans count, on one node and on many
LEAST = {"single_node": 5, "multi_node": 2}
HALVES = 5
# the constants that ship have four digits
FACTOR_ROUNDING = 1e-3
NEAR_BEST = 0.03
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
    return 100.0 * float((lost <= NEAR_BEST).mean())


@cache
def _fit() -> Mapping[str, float]:
    return fits.fit(fits.everything())


@answers("c_shipped")
def _constant(constant: str) -> Found:
    """The constants that ship are those of the fit."""
    shipped = machines.get(fits.NAME).parameters[constant]
    return Found(_fit()[constant], shipped, told={"unit": fits.START[constant][1]})


@answers("c_layers")
def _factors() -> bool:
    again = fits.factors(measured("single_node"), _fit())
    return (
        again.keys() == FACTORS.keys() and max(abs(again[k] - FACTORS[k]) for k in FACTORS) <= FACTOR_ROUNDING
    )


@answers("m_all")
def _many(most: str) -> Found:
    many = measured("multi_node")
    off = missed(modelled(many, fits.NAME), many.seconds)
    return Found(off <= float(most), told={"off": off})


def _held_out(out: Bools) -> float:
    """Return by how much runs on many nodes are missed when these are held out."""
    one, many = measured("single_node"), measured("multi_node")
    found = fits.fit(joined([one, many.only(~out)]))
    held = many.only(out)
    return missed(modelled(held, fits.SHEET, found), held.seconds)


@answers("m_rows")
def _mean_error_at_most(most: str) -> Found:
    errors = [_held_out(_half(measured("multi_node"), seed)) for seed in range(HALVES)]
    told = {"mean": np.mean(errors), "low": min(errors), "high": max(errors), "count": HALVES}
    return Found(float(np.mean(errors)) <= float(most), told=told)


@answers("m_size")
def _held_out_error_at_most(hidden: str, most: str) -> Found:
    off = _held_out(measured("multi_node").plans["hidden"] == float(hidden))
    return Found(off <= float(most), told={"off": off})


@answers("m_plan")
def _plan(most: str) -> Found:
    many = measured("multi_node")
    lost = 100.0 * chosen(many, modelled(many, fits.NAME), LEAST["multi_node"])
    return Found(bool(lost.mean() <= float(most)), told={"lost": lost.mean(), "count": lost.size})


def _half(runs: Runs, seed: int) -> Bools:
    """Return which runs are held out: half of those of each size, drawn at random."""
    rng, out = np.random.default_rng(seed), np.zeros(runs.seconds.size, bool)
    for width in np.unique(runs.plans["hidden"]):
        of = np.flatnonzero(runs.plans["hidden"] == width)
        out[rng.permutation(of)[: of.size // 2]] = True
    return out


@cache
def _one_node() -> tuple[Array, Array]:
    """Times of the runs on two to eight devices, and by constants alone."""
    one = measured("single_node")
    return modelled(one, fits.NAME), modelled(one, fits.NAME, ALONE)


@answers("s_all")
def _errors_at_most(most: str, most_alone: str) -> Found:
    off, alone = (missed(times, measured("single_node").seconds) for times in _one_node())
    return Found(off <= float(most) and alone <= float(most_alone), told={"off": off, "alone": alone})


@answers("s_depth")
def _depth(layers: str, most: str) -> Found:
    held, found, constant = without("layers", float(layers))
    off, alone = missed(found, held.seconds), missed(constant, held.seconds)
    return Found(off <= float(most), told={"off": off, "alone": alone})


@answers("s_width")
def _width(hidden: str, most: str) -> Found:
    held, found, _ = without("hidden", float(hidden))
    off = missed(found, held.seconds)
    near = _near(chosen(held, found, LEAST["single_node"]))
    return Found(off <= float(most), told={"off": off, "near": near})


def _plans(picked: Array, least: str) -> Found:
    told = {"near": _near(picked), "count": picked.size, "lost": 100 * picked.mean()}
    return Found(_near(picked) >= float(least), told=told)


@answers("s_plan")
def _plans_of_all(least: str) -> Found:
    return _plans(chosen(measured("single_node"), _one_node()[0], LEAST["single_node"]), least)


@answers("s_plan_depth")
def _plans_by_depth(least: str) -> Found:
    depths = np.unique(measured("single_node").plans["layers"])
    held = [without("layers", float(depth)) for depth in depths]
    return _plans(
        np.concatenate([chosen(runs, found, LEAST["single_node"]) for runs, found, _ in held]), least
    )


@answers("s_plan_constants")
def _plans_by_constants(least: str) -> Found:
    return _plans(chosen(measured("single_node"), _one_node()[1], LEAST["single_node"]), least)


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
        axis.axhline(1.0, color=BLACK, linewidth=1.0)
        axis.set_title(title, fontsize=14)
        axis.legend(fontsize=12)
    path = drawing.save(figure, folder / "ratios.png")
    caption = "Modelled over measured times of all runs; mean errors in the legend."
    return (Picture(path, caption),)
