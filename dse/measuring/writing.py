"""What measuring leaves behind: runs as CSV, a machine file, and a first question about it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from dse.measuring.costs import Cost
from dse.measuring.figures import Figure
from dse.measuring.runs import csv_text
from dse.measuring.session import Measured
from dse.quantities import show
from dse.version import VERSION
from scenarios.language.toml_text import to_toml

NOISY = "measured on a noisy machine"
_NOTE = "dse measure"
_SHARE, _MOST_INTENSITY = 0.8, 10_000


def runs_file(found: Measured) -> str:
    """Return every repetition as CSV; comments above say what ``header`` reads again."""
    told = {
        "name": found.name,
        "date": found.date,
        "meter": found.meter,
        **{f"fact {k}": v for k, v in found.facts.items()},
        **{f"condition {k}": v for k, v in found.conditions.facts.items()},
        "condition others": repr(found.conditions.others),
        "condition neighbours": ", ".join(found.conditions.neighbours),
        "whole": "yes" if found.whole else "no",
    }
    return csv_text(found.runs, [f"{_NOTE}: {k} = {v}" for k, v in told.items() if v])


def header(text: str) -> dict[str, str]:
    """Return what the comments of a file of runs say, by name."""
    lines = (
        line.removeprefix(f"# {_NOTE}: ") for line in text.splitlines() if line.startswith(f"# {_NOTE}: ")
    )
    return {k: v for k, _, v in (line.partition(" = ") for line in lines)}


def machine_file(found: Measured, data: str, digest_of: str) -> str:
    """Return the machine file; ``data``: name of the file of runs, ``digest_of``: its text."""
    digest = hashlib.sha256(digest_of.encode()).hexdigest()
    threads = found.threads[-1]
    where = f"measured by dse {VERSION} on {found.date}, {threads} threads"
    mean, most, count = found.misses
    noisy = f", {NOISY.removeprefix('measured ')}" if found.against else ""
    parts = [
        _toml_entries(
            title=f"{found.name}: measured{noisy}",
            source=f"{where}; every repetition in {data} (sha256 {digest})",
            notes=" ".join(f"{n[:1].upper()}{n[1:]}." for n in _notes(found)),
        ),
        "[measured]\n"
        + _toml_entries(
            date=found.date,
            threads=threads,
            noisy=bool(found.against),
            against=found.against,
            runs=len(found.runs),
            data=data,
            sha256=digest,
            energy=found.meter or ("stated" if found.stated is not None else "not known"),
        ),
        "[measured.machine]\n" + _toml_entries(**found.facts),
        "[measured.conditions]\n"
        + _toml_entries(
            **found.conditions.facts,
            others=round(found.conditions.others, 4),
            neighbours=list(found.conditions.neighbours),
        ),
    ]
    if count:
        parts.append(
            f"[measured.roofline]\n{_toml_entries(runs=count, mean_error=mean, greatest_error=most)}"
        )
    parts += [_parameter(found, f) for f in found.times]
    parts += [_cost_entry(found, c) for c in found.costs]
    for n in found.threads:
        parts += [_figure_entry(f) for f in found.figures(n)]
    return "\n".join(parts)


def _notes(found: Measured) -> Iterable[str]:
    yield "times are reciprocals of sustained rates of all threads together"
    if found.against:
        yield "the machine was noisy, and the file was written on request: [measured] against says how noisy"
    if not found.costs:
        yield "energies and powers are not known, so that only questions of time can be asked"
    yield from found.remarks


def _toml_entries(**entries: Any) -> str:
    return to_toml({k.replace(" ", "_"): v for k, v in entries.items() if v not in ("", [], None)})


def _parameter(found: Measured, figure: Figure) -> str:
    against = figure.against()
    source = (
        f"{figure.meaning}: median of {figure.runs} repetitions of {figure.kernel} over {_bytes_text(figure.size)}, "
        f"quartiles {figure.low:.4g} to {figure.high:.4g} {figure.unit}, {found.date}"
    )
    return f"[parameters.{figure.name}]\n" + _toml_entries(
        value=f"{figure.value!r} {figure.unit}",
        evidence=NOISY if found.against else "measured",
        source=source,
        spread=round(figure.spread, 4),
        median_uncertainty=round(figure.doubt, 4),
        doubt="; ".join(against or (["other programs ran beside it"] if found.against else [])),
    )


def _cost_entry(found: Measured, cost: Cost) -> str:
    fitted = "stated" if found.stated is not None and not found.meter else "fitted to measurements"
    doubts = [cost.doubt] if cost.doubt else []
    doubts += ["other programs ran beside it"] if found.against and fitted != "stated" else []
    meter = f", energy by {found.meter}" if found.meter else ""
    return f"[parameters.{cost.name}]\n" + _toml_entries(
        value=f"{cost.value!r} {cost.unit}",
        evidence=fitted,
        source=f"{cost.how}{meter}, {found.date}",
        doubt="; ".join(doubts),
    )


def _figure_entry(figure: Figure) -> str:
    return "[[measured.rates]]\n" + _toml_entries(
        name=figure.name,
        meaning=figure.meaning,
        threads=figure.threads,
        kernel=figure.kernel,
        size=_bytes_text(figure.size),
        value=f"{figure.value:.6g} {figure.unit}",
        rate=rate(figure),
        spread=round(figure.spread, 4),
        repetitions=figure.runs,
    )


def _bytes_text(size: float) -> str:
    return f"{size / 1024:g} KiB" if size < 1 << 20 else f"{size / (1 << 20):g} MiB"


def rate(figure: Figure) -> str:
    """Say a figure as a rate, a latency as a time."""
    amount = figure.unit.removeprefix("s/")
    if figure.name.startswith("latency"):
        return show(figure.value, "s", 3)
    return show(1 / figure.value, f"{amount}/s", 4)


def question(found: Measured, machine: str) -> str:
    """Return a first scenario: how many flops per byte a code needs on this machine for 80 % of its peak.

    The peak is that of double precision, where it was measured.
    ``machine``: the machine file, as named in the scenario.
    """
    times: Mapping[str, float] = {f.name: f.value for f in found.times}
    precision, mark = ("double", "_double") if "time_per_flop_double" in times else ("single", "")
    peak = _SHARE / times[f"time_per_flop{mark}"]
    known = {c.name for c in found.costs}
    needed = {f"energy_per_flop{mark}": "0 J/flop", "energy_per_byte": "0 J/byte", "constant_power": "0 W"}
    absent = {k: v for k, v in needed.items() if k not in known}
    note = (
        "# Energies were not measured. The model requires them, and they do not affect a time: the zeros\n"
        "# below stand in for them. Only times, rates and intensities of the answer are meaningful.\n"
    )
    text = to_toml(
        {
            # of the other precision it would be another number
            "title": f"Least flops per byte at which a code in {precision} precision reaches {_SHARE:.0%} of the peak "
            f"of {found.name} in it",
            "model": "roofline",
            "machine": {"base": machine, **absent} if absent else machine,
            "given": {"flops": "1 Tflop", "precision": precision},
            "decide": {"intensity": {"max": _MOST_INTENSITY}},
            "objective": {"minimize": "intensity"},
            "limits": {"performance": {"min": f"{peak / 1e9:.6g} Gflop/s"}},
        }
    )
    return note + text if absent else text
