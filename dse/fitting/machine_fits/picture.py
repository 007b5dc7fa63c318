"""Pictures of a fit: the model against what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dse.models.arithmetic import per
from dse.system.arrays import Array, Bools, Indices
from dse.system.pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from dse.fitting.machine_fits.result import Fit

COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
TITLE_POINTS, MEDIUM, LABEL_POINTS = 16, 14, 12
_CURVE = 400
_APART = 0.01
"""From so much between the curve and the model of a run on, a picture shows both."""
# axes over less than the one factor have many marks, over more than the other the powers of ten alone
_SHORT_AXIS, _LONG_AXIS = 10.0, 1e4


def draw(fit: Fit) -> Figure:
    """Draw a fit.

    Energies and their errors by setting (dvfs); rates and power over intensity (roofline); times and powers over
    the clock (dvfs without voltages), times over the size of a message (network).
    """
    if fit.model == "roofline":
        return _draw_roofline_fit(fit)
    return _dvfs(fit) if fit.settings else _draw_over_clock_or_size(fit)


def _empty_figure(fit: Fit, panels: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    what = "energy" if "energy" in fit.errors else "time"
    mean = 100 * fit.errors[what].mean
    title = f"{fit.name}: {fit.model} fitted to {fit.size} runs, error of {what} {mean:.2f} %"
    figure.suptitle(title, fontsize=TITLE_POINTS, parse_math=False)
    axes = [figure.add_subplot(1, panels, k + 1) for k in range(panels)]
    for axis in axes:
        axis.tick_params(labelsize=LABEL_POINTS)
        axis.grid(visible=True, which="major", alpha=0.3)
    return figure, axes


def _dvfs(fit: Fit) -> Figure:
    figure, (left, right) = _empty_figure(fit, 2, (13.0, 5.8))
    measured, model = fit.runs.measured["energy"], fit.runs.modelled["energy"]
    ends = [min(measured.min(), model.min()) / 1.2, max(measured.max(), model.max()) * 1.2]
    left.loglog(ends, ends, color=GREY, linestyle="--", linewidth=1.5, label="model = measured")
    left.loglog(measured, model, "o", color=BLUE, markersize=5, alpha=0.7, label="runs")
    left.set_xlabel("measured energy", fontsize=MEDIUM)
    left.set_ylabel("energy by the model", fontsize=MEDIUM)
    for axis in (left.xaxis, left.yaxis):
        _mark_logarithmic(axis, "J")
    names = [s.name for s in fit.settings]
    place = np.array([names.index(g) for g in fit.runs.groups])
    error = 100 * (model / measured - 1)
    shift = np.linspace(-0.25, 0.25, 7)[np.arange(place.size) % 7]
    right.axhline(0, color=GREY, linestyle="--", linewidth=1.5)
    right.plot(place + shift, error, "o", color=BLUE, markersize=4, alpha=0.6)
    means = [error[place == i].mean() for i in range(len(names))]
    right.plot(range(len(names)), means, "D", color=VERMILLION, markersize=8, label="mean of the setting")
    step = -(-len(names) // 40)
    right.set_xticks(range(0, len(names), step), names[::step], rotation=90 if len(names) > 6 else 0)
    right.set_xlabel("setting", fontsize=MEDIUM)
    right.set_ylabel("error of the model (%)", fontsize=MEDIUM)
    handles = [*left.get_legend_handles_labels()[0], right.get_lines()[-1]]
    figure.legend(handles=handles, fontsize=LABEL_POINTS, loc="outside lower center", ncols=3)
    return figure


def _mark_logarithmic(axis: Axis, unit: str) -> None:
    """Let all marks of a logarithmic axis with numbers have the unit, and be enough to read where it is short."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    marks = (1.0,) if high / low > _LONG_AXIS else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 4, 5, 6, 8) if high / low < _SHORT_AXIS else marks))
    axis.set_major_formatter(EngFormatter(unit))
    axis.set_minor_formatter(NullFormatter())


def _draw_over_clock_or_size(fit: Fit) -> Figure:
    """Draw what was measured over the clock or the size, with the model in each group's colour."""
    from matplotlib.ticker import EngFormatter

    clocks = "clock" in fit.runs.measured
    shown = [("time", "s"), ("power", "W")] if clocks else [("time", "s")]
    figure, panels = _empty_figure(fit, len(shown), (6.5 * len(shown) + 2.5, 5.8))
    groups = list(dict.fromkeys(fit.runs.groups))
    at = fit.runs.measured["clock" if clocks else "size"]
    for panel, (what, unit_of) in zip(panels, shown, strict=True):
        for i, group in enumerate(groups):
            own = np.array([g == group for g in fit.runs.groups])
            colour = COLOURS[i % len(COLOURS)]
            called = group or "runs"
            panel.plot(at[own], fit.runs.measured[what][own], "o", color=colour, markersize=5, label=called)
            for k, line in enumerate(_lines(fit, own)):
                order = line[np.argsort(at[line], kind="stable")]
                # a single place makes no line
                mark = "_" if np.ptp(at[line]) == 0 else None
                name = None if k else f"{called}, model"
                panel.plot(
                    at[order], fit.runs.modelled[what][order], "-", marker=mark, color=colour, label=name
                )
        panel.set_xlabel("clock of the core" if clocks else "size (bytes)", fontsize=MEDIUM)
        panel.set_ylabel(what, fontsize=MEDIUM)
        if clocks:
            panel.xaxis.set_major_formatter(EngFormatter("Hz"))
            panel.yaxis.set_major_formatter(EngFormatter(unit_of))
        else:
            panel.set_xscale("log", base=2)
            panel.set_yscale("log")
            _mark_logarithmic(panel.yaxis, unit_of)
    handles, names = panels[0].get_legend_handles_labels()
    most = 2 * len(COLOURS)
    figure.legend(handles[:most], names[:most], fontsize=LABEL_POINTS, loc="outside lower center", ncols=4)
    return figure


def _lines(fit: Fit, own: Bools) -> list[Indices]:
    """Return the places of some runs along each line of the model: of a collective for each number of members."""
    places = np.flatnonzero(own)
    members = fit.runs.measured.get("members")
    if members is None:
        return [places]
    return [places[members[places] == many] for many in np.unique(members[places])]


def _draw_roofline_fit(fit: Fit) -> Figure:
    from matplotlib.ticker import EngFormatter

    figure, panels = (
        _empty_figure(fit, 3, (15.0, 5.8)) if "energy" in fit.errors else _empty_figure(fit, 1, (9.0, 5.8))
    )
    flops, bytes_ = fit.runs.measured["flops"], fit.runs.measured["bytes"]
    drawn = (flops > 0) & (bytes_ > 0)
    intensity = flops[drawn] / bytes_[drawn]
    along = np.geomspace(intensity.min() / 1.3, intensity.max() * 1.3, _CURVE)
    time = fit.runs.measured["time"][drawn]
    dots = [flops[drawn] / time]
    if "energy" in fit.runs.measured:
        energy = fit.runs.measured["energy"][drawn]
        dots += [flops[drawn] / energy, energy / time]
    told = _modelled(fit, drawn)
    curved = _curves(fit.values, intensity)[: len(told)]
    apart = any(np.any(np.abs(t / c - 1.0) > _APART) for t, c in zip(told, curved, strict=True))
    called = "model of long runs with flops and bytes alone" if apart else "model"
    models: tuple[tuple[dict[str, float], dict[str, Any]], ...] = (
        (fit.values, {"color": BLUE, "linestyle": "-", "label": called}),
        (
            {p.name: p.value for p in fit.uncapped},
            {"color": VERMILLION, "linestyle": "--", "label": "model without a power cap"},
        ),
    )
    for values, style in models if fit.uncapped else models[:1]:
        for panel, curve in zip(panels, _curves(values, along), strict=False):
            panel.plot(along, curve, linewidth=2, zorder=3, **style)
    if apart:
        hollow: dict[str, Any] = {"markerfacecolor": "none", "color": BLUE, "markersize": 7}
        for panel, points in zip(panels, told, strict=False):
            panel.plot(intensity, points, "o", label="model of each run", zorder=4, **hollow)
    labels = (("performance", "flop/s"), ("energy efficiency", "flop/J"), ("power", "W"))
    for panel, points, (what, unit) in zip(panels, dots, labels, strict=False):
        panel.plot(intensity, points, "o", color="black", markersize=4, alpha=0.5, label="measured", zorder=2)
        panel.set_xscale("log", base=2)
        if what == "power":
            panel.yaxis.set_major_formatter(EngFormatter(unit))
        else:
            panel.set_yscale("log")
            _mark_logarithmic(panel.yaxis, unit)
        panel.set_title(what, fontsize=MEDIUM)
        panel.set_xlabel("intensity (flop per byte)", fontsize=MEDIUM)
    if len(panels) > 1:
        panels[2].set_ylim(bottom=0)
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, fontsize=LABEL_POINTS, loc="outside lower center", ncols=3)
    return figure


def _modelled(fit: Fit, drawn: Bools) -> list[Array]:
    """Return flop/s and, where energies were measured, flop/J and W of the model at the runs that are drawn."""
    flops, time = fit.runs.measured["flops"][drawn], fit.runs.modelled["time"][drawn]
    if "energy" not in fit.runs.modelled:
        return [flops / time]
    energy = fit.runs.modelled["energy"][drawn]
    return [flops / time, flops / energy, energy / time]


def _curves(values: dict[str, float], intensity: Array) -> tuple[Array, Array, Array]:
    """Return flop/s, flop/J and W of the model for one flop of a long run at these intensities."""
    moved = 1 / intensity
    used = values.get("energy_per_flop", 0.0) + moved * values.get("energy_per_byte", 0.0)
    time = np.maximum(values["time_per_flop"], moved * values["time_per_byte"])
    if "usable_power" in values:
        time = np.maximum(time, used / values["usable_power"])
    energy = used + values.get("constant_power", 0.0) * time
    return 1 / time, per(1.0, energy), energy / time
