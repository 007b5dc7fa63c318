"""Fronts of the chip of docs/examples/multicore at equal time, judged by how far they lie above the certified front.

A sampler's front looks well by its hypervolume long before its designs are good. So each point is held against
the certified lower bound of the front at that point's time, and each set of points against the whole front. The
bound is that of the front with divisible cores: no chip with whole ones is below it, and tangents keep it close.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import dse
from benchmarks.harness import ROOT, Bench, Result, Way, agrees
from benchmarks.without_dse import by_hand_chip
from benchmarks.without_dse.by_hand_chip import Array

TITLE = "Fronts"
SEEDS = 5
TOLERANCE, FINE = 0.01, 1e-4
PLACES = 4000
PACKAGE = ROOT / "docs" / "examples" / "multicore" / "src"
FRONT_LIMIT, REPORT_LIMIT = 1.0, 5.0
"""Seconds that 100 points of a geometric program and the page of 1e4 points may take."""


@dataclass(frozen=True, slots=True)
class Found:
    """Fronts as rows of time and energy, one for each seed; how wide a certified one is enclosed (relative)."""

    fronts: tuple[Array, ...]
    width: float = np.nan


@dataclass(slots=True)
class Bound:
    """Certified lower bounds of the energy at rising times, straight in logarithms between them."""

    at: Array = field(default_factory=lambda: np.empty(0))
    lower: Array = field(default_factory=lambda: np.empty(0))
    width: float = np.nan

    def find(self) -> None:
        """Certify the front with divisible cores."""
        front = dse.front(chip(whole=False), tolerance=FINE)
        self.at, self.lower = front["enclosure_at"].values, front["enclosure_lower"].values
        self.width = float(front.attrs["enclosure_width"])

    def energy(self, times: Array) -> Array:
        """Return the bound at some times; beyond the last one it is the least energy of all."""
        return np.exp(np.interp(np.log(times), np.log(self.at), np.log(self.lower)))


def benches(budgets: Sequence[float] = (0.5, 2.5), points: int = 100, side: int = 100) -> list[Bench]:
    """``budgets``: seconds that each seed of each searcher has; ``side`` squared points are in a report."""
    return [
        *(_beside_searchers(budget, points) for budget in budgets),
        _continuous(points),
        _nbody(points),
        _report(side),
    ]


def chip(*, whole: bool = True) -> dse.Scenario:
    """Return the example's question, with whole cores or divisible ones."""
    if str(PACKAGE) not in sys.path:
        sys.path.insert(0, str(PACKAGE))
    dse.register(importlib.import_module("dse_multicore.model").MULTICORE)
    home = PACKAGE / "dse_multicore"
    asked = tomllib.loads((home / "scenarios" / "multicore_front.toml").read_text(encoding="utf-8"))
    asked["machine"] = str(home / "machines" / "multicore-example.toml")
    asked["decide"]["cores"]["integer"] = whole
    return dse.load(asked)


# beside searchers


def _beside_searchers(budget: float, points: int) -> Bench:
    asked, bound = chip(), Bound()
    searchers: dict[str, tuple[str, int, by_hand_chip.Search, str]] = {
        "NumPy, full grid": ("numpy", 1, by_hand_chip.grid, "no"),
        "cvxpy GP, cores rounded": ("cvxpy", 1, by_hand_chip.cvxpy, "relaxed, in floats"),
        "pymoo NSGA-II": ("pymoo", SEEDS, by_hand_chip.pymoo, "no"),
        "Optuna NSGA-II": ("optuna", SEEDS, functools.partial(by_hand_chip.optuna, "NSGA-II"), "no"),
        "Optuna TPE": ("optuna", SEEDS, functools.partial(by_hand_chip.optuna, "TPE"), "no"),
    }
    there = {n: s for n, s in searchers.items() if importlib.util.find_spec(s[0]) is not None}

    def seeds(search: by_hand_chip.Search, count: int) -> Found:
        return Found(tuple(search(seed, budget) for seed in range(count)))

    @contextmanager
    def ready() -> Iterator[None]:
        """What is imported, and compiled by us, is not part of anybody's time; nor is what all are held against."""
        for package, *_ in there.values():
            importlib.import_module(package)
        dse.front(asked, points=3)
        bound.find()
        yield

    def ours(**how: Any) -> Found:
        front = dse.front(asked, **how)
        rows = np.stack([front["time"].values, front["energy"].values], axis=1)
        return Found((rows,), float(front.attrs["enclosure_width"]))

    others = [
        Way(name, functools.partial(seeds, search, count), bound=proof, points=count)
        for name, (_, count, search, proof) in there.items()
    ]
    near = Way(f"dse, tolerance {TOLERANCE:g}", lambda: ours(tolerance=TOLERANCE), bound="yes")
    return Bench(
        f"time against energy of a chip, whole cores: {budget:g} s for each search, of {SEEDS} seeds each",
        Way(f"dse, {points} points", lambda: ours(points=points), bound="yes"),
        (near, *others),
        judge=functools.partial(judged, bound),
        warm=False,
        rounds=1,
        remark=functools.partial(_about_judging, bound),
        during=ready,
    )


def judged(bound: Bound, _ours: Found, theirs: Found) -> Mapping[str, str]:
    """Say of fronts how far above the certified lower bounds they are: medians over the seeds."""
    seeds = [_judge(front, bound) for front in theirs.fronts]
    told = {name: np.array([s[name] for s in seeds]) for name in seeds[0]}
    said = {name: _percent(values) for name, values in told.items() if not np.isnan(values).any()}
    sizes = np.median([len(front) for front in theirs.fronts])
    width = "" if np.isnan(theirs.width) else f"{_digits(theirs.width)} %"
    return {"designs": f"{sizes:.0f}", **said, "enclosed within": width}


def _judge(front: Array, bound: Bound) -> dict[str, float]:
    above = front[:, 1] / bound.energy(front[:, 0]) - 1
    return {
        "median gap": float(np.median(above)),
        "worst gap": float(above.max()),
        "coverage": _coverage(front, bound),
        "hypervolume": _hypervolume(front, bound),
    }


def _coverage(front: Array, bound: Bound) -> float:
    """Least share by which all designs of the front have to be worsened, in both, for one of these to be as good."""
    times = np.geomspace(bound.at[0], bound.at[-1], PLACES)
    t, e = np.log(times), np.log(bound.energy(times))
    mine_t, mine_e = np.log(front).T
    # along a front time rises and energy falls: where one ratio begins to exceed the other, the worse one is least
    place = np.searchsorted(mine_t - mine_e, t - e)
    after = np.where(place < len(mine_t), mine_t[np.minimum(place, len(mine_t) - 1)] - t, np.inf)
    before = np.where(place > 0, mine_e[np.maximum(place - 1, 0)] - e, np.inf)
    return float(np.expm1(np.minimum(after, before).max()))


def _hypervolume(front: Array, bound: Bound) -> float:
    """Return what is dominated, in logarithms, over what the certified lower bound could dominate."""
    if importlib.util.find_spec("moocore") is None:
        return np.nan
    import moocore

    corner = np.log([bound.at[-1], bound.lower[0]])
    whole = float(np.trapezoid(corner[1] - np.log(bound.lower), np.log(bound.at)))
    return float(moocore.hypervolume(np.log(front), ref=corner)) / whole


def _percent(values: Array) -> str:
    text = f"{_digits(float(np.median(values)))} %"
    if values.size == 1:
        return text
    return f"{text} ({_digits(float(values.min()))} to {_digits(float(values.max()))})"


def _digits(share: float) -> str:
    """Write a share in percent, with two digits or all before the point; below 1e-6 percent is nothing."""
    if abs(share) < 1e-8:
        return "0"
    return f"{100 * share:.0f}" if share >= 1 else f"{100 * share:.{3 if share > 0.5 else 2}g}"


def _about_judging(bound: Bound, result: Result) -> str:
    covered = {n: m.judged["coverage"].partition(" (")[0] for n, m in result.measured.items()}
    told = ", ".join(f"{name} {share}" for name, share in covered.items())
    return (
        "A design's gap is how much more energy it needs than the certified lower bound of the front at its time: the"
        " median and the worst of the designs of a search. Coverage: whatever the bound does not exclude is bettered by"
        " one of the designs once that may have so much more of both time and energy. Hypervolume is in logarithms, a"
        " share of what the bound itself would dominate. Of several seeds the median is told, then the least and the"
        " greatest. The bound is that of the front with divisible cores, enclosed within"
        f" {_digits(bound.width)} %: a gap below that proves nothing. Coverage in this run: {told}."
    )


# how fast


def _continuous(points: int) -> Bench:
    asked = chip(whole=False)
    times: list[Array] = []

    def ours() -> Array:
        front = dse.front(asked, points=points)
        times[:] = [front["time"].values]
        return np.asarray(front["energy"].values)

    return Bench(
        f"{points} points of the front of a geometric program (the chip, cores divisible)",
        Way("dse, certified front", ours, bound="yes", points=points),
        (
            Way(
                "cvxpy DPP, Clarabel, at the same times",
                lambda: by_hand_chip.deadlines(times[0]),
                bound="in floats",
                points=points,
            ),
        ),
        check=functools.partial(agrees, within=1e-5),
        rounds=3,
        remark=functools.partial(_asked, FRONT_LIMIT, points),
    )


def _nbody(points: int) -> Bench:
    asked = dse.load("nbody_energy_time_front")

    def ours() -> Array:
        return np.asarray(dse.front(asked, points=points)["energy"].values)

    return Bench(
        f"{points} points of the front of nbody_energy_time_front",
        Way("dse, certified front", ours, bound="yes", points=points),
        (),
        rounds=3,
        remark=functools.partial(_asked, FRONT_LIMIT, points),
    )


def _asked(limit: float, points: int, result: Result) -> str:
    spent = result.measured[result.bench.ours.name].median * points
    kept = "and that is kept" if spent < limit else "and that is missed"
    return (
        f"After start-up the whole takes {spent:.2g} s; it should be under {limit:g} s, {kept} in this run."
    )


def _report(side: int) -> Bench:
    folder = Path(tempfile.mkdtemp(prefix="dse-bench-"))
    store, page = folder / "study.zarr", folder / "study.html"

    @contextmanager
    def swept() -> Iterator[None]:
        import shutil

        try:
            dse.sweep(_many(side), store, progress=False)
            yield
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def size(_ours: Any, _theirs: Any) -> Mapping[str, str]:
        return {"size": f"{page.stat().st_size / 1e6:.2g} MB"}

    return Bench(
        f"the page of a sweep of {side * side:g} points",
        Way("dse report", lambda: dse.report(store, page) and None),
        (),
        judge=size,
        rounds=3,
        remark=functools.partial(_asked, REPORT_LIMIT, 1),
        during=swept,
    )


def _many(side: int) -> dse.Scenario:
    """Least energy of an n-body step over deadlines and bodies: what is out of reach has its reasons on the page."""
    axes = {"deadline": ("limits.time.max", 0.01, 1.0), "bodies": ("given.bodies", 1e4, 1e6)}
    return dse.load(
        {
            "model": "nbody",
            "machine": "balanced",
            "given": {"flops_per_pair": 10},
            "decide": {"processors": {"max": 65536}, "memory": {}},
            "objective": {"minimize": "energy"},
            "sweep": {
                name: {"path": path, "start": low, "stop": high, "num": side, "spacing": "log"}
                for name, (path, low, high) in axes.items()
            },
        }
    )
