"""What pictures share: axes with units and prefixes, logarithmic where the numbers span much."""

from __future__ import annotations

import itertools
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.quantities import long_time, show, shown_unit
from dse.system.records import dataclass
from results.dataset import STATUS_CODES, objectives
from results.solution import Status
from results.telling import sizes
from results.variables import COLUMNS, OBJECTIVE_MEASURE, SHOWN_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import xarray as xr
    from matplotlib.axes import Axes

WIDE_RANGE = 20.0
EQUAL_STEPS = 1e-6
FONT = 14
NEAR = 100.0
"""Numbers within so many times each other have one unit."""
MANY_RATIOS = 4
"""Values of an axis from which equal ratios are no accident."""
LEAST_OF_LONG = 1e-3
"""Of a day or a year: times down to it are told in these, beside longer ones."""
LEVEL_SPREAD = 1e-3
MOST_LETTERS = 30
MOST_AXIS_PANELS = 12
LETTERS = 10
"""How many letters of an axis' names an inch has room for."""
OPTIMAL = STATUS_CODES[Status.OPTIMAL]
INFEASIBLE = STATUS_CODES[Status.INFEASIBLE]
ANSWERED = [STATUS_CODES[s] for s in (Status.OPTIMAL, Status.FEASIBLE, Status.EVALUATED)]
UNANSWERED = {
    INFEASIBLE: "infeasible",
    STATUS_CODES[Status.UNBOUNDED]: "unbounded",
    STATUS_CODES[Status.ERROR]: "error",
    0: "not computed",
}


@dataclass(frozen=True, slots=True)
class Scale:
    """How numbers go on an axis: times ``factor``, and on a logarithmic scale or not."""

    factor: float
    log: bool


def words(name: str) -> str:
    """Write a name for people.

    "energy_delay" reads "energy delay", "machine.max_message" "max message", "time.cpu" "time cpu",
    "machine.cpu.time_per_flop" "cpu time per flop".
    """
    return name.removeprefix("machine.").removeprefix("limits.").replace("_", " ").replace(".", " ")


def shorten(text: str, most: int) -> str:
    """Cut a text that is too long for its place."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def apart(names: Iterable[str], most: int) -> list[str]:
    """Cut names that are too long for their place, so that those that differ still do.

    They lose their middle; those that would then be the same lose what they have in common instead. What so few letters
    cannot tell apart is not cut.
    """
    lines = [" ".join(name.split()) for name in names]
    head = most // 2
    found = [
        line if len(line) <= most else f"{line[:head].rstrip()}…{line[head + 1 - most :].lstrip()}"
        for line in lines
    ]
    for _ in lines:
        alike = _cut_alike(lines, found)
        if len(alike) == len(set(lines)):
            return found
        for place, line in enumerate(lines):
            same = alike[found[place]]
            if len(same) > 1:
                letters = enumerate(itertools.zip_longest(*same))
                first = next(i for i, others in letters if len(set(others)) > 1)
                # with a letter of what they share
                rest = line[max(first - 1, 0) :].lstrip()
                found[place] = f"{line[:head].rstrip()}…{shorten(rest, most - head - 1)}"
    alike = _cut_alike(lines, found)
    return [cut if len(alike[cut]) == 1 else line for line, cut in zip(lines, found, strict=True)]


def _cut_alike(lines: Sequence[str], cut: Sequence[str]) -> dict[str, set[str]]:
    """Which lines are the same once they are cut."""
    alike: dict[str, set[str]] = {}
    for line, short in zip(lines, cut, strict=True):
        alike.setdefault(short, set()).add(line)
    return alike


def unit_of(array: xr.DataArray) -> str:
    """Return the SI unit of an array as ``dse.quantities.show`` takes it."""
    unit = str(array.attrs.get("units", ""))
    return "" if unit == "1" else unit


def amount(number: float, array: xr.DataArray, digits: int = 3) -> str:
    """Write a number of an array with its unit."""
    return show(number, sizes.unit_of_array(array.attrs), digits)


def is_text(array: xr.DataArray) -> bool:
    """Tell whether an axis has names instead of numbers."""
    return array.dtype.kind not in "fiu"


def in_order(dataset: xr.Dataset, dims: Iterable[str]) -> xr.Dataset:
    """The same with rising numbers on axes: values may stand in any order in a file, and pictures go from the least."""
    numbers = [d for d in dims if d in dataset.coords and not is_text(dataset[d])]
    return dataset.sortby([d for d in numbers if (np.diff(dataset[d].values) < 0).any()])


def codes(array: xr.DataArray) -> dict[float, str]:
    """Return what the codes of an array mean."""
    texts = array.attrs.get("flag_texts")
    meanings = json.loads(texts) if texts else array.attrs["flag_meanings"].split()
    return dict(zip(np.atleast_1d(array.attrs["flag_values"]).tolist(), meanings, strict=True))


def shown_codes(array: xr.DataArray) -> dict[float, str]:
    """Return what the codes of an array mean, as people are shown it: machine files by their titles."""
    choices = json.loads(array.attrs.get("choices", "[]")) if SHOWN_NAMES in array.attrs else []
    return codes(array) | {float(i): shown_name(array, name) for i, name in enumerate(choices)}


def shown_name(array: xr.DataArray, name: object) -> str:
    """Return how people are shown a name that an array has: a machine file by its title."""
    return str(json.loads(array.attrs.get(SHOWN_NAMES, "{}")).get(str(name), name))


def places(axis: xr.DataArray) -> Any:
    """Return where the values of an axis lie: themselves, or 0, 1, 2, ... for names."""
    return np.arange(axis.size, dtype=float) if is_text(axis) else np.asarray(axis.values, float)


def value_label(axis: xr.DataArray, place: int) -> str:
    """Write one value of an axis, as a legend names a line."""
    value = np.ravel(axis.values)[place]
    return (
        f"{words(str(axis.name))}: {shown_name(axis, value) if is_text(axis) else amount(float(value), axis)}"
    )


def name_of(dataset: xr.Dataset, variable: str) -> str:
    """Return what a variable is called in a picture; the objective by the name, or the measure, that is optimised."""
    goals = list(objectives(dataset))
    return (
        str(dataset.attrs.get(OBJECTIVE_MEASURE, goals[0])) if variable == "objective" and goals else variable
    )


def measured(dataset: xr.Dataset, name: str) -> str:
    """Return what an axis of a picture is called: a measure over worlds by what it is, all else by its name."""
    of = json.loads(str(dataset.attrs.get("measures") or "{}")).get(name)
    return name if of is None else str(of)


def title(name: str, unit: str) -> str:
    """Write the title of an axis: its name, and its unit in brackets."""
    return words(name) + (f" ({unit})" if unit else "")


def wide(values: Any) -> bool:
    """Tell whether numbers are positive and span so much that only a logarithmic axis shows them."""
    finite = _finite_values(values)
    return bool(finite.size and finite.min() > 0 and finite.max() > WIDE_RANGE * finite.min())


def _finite_values(values: Any) -> Any:
    return np.asarray(values)[np.isfinite(values)]


def prefix(values: Any, array: xr.DataArray) -> tuple[float, str]:
    """Return a factor and a unit with a prefix, so that the largest number reads between 1 and 1000."""
    return prefix_of(values, sizes.unit_of_array(array.attrs))


def prefix_of(values: Any, unit: str) -> tuple[float, str]:
    """Return the same for numbers of an SI unit."""
    largest = float(np.abs(_finite_values(values)).max(initial=0.0))
    if not unit or largest == 0:
        return 1.0, unit
    number, _, shown = show(largest, unit, 15).partition(" ")
    base, other = shown_unit(unit)
    if other == "s" and long_time(largest * base) != 1.0:
        # days and years are no power of a thousand
        return base / long_time(largest * base), shown
    return base * 10.0 ** (3 * round(math.log10(float(number) / (largest * base)) / 3)), shown


def dress(panel: Axes, which: str, values: Any, array: xr.DataArray, name: str) -> Scale:
    """Label an axis ("x" or "y") and choose its scale; returns how numbers are to be drawn on it."""
    from matplotlib.ticker import MaxNLocator, ScalarFormatter

    axis = panel.xaxis if which == "x" else panel.yaxis
    if is_text(array):
        names = [shown_name(array, v) for v in array.values]
        axis.set_ticks(range(array.size), apart(names, MOST_LETTERS), parse_math=False)
        turn_crowded(panel)
        axis.set_label_text(words(name), fontsize=FONT)
        return Scale(1.0, log=False)
    if "flag_values" in array.attrs:
        seen = set(_finite_values(values).tolist())
        named = [(v, text) for v, text in shown_codes(array).items() if v in seen]
        axis.set_ticks([v for v, _ in named], apart((text for _, text in named), MOST_LETTERS))
        axis.set_label_text(words(name), fontsize=FONT)
        return Scale(1.0, log=False)
    if by_ratio(values, array):
        (panel.set_xscale if which == "x" else panel.set_yscale)("log")
        log_ticks(axis, values, array)
        axis.set_label_text(title(name, shared_unit(values, array)), fontsize=FONT)
        return Scale(1.0, log=True)
    factor, unit = prefix(values, array)
    axis.set_label_text(title(name, unit), fontsize=FONT)
    if counts_rows(array):
        axis.set_major_locator(MaxNLocator(integer=True))
    axis.set_major_formatter(ScalarFormatter(useOffset=False))
    middle, spread = _level(values)
    if middle != 0 and spread < LEVEL_SPREAD * abs(middle):
        # numbers that are all but equal must not look like a slope
        room = LEVEL_SPREAD * abs(middle) * factor
        (panel.set_xlim if which == "x" else panel.set_ylim)(middle * factor - room, middle * factor + room)
    return Scale(factor, log=False)


def counts_rows(array: xr.DataArray) -> bool:
    """Tell whether a coordinate numbers the rows of a table: nothing lies between two of them."""
    return COLUMNS in array.attrs


def by_ratio(values: Any, array: xr.DataArray) -> bool:
    """Tell whether an axis of these numbers is logarithmic: they span much, or all of a swept axis go by ratio.

    Of a swept axis ``array`` is the whole, however few of its numbers are drawn: equal steps go evenly, far as they go.
    """
    if array.dims != (array.name,):
        return wide(values)
    return _equal_ratios(array.values) or (wide(values) and not _equal_steps(array.values))


def _equal_steps(values: Any) -> bool:
    """Tell whether numbers of an axis go in equal steps: on a logarithmic scale most of it stays empty."""
    steps = np.diff(np.sort(np.asarray(values, float)))
    return steps.size > 2 and bool(np.ptp(steps) < EQUAL_STEPS * abs(steps).max())


def turn_crowded(panel: Axes) -> None:
    """Turn the names below a panel that have no room side by side; panels that share them forget it when drawn on."""
    from matplotlib.ticker import FixedLocator

    figure = panel.get_figure(root=True)
    if figure is None or not isinstance(panel.xaxis.get_major_locator(), FixedLocator):
        return
    texts = panel.get_xticklabels()
    if any("\n" in t.get_text() for t in texts):
        # whoever wrote several lines saw to it that they have room
        return
    longest = max((len(t.get_text()) for t in texts), default=0)
    if (longest + 1) * len(texts) > LETTERS * panel.get_position().width * figure.get_figwidth():
        for text in texts:
            text.set(rotation=30, ha="right", rotation_mode="anchor")


def keep_inside(panel: Axes) -> None:
    """Write the number at the right end of an axis to the left of its tick where it would stand beyond the panel."""
    figure, (low, high) = panel.get_figure(root=True), panel.get_xlim()
    places = np.asarray(panel.xaxis.get_majorticklocs(), float)
    if figure is None or not ((places >= low) & (places <= high)).any():
        return
    last = int(np.flatnonzero((places >= low) & (places <= high))[-1])
    text = str(panel.xaxis.get_major_formatter().format_ticks(places.tolist())[last])
    scale = panel.xaxis.get_transform()
    left, right, at = (float(scale.transform([x])[0]) for x in (low, high, places[last]))
    room = LETTERS * panel.get_position().width * figure.get_figwidth() * (right - at) / (right - left)
    if "\n" not in text and len(text) / 2 > room + 1:
        panel.xaxis.get_major_ticks(len(places))[last].label1.set_horizontalalignment("right")


def _level(values: Any) -> tuple[float, float]:
    finite = _finite_values(values)
    if not finite.size:
        return 0.0, 0.0
    low, high = float(finite.min()), float(finite.max())
    return (low + high) / 2, high - low


def shared_unit(values: Any, array: xr.DataArray) -> str:
    """Return the unit that all numbers from the least to the greatest are written with; empty where it changes.

    Over less than two decades, and of days and years, it is that of the greatest.
    """
    finite = _finite_values(values)
    if not finite.size:
        return ""
    near = finite.min() > 0 and finite.max() < NEAR * finite.min()
    if near or _is_long(values, array):
        return prefix(values, array)[1]
    units = {amount(float(end), array).partition(" ")[2] for end in (finite.min(), finite.max())}
    return units.pop() if len(units) == 1 else ""


def log_ticks(axis: Any, values: Any, array: xr.DataArray) -> None:
    """Give a logarithmic axis ticks that read "20 kJ": more of them where it spans little."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    finite = _finite_values(values)
    decades, unit = math.log10(finite.max() / finite.min()), sizes.unit_of_array(array.attrs)
    # a tick beyond the numbers is written with their unit, too, where the title of the axis names it
    factor = prefix(values, array)[0] if shared_unit(values, array) else None

    def written(number: float, _: object) -> str:
        return amount(number, array) if factor is None else f"{number * factor:.6g}"

    # across, the names of 1 and 2 of a decade stand closest: three digits, a unit, and a space on either side
    units = {written(float(end), None).partition(" ")[2] for end in (finite.min(), finite.max())}
    letters = LETTERS * axis.axes.get_position().width * axis.get_figure(root=True).get_figwidth()
    room = 3 if axis.axis_name == "y" else min(3, math.log10(2) * letters / (len(max(units, key=len)) + 5))
    # of days and years ticks are round numbers of these
    other = prefix(values, array)[0] if _is_long(values, array) else shown_unit(unit)[0]
    axis.set_major_locator(
        LogLocator(subs=_within_decade((1, 2, 5) if decades < room else (1,), other), numticks=10)
    )
    if other != 1.0:
        axis.set_minor_locator(LogLocator(subs=_within_decade(range(2, 10), other)))
    axis.set_major_formatter(FuncFormatter(written))
    axis.set_minor_formatter(NullFormatter())


def _equal_ratios(values: Any) -> bool:
    """Tell whether numbers of an axis go in equal ratios: its file asks for a logarithmic scale."""
    at = np.sort(np.asarray(values, float))
    if at.size < MANY_RATIOS or not (np.isfinite(at).all() and at.min() > 0):
        return False
    return bool(np.ptp(np.diff(np.log(at))) < EQUAL_STEPS) and not _equal_steps(at)


def _is_long(values: Any, array: xr.DataArray) -> bool:
    """Tell whether numbers are times up to days or years that do not go far below them: all are told in these."""
    base, other = shown_unit(sizes.unit_of_array(array.attrs))
    seconds = np.abs(_finite_values(values)) * base
    if other != "s" or not seconds.size:
        return False
    unit = long_time(float(seconds.max()))
    return unit != 1.0 and float(seconds.min()) >= LEAST_OF_LONG * unit


def _within_decade(steps: Sequence[int], factor: float) -> list[float]:
    """Return where in a decade of the numbers these steps of a decade of ``factor`` times the numbers lie."""
    found = np.asarray(steps, float) / factor
    return sorted(found / 10.0 ** np.floor(np.log10(found)))


def edges(middles: Any, log: bool) -> Any:
    """Return the borders of cells around points: half way between neighbours, on the scale of the axis."""
    at = np.log(middles) if log else np.asarray(middles, float)
    if at.size == 1:
        found = np.array([at[0] - 0.5, at[0] + 0.5])
    else:
        inner = (at[1:] + at[:-1]) / 2
        found = np.concatenate([[2 * at[0] - inner[0]], inner, [2 * at[-1] - inner[-1]]])
    return np.exp(found) if log else found


def runs(inside: Any) -> list[tuple[int, int]]:
    """Find the stretches of True, as (first, one past the last)."""
    steps = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(int), [0]])))
    return list(zip(steps[::2].tolist(), steps[1::2].tolist(), strict=True))


def undrawable(sizes: Mapping[str, int]) -> str:
    """Say why there is no picture of a sweep over axes of these lengths; empty where there is one."""
    outer = sorted(n for n in sizes.values() if n > 1)[:-2]
    if math.prod(outer) <= MOST_AXIS_PANELS:
        return ""
    told = " × ".join(f"{n} {name}" for name, n in sizes.items())
    return (
        f"a picture has two axes, and at most {MOST_AXIS_PANELS} panels for all others: "
        f"{told} would need {math.prod(outer)} panels"
    )
