"""Rooflines: how fast, how frugal and at what power a machine runs at every intensity, and where designs stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dse import machines
from dse.system.pictures import GREY
from results import axes, rooflines
from results.pictures.canvas import LINES, MEDIUM, SMALL_POINTS, sheet, title_of
from results.telling.facts import Facts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from results.pictures.canvas import Given
    from results.rooflines import Roofline

INTENSITY = "intensity (flop/byte)"
MARKED, AT_NOMINAL = "designs", "designs at nominal numbers"
FREE = "without its power cap"
MOST_MARKS = 500
FEW_DECADES = 300.0
SHADES = ("#FFFFFF", "#E4E4E4", "#F2F2F2")
ROOF_HEIGHT, AROUND_ROOFS = 2.5, 1.8


def roofline(
    source: xr.Dataset | Facts | str | Mapping[str, Any],
    metrics: Sequence[str] | None = None,
    ax: Given | None = None,
) -> Figure:
    """Draw rooflines over intensity: flops per second (time), flops per joule (energy) and watts (power).

    ``source``: a sweep, a front or an answer of a model that knows an intensity (a curve for each machine, at most
    six, and the designs under them), the name of a machine, or a table shaped like [machine]; ``metrics``: which
    panels (default: performance, efficiency and power); ``ax``: axes of one's own, as many. Dashed is what the machine
    would reach without its power cap; of one machine the background says what bounds it. Where numbers are uncertain
    machines and designs are at their nominal values. All is computed by the equations of the model. Returns the
    figure. Raises ValueError where there is no intensity, and for a metric that has no curve; ScenarioError for a
    machine that is not known or lacks parameters.
    """
    found = _rooflines_of_source(source)
    known = list(found[0].curves)
    names = known if metrics is None else list(metrics)
    unknown = [n for n in names if n not in known]
    if unknown or not names:
        wrong = unknown[0] if unknown else "nothing"
        raise ValueError(f"{wrong} has no roofline; there are {', '.join(known)}")
    many = len(names)
    size = 9.0, AROUND_ROOFS + ROOF_HEIGHT * many + (1.3 if many == 1 else 0)
    paper = sheet(_title(source), many, ax, (many, 1), size, sharey=False)
    marks: dict[str, Any] = {}
    for panel, name in zip(paper.panels, names, strict=True):
        marks |= _panel(panel, name, found)
    for panel in paper.panels if paper.given else paper.panels[-1:]:
        panel.set_xlabel(INTENSITY, fontsize=MEDIUM)
    paper.legend(marks)
    return paper.figure


def _title(source: Any) -> str:
    if isinstance(source, Facts):
        return source.title
    if hasattr(source, "data_vars"):
        return title_of(source)
    if machines.is_file(source):
        return machines.shown_names([machines.get(source)]).get(source, str(source))
    return source if isinstance(source, str) else ""


def _rooflines_of_source(source: Any) -> tuple[Roofline, ...]:
    if isinstance(source, Facts):
        found = rooflines.of_solution(source)
    elif hasattr(source, "data_vars"):
        found = rooflines.of_dataset(source, len(LINES) + 1)
    else:
        found = (rooflines.of_machine(source),)
    if len(found) > len(LINES):
        raise ValueError(
            f"there are more than {len(LINES)} machines, too many for one picture: choose with isel"
        )
    if not found:
        raise ValueError(
            "there is no roofline here: it takes a machine, or designs of a model with an intensity "
            "(roofline, blocks) and the scenario"
        )
    return found


def _panel(panel: Axes, name: str, found: tuple[Roofline, ...]) -> dict[str, Any]:
    """Draw one metric of all machines; returns the marks by what they mean."""
    marks: dict[str, Any] = {}
    if len(found) == 1:
        _shade(panel, found[0])
    every = np.concatenate([np.concatenate([r.curves[name], r.uncapped.get(name, [])]) for r in found])
    log = axes.wide(every)
    factor, unit = axes.prefix_of(every, found[0].units[name])
    panel.set_xscale("log", base=2)
    panel.xaxis.set_major_formatter("{x:g}")
    for roof, (colour, marker, dash) in zip(found, LINES, strict=False):
        if roof.uncapped:
            style: dict[str, Any] = {"color": GREY, "linestyle": "--", "linewidth": 1.4, "zorder": 2}
            (marks[FREE],) = panel.plot(roof.intensity, factor * roof.uncapped[name], **style)
        (line,) = panel.plot(
            roof.intensity, factor * roof.curves[name], color=colour, linestyle=dash, linewidth=2.6, zorder=3
        )
        marks |= {roof.name: line} if roof.name else {}
        if 0 < roof.at.size <= MOST_MARKS:
            look: dict[str, Any] = {"color": colour, "markeredgecolor": "black", "markersize": 8, "zorder": 4}
            (dots,) = panel.plot(roof.at, factor * roof.reached[name], marker, linestyle="none", **look)
            marks.setdefault(AT_NOMINAL if roof.nominal else MARKED, dots)
    if log:
        from matplotlib.ticker import LogLocator, NullFormatter

        panel.set_yscale("log", base=10)
        few = np.nanmax(every) < FEW_DECADES * np.nanmin(every)
        panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
        panel.yaxis.set_minor_formatter(NullFormatter())
        panel.yaxis.set_major_formatter("{x:g}")
    else:
        panel.set_ylim(bottom=0)
    panel.set_xlim(found[0].intensity[0], found[0].intensity[-1])
    panel.set_ylabel(axes.title(name, unit), fontsize=MEDIUM)
    return marks


def _shade(panel: Axes, roof: Roofline) -> None:
    """Say in the background what bounds the machine, from which to which intensity."""
    for (start, stop, text), shade in zip(roof.regimes, SHADES, strict=False):
        panel.axvspan(start, stop, facecolor=shade, zorder=0)
        panel.annotate(
            axes.words(text),
            (np.sqrt(start * stop), 0.03),
            xycoords=panel.get_xaxis_transform(),
            ha="center",
            fontsize=SMALL_POINTS,
            color=GREY,
            zorder=5,
        )
