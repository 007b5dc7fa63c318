"""A study of worlds as tables, as JSON and as HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dse.machines import is_file
from dse.quantities import plural, show, without_size
from dse.system.columns import aligned
from results import axes, flat
from results.telling.estimates import LEVELS
from results.telling.parts import html_table, safe
from scenarios.language.machine_files import shown_names

if TYPE_CHECKING:
    from results.telling.fresh import Estimate
    from results.uncertainty.worlds import Number, Share, Worlds

Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]
WORLD_DIGITS, COUNT_DIGITS = 4, 6


def percent(value: float, digits: int = 3) -> str:
    """Write a share or a relative difference: 93.1 %."""
    return "–" if math.isnan(value) else f"{100 * value:.{digits}g} %"


def between(estimate: Estimate, digits: int = 3) -> str:
    """Write the interval of a share: 91.4 to 94.6 %; of few worlds an end may not be known."""
    low, high = (f"{100 * end:.{digits}g} %" for end in estimate.interval)
    return (
        _open(estimate.low, estimate.high, low, high)
        or f"{100 * estimate.low:.{digits}g} to {100 * estimate.high:.{digits}g} %"
    )


def _open(low: float, high: float, first: str, last: str) -> str:
    """Write the interval of an estimate if an end is infinite; empty for any other, and of what is infinite itself."""
    if low == high or not (math.isinf(low) or math.isinf(high)):
        return ""
    if math.isinf(low) and math.isinf(high):
        return "too few samples to say"
    return f"at least {first}" if math.isinf(high) else f"at most {last}"


def sentences(found: Worlds) -> list[str]:
    """Say the main results in sentences: how many worlds, those without a design first, what is known of the rest."""
    none = found.none
    told = ", ".join(f"{n} {status}" for status, n in found.statuses.items())
    lines = [f"{plural(found.count, 'sample')}: {told}."]
    share = none.estimate
    if none.count:
        lines.append(f"No design at all in {percent(share.value)} of the samples ({between(share)}).")
    else:
        lines.append(f"Every sample that was drawn has a design (none: at most {percent(share.high)}).")
    return [*lines, *found.notes]


def tables(found: Worlds) -> list[Table]:
    """Return name, head and rows of each table."""
    made: list[Table] = []
    answered = sum(n for s, n in found.statuses.items() if s in ("optimal", "feasible", "evaluated"))
    if found.numbers and answered:
        head = ("", "median", "90 % of samples", "mean", "its 95 % interval")
        rows = [_number_row(n) for n in found.numbers]
        made.append((f"Over the {plural(answered, 'sample')} with a design", head, rows))
    for name, shares in found.winners.items():
        rows = [_share_row(s, shown_value(found, name, s.name)) for s in shares]
        made.append((f"Which {axes.words(name)} wins", ("", "share", "95 % interval"), rows))
    if found.binding:
        rows = [_share_row(s) for s in sorted(found.binding, key=lambda s: -s.count)]
        made.append(("Which limit binds", ("", "share", "95 % interval"), rows))
    if found.fixed is not None:
        made.append(_fixed_design_table(found))
    return made


def _number_row(n: Number) -> list[str]:
    low, high = n.ninety
    return [
        axes.words(n.name),
        _number_with_unit(n.median.value, n.unit),
        _low_to_high(low, high, n.unit),
        _number_with_unit(n.mean.value, n.unit),
        _ends_of_estimate(n.mean, n.unit),
    ]


def _number_with_unit(value: float, unit: str) -> str:
    """Write a number: a plain one above 1000, often a count, with more digits; a dash where there is none."""
    if math.isnan(value):
        return "–"
    return show(value, unit, COUNT_DIGITS if not unit and abs(value) >= 1000 else WORLD_DIGITS)


def _ends_of_estimate(of: Estimate, unit: str) -> str:
    """Write the interval of an estimate; of few samples an end may not be known."""
    ends = _number_with_unit(of.low, unit), _number_with_unit(of.high, unit)
    return _open(of.low, of.high, *ends) or _low_to_high(of.low, of.high, unit)


def _low_to_high(low: float, high: float, unit: str) -> str:
    """Write the ends between which numbers lie, which are infinite where numbers are."""
    first, last = _number_with_unit(low, unit), _number_with_unit(high, unit)
    if first == last:
        return first
    (a, _, of), (b, _, to) = first.partition(" "), last.partition(" ")
    return f"{a} to {b} {to}".rstrip() if of == to else f"{first} to {last}"


def shown(found: Worlds, name: str) -> str:
    """Return how people are shown a limit, or one of the names chosen among: a machine file by its title."""
    known = shown_names(str(found.samples.attrs.get("scenario", "")))
    return known.get(name, name if is_file(name) else axes.words(name))


def shown_value(found: Worlds, number: str, value: str) -> str:
    """Return how people are shown a value of a choice: of a number with its unit, otherwise a name."""
    unit = next((n.unit for n in found.numbers if n.name == number), "")
    return _number_with_unit(float(value), unit) if unit else shown(found, value)


def _share_row(s: Share, name: str = "") -> list[str]:
    found = s.estimate
    return [name or axes.words(s.name), percent(found.value), between(found)]


def _fixed_design_table(found: Worlds) -> Table:
    assert found.fixed is not None
    return f"A fixed design: {found.fixed.what}", ("", "", "95 % interval"), list(_fixed_rows(found))


def _fixed_rows(found: Worlds) -> Iterator[list[str]]:
    assert found.fixed is not None
    units = {n.name: n.unit for n in found.numbers}
    titles = shown_names(str(found.samples.attrs.get("scenario", "")))
    menus = {c.label.removeprefix("decided."): c.words for c in flat.columns(found.samples) if c.words}
    for name, value in found.fixed.design.items():
        told = (
            titles.get(value, value)
            if isinstance(value, str)
            else _number_with_unit(value, units.get(name, ""))
        )
        told = menus[name].get(value, told) if name in menus and not isinstance(value, str) else told
        yield [axes.words(name), told, ""]
    if found.broken is not None:
        share = found.broken.estimate
        yield ["samples in which it breaks a limit", percent(share.value), between(share)]
        for s in found.broken_by:
            yield [f"  {axes.words(s.name)} first", percent(s.estimate.value), between(s.estimate)]
    r = found.regret
    if r is None:
        return
    unit = next((n.unit for n in found.numbers if n.role == "objective"), "")
    yield [
        f"where it holds ({plural(r.worlds, 'sample')}) it loses, on average",
        percent(r.mean.value),
        between(r.mean),
    ]
    yield ["  in 95 % of them at most", percent(r.high.value), between(r.high)]
    yield ["  at worst", percent(r.worst), ""]
    most = _number_with_unit(r.absolute.value, unit)
    yield ["value of perfect information, at most", most, _ends_of_estimate(r.absolute, unit)]


def to_text(found: Worlds) -> str:
    """Return the study as plain text."""
    return in_lines(found.title, sentences(found), tables(found))


def in_lines(title: str, sentences: Sequence[str], tables: Iterable[Table]) -> str:
    """Write a title, if any, sentences and tables as plain text."""
    lines = [title, *sentences] if title else [*sentences]
    for name, head, rows in tables:
        lines += ["", name, *aligned([head, *rows])]
    return "\n".join(lines)


def to_html(found: Worlds) -> str:
    """Return the study as HTML; all text is escaped."""
    parts = [f"<h4>{safe(found.title)}</h4>"] if found.title else []
    parts += [f"<p>{safe(s)}</p>" for s in sentences(found)]
    parts += [f"<h5>{safe(name)}</h5>{html_table(head, rows)}" for name, head, rows in tables(found)]
    return f'<div class="dse-worlds">{"".join(parts)}</div>'


def to_json(found: Worlds) -> dict[str, Any]:
    """Return the study as JSON has it: numbers in SI units, ends of intervals as [low, high], no infinity."""
    goal, largest = found.goal
    return {
        "title": found.title,
        "objective_name": goal,
        "maximize": largest,
        "samples": found.count,
        "statuses": dict(found.statuses),
        "no_design": share_record(found.none),
        "numbers": {
            n.name: {
                "role": n.role,
                "unit": without_size(n.unit),
                "mean": estimate_record(n.mean),
                "quantiles": [
                    {"probability": p} | estimate_record(q) for p, q in zip(LEVELS, n.quantiles, strict=True)
                ],
                "least": finite(n.least),
                "greatest": finite(n.greatest),
            }
            for n in found.numbers
        },
        "binding": {s.name: share_record(s) for s in found.binding},
        "winners": {name: {s.name: share_record(s) for s in some} for name, some in found.winners.items()},
        "fixed_design": _fixed_record(found),
        "notes": list(found.notes),
        "scenario": str(found.samples.attrs.get("scenario", "")),
    }


def _fixed_record(found: Worlds) -> dict[str, Any] | None:
    if found.fixed is None:
        return None
    r = found.regret
    regret = None
    if r is not None:
        regret = {
            "worlds": r.worlds,
            "mean": estimate_record(r.mean),
            "quantile_0.95": estimate_record(r.high),
            "worst": finite(r.worst),
            "perfect_information_at_most": estimate_record(r.absolute),
        }
    return {
        "what": found.fixed.what,
        "variables": dict(found.fixed.design),
        "breaks_a_limit": None if found.broken is None else share_record(found.broken),
        "broken_first": {s.name: share_record(s) for s in found.broken_by},
        "regret": regret,
    }


def share_record(share: Share) -> dict[str, Any]:
    """Return a share as JSON has it."""
    return estimate_record(share.estimate) | {"count": share.count, "of": share.of}


def estimate_record(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate as JSON has it."""
    return {"value": finite(estimate.value), "interval": [finite(v) for v in estimate.interval]}


def finite(value: float) -> float | None:
    """Return a number, None where it does not exist or is infinite."""
    return value if math.isfinite(value) else None
