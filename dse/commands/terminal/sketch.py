"""Small plots made of characters, where the terminal can show them: never into a pipe or a file."""

from __future__ import annotations

import itertools
import math
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from dse.commands.terminal.printing import say
from dse.system.records import dataclass

if TYPE_CHECKING:
    import xarray as xr

LEAST_COLUMNS, LEAST_LINES = 60, 20
SKETCH_WIDTH, SKETCH_HEIGHT = 72, 14
# what stands beside the plot: its frame, and the numbers at its right
BESIDE = 16
COLOURS = ("blue", "red", "green", "magenta", "cyan", "yellow")
MOST_SKETCHED = 1_000_000
FRAME = str.maketrans(dict(zip("┌┐└┘─│", "++++-|", strict=True)) | {"µ": "u", "×": "x", "…": "~"})


@dataclass(frozen=True, slots=True)
class Terminal:
    """What a terminal can show: columns for a plot, colours, and characters beyond ASCII."""

    width: int
    colours: bool = True
    unicode: bool = True


@dataclass(frozen=True, slots=True)
class Series:
    """Points that belong together, and whether a line joins them."""

    label: str
    x: Any
    y: Any
    line: bool = False


@dataclass(frozen=True, slots=True)
class Sketch:
    """A plot before it is drawn: its series in the units of ``title``, and which axes are logarithmic."""

    title: str
    series: tuple[Series, ...]
    log: tuple[bool, bool]


def terminal() -> Terminal | None:
    """Return what standard output can show; None where it is not a terminal, or one that is too small for a plot."""
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return None
    import shutil

    columns, lines = shutil.get_terminal_size()
    if columns < LEAST_COLUMNS or lines < LEAST_LINES:
        return None
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    return Terminal(
        min(SKETCH_WIDTH, columns - BESIDE), not os.environ.get("NO_COLOR"), encoding.startswith("utf")
    )


def draw(sketch: Sketch, at: Terminal) -> str:
    """Draw a plot as lines of text. Series that colours do not tell apart have signs of their own, in ASCII."""
    import numpy as np

    plot_to_string = _uncompiled_plotting()
    many = len(sketch.series) > 1
    plain = not at.unicode or (many and not at.colours)
    options: dict[str, Any] = {"legend_labels": [s.label for s in sketch.series]} if many else {}
    drawn = plot_to_string(
        xs=[np.asarray(s.x, float) for s in sketch.series],
        ys=[np.asarray(s.y, float) for s in sketch.series],
        lines=[s.line for s in sketch.series],
        width=at.width,
        height=SKETCH_HEIGHT,
        title=sketch.title,
        character_set="ascii" if plain else "block",
        color=list(COLOURS[: len(sketch.series)]) if at.colours and many else False,
        x_as_log=sketch.log[0],
        y_as_log=sketch.log[1],
        x_gridlines=[],
        y_gridlines=[],
        **options,
    )
    text = "\n".join(line.rstrip() for line in str(drawn).splitlines())
    return text if at.unicode else text.translate(FRAME).encode("ascii", "replace").decode()


def _uncompiled_plotting() -> Callable[..., Any]:
    """Import uniplot as where there is no numba, with which it compiles for seconds what draws a few lines."""
    from sys import modules

    compiler = modules.get("numba")
    modules["numba"] = None  # type: ignore[assignment]
    try:
        from uniplot import plot_to_string
    finally:
        del modules["numba"]
        if compiler is not None:
            modules["numba"] = compiler
    return cast("Callable[..., Any]", plot_to_string)


def show(plan: Callable[[xr.Dataset], Sketch | None], dataset: xr.Dataset) -> None:
    """Print the plot that is planned for a dataset, where standard output can show one."""
    able = terminal()
    planned = plan(dataset) if able is not None else None
    if able is not None and planned is not None:
        say("\n" + draw(planned, able))


def front(dataset: xr.Dataset) -> Sketch | None:
    """Plan the plot of a front, or of the fronts along axes; None where there is nothing to see."""
    from results import axes
    from results.dataset import objectives

    # "energy against time": the first goes up
    names = [n for n in objectives(dataset) if n in dataset][1::-1]
    outer = [str(d) for d in dataset["status"].dims if d != "front"]
    if len(names) < 2:
        return None
    places = list(itertools.product(*(range(dataset.sizes[d]) for d in outer)))
    alike = len(places) > len(COLOURS)
    parts = [("", dataset)] if alike else [_labelled_part(dataset, outer, place) for place in places]
    points = [(label, *(part[n].values.ravel() for n in names)) for label, part in parts]
    title = f"{axes.words(names[1])} over {axes.words(names[0])}"
    return _sketch(title, points, dataset[names[0]], dataset[names[1]], line=False)


def sweep(dataset: xr.Dataset) -> Sketch | None:
    """Plan the plot of a sweep's objective over its longest axis of numbers.

    The other axes are lines where they are few, else the best along them is taken. None where no axis has numbers,
    nothing was optimised, or the dataset is too large for a glance.
    """
    from results import axes
    from results.dataset import objectives

    goals = objectives(dataset)
    dims = [str(d) for d in dataset["status"].dims]
    numeric = [d for d in dims if not axes.is_text(dataset[d]) and dataset.sizes[d] > 1]
    if not goals or not numeric or dataset["status"].size > MOST_SKETCHED:
        return None
    along = max(numeric, key=lambda d: dataset.sizes[d])
    others = [d for d in dims if d != along]
    goal, largest = next(iter(goals.items()))
    shown = dataset["objective"].where(dataset["status"].isin(axes.ANSWERED)).load()
    title = f"{'greatest' if largest else 'least'} {axes.words(goal)} over {axes.words(along)}"
    if math.prod(dataset.sizes[d] for d in others) <= len(COLOURS):
        places = itertools.product(*(range(dataset.sizes[d]) for d in others))
        curves = [(_label(dataset, others, p), shown.isel(dict(zip(others, p, strict=True)))) for p in places]
    else:
        curves = [("", shown.max(others) if largest else shown.min(others))]
        title += f", the best of {' × '.join(axes.words(d) for d in others)}"
    where = dataset[along].values
    lines = [(label, where, curve.values) for label, curve in curves]
    return _sketch(title, lines, dataset[along], dataset["objective"], line=True)


def _labelled_part(dataset: xr.Dataset, outer: list[str], place: tuple[int, ...]) -> tuple[str, xr.Dataset]:
    return _label(dataset, outer, place), dataset.isel(dict(zip(outer, place, strict=True)))


def _label(dataset: xr.Dataset, dims: list[str], place: tuple[int, ...]) -> str:
    from results import axes

    return axes.shorten(
        ", ".join(axes.value_label(dataset[d], i) for d, i in zip(dims, place, strict=True)), 40
    )


def _sketch(
    title: str, points: list[tuple[str, Any, Any]], x: xr.DataArray, y: xr.DataArray, *, line: bool
) -> Sketch | None:
    """Choose units and scales; leave out what has no numbers. None where fewer than two points are left."""
    import numpy as np

    from dse.quantities import shown_unit
    from results import axes
    from results.telling import sizes

    kept = [(label, *_finite_pairs(a, b)) for label, a, b in points]
    kept = [series for series in kept if series[1].size]
    every = [np.concatenate([series[i] for series in kept]) if kept else np.zeros(0) for i in (1, 2)]
    if every[0].size < 2:
        return None
    log = axes.wide(every[0]), axes.wide(every[1])
    scales = [
        shown_unit(sizes.unit_of_array(array.attrs)) if is_log else axes.prefix(values, array)
        for is_log, values, array in zip(log, every, (x, y), strict=True)
    ]
    across, up = (f" ({unit})" if unit else "" for _, unit in scales)
    first, _, second = title.partition(" over ")
    second, comma, rest = second.partition(",")
    made = tuple(Series(label, scales[0][0] * a, scales[1][0] * b, line) for label, a, b in kept)
    return Sketch(f"{first}{up} over {second}{across}{comma}{rest}", made, log)


def _finite_pairs(a: Any, b: Any) -> tuple[Any, Any]:
    import numpy as np

    first, second = np.asarray(a, float), np.asarray(b, float)
    there = np.isfinite(first) & np.isfinite(second)
    return first[there], second[there]


def histogram(values: Any, title: str) -> Sketch | None:
    """Plan the plot of a distribution: the share of values in each bin; None without two different values."""
    import numpy as np

    there = np.asarray(values, float)
    there = there[np.isfinite(there)]
    if not there.size or there.min() == there.max():
        return None
    counts, edges = np.histogram(there, bins=SKETCH_WIDTH // 3)
    x = np.repeat(edges, 2)[1:-1]
    y = np.repeat(100.0 * counts / there.size, 2)
    ends = np.array([edges[0]]), np.array([edges[-1]]), np.zeros(1)
    steps = Series(
        "", np.concatenate([ends[0], x, ends[1]]), np.concatenate([ends[2], y, ends[2]]), line=True
    )
    return Sketch(f"share of samples (%) over {title}", (steps,), (False, False))
