"""What matters, as sentences and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dse.quantities import show
from results.uncertainty.indices import Indices, ranked
from results.uncertainty.worlds_text import Table, in_lines

if TYPE_CHECKING:
    from results.telling.fresh import Estimate
    from results.uncertainty.matters import Losses, Matters

LOSS_ROUNDING = 1e-12
"""Relative to the mean: losses below it are rounding of sums."""
MOST_INDICES = 3
MOST_STILL = 4
"""Names of numbers that do not vary that a sentence lists."""
LEAST_SHOWN = 5e-4
"""Indices below this share are told as 0, but where their interval lies above it."""
LEAST_INDEX = 0.01
"""Total indices below this share are not listed among those of other numbers."""


def sentences(found: Matters) -> list[str]:
    """Say what was computed."""
    worlds = found.rows * (len(found.indices[0].inputs) + 2) if found.indices else 0
    lines = [f"{worlds} samples (Saltelli's design of {found.rows} rows, seed {found.seed}): {found.of}."]
    if found.left_out:
        share = 100 * found.left_out / found.rows
        lines.append(
            f"{share:.3g} % of the rows hold a sample without a design: the indices are those of the others."
        )
    if found.indices and found.still:
        verb = "does" if len(found.still) == 1 else "do"
        lines.append(
            f"{_comma_and(found.still)} {verb} not vary: no uncertain number affects {_them(found.still)}."
        )
    if not found.indices:
        lines = ["No number varies: the uncertain numbers affect none of them."]
    return lines


def _comma_and(names: Sequence[str]) -> str:
    if len(names) > MOST_STILL:
        return f"{', '.join(names[:MOST_STILL])} and {len(names) - MOST_STILL} more numbers"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _them(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


def tables(found: Matters) -> list[Table]:
    """Return name, head and rows of each table."""
    made: list[Table] = []
    if found.indices:
        made.append(_main(found.indices[0]))
    if found.indices[1:]:
        head = ("", "standard deviation", "total index of what matters most")
        rows = [
            (one.name, show(one.deviation, one.unit, 4), _leading_indices(one)) for one in found.indices[1:]
        ]
        made.append(("Other numbers", head, rows))
    if found.losses is not None:
        made.append(_losses(found.losses))
    return made


def _main(one: Indices) -> Table:
    rows = [
        (n, _percent_explained(f), _percent_interval(f), _percent_explained(t), _percent_interval(t))
        for n, f, t in ranked(one)
    ]
    head = ("", "first order", "95 % interval", "total", "95 % interval")
    return f"What moves {one.name} (standard deviation {show(one.deviation, one.unit, 4)})", head, rows


def _leading_indices(one: Indices) -> str:
    told = [
        f"{n} {_percent_explained(t)}" for n, _, t in ranked(one)[:MOST_INDICES] if t.value >= LEAST_INDEX
    ]
    return ", ".join(told)


def _losses(found: Losses) -> Table:
    base = abs(found.objective) if found.objective else 0.0

    def text(value: float | None, designs: int) -> str:
        if value is None:
            return f"no design for all samples; one in {designs} of {found.parts} parts"
        # differences of means leave rounding behind
        return show(0.0 if abs(value) < LOSS_ROUNDING * base else value, found.unit, 4)

    def share(value: float | None) -> str:
        if value is None or not base:
            return ""
        return f"{100 * value / base:.3g} %" if abs(value) >= LOSS_ROUNDING * base else "0 %"

    floor = found.by_chance.value
    rows = [
        (
            x.name,
            text(x.value, x.designs),
            share(x.value),
            "" if x.value is None or floor is None or x.value > floor else "no more than by chance",
        )
        for x in found.lost
    ]
    by_chance = text(floor, found.by_chance.designs)
    rows.append(("(by chance: a number of no influence)", by_chance, share(floor), ""))
    return (
        f"What not knowing a number costs in the mean of {found.name}",
        ("", "lost", "of the mean", ""),
        rows,
    )


def _percent_explained(e: Estimate) -> str:
    # what is small may be sure all the same
    sure = abs(e.value) >= LEAST_SHOWN or e.low > 0.0
    return f"{max(100 * e.value, 0.0):.3g} %" if sure else "0 %"


def _percent_interval(e: Estimate) -> str:
    return f"{100 * e.low:.3g} to {100 * e.high:.3g} %"


def to_text(found: Matters) -> str:
    """Write it as plain text."""
    return in_lines(found.title, sentences(found), tables(found))
