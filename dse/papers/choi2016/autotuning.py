"""Section II-E: is the fastest setting the one of least energy? Table II, and the model on microbenchmarks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from dse.papers.asking import ask, told
from dse.papers.choi2016.jetson import MACHINE, Array, cells, name_of, settings_of
from dse.papers.choi2016.rows import holds, says
from dse.papers.report import Row
from dse.papers.sources import table

# the intensities of the paper are not printed: sixteen to an octave, from 1/16 to 256 operations per byte
INTENSITIES = 2.0 ** (np.arange(12 * 16 + 1) / 16.0 - 4.0)
DATA = 1e10
# kinds of microbenchmarks whose rates the machine file states
KINDS = {
    "single precision": "flops",
    "double precision": "flops_double",
    "integer": "integer_operations",
}
TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Race:
    """Energy that race-to-halt loses on a microbenchmark, by intensity, as fractions of the least energy.

    ``kind``: among equally fast settings it takes the most frugal one; ``highest``: it takes the highest
    clocks of core and memory, which are always among the fastest.
    """

    kind: Array
    highest: Array


@cache
def race(operations: str) -> Race:
    """Run a microbenchmark of one kind of operation and bytes from memory at all settings."""
    amounts = {operations: INTENSITIES * DATA}
    found = settings_of([{"name": "run", operations: DATA, "bytes": DATA}], **amounts)
    least = found["energy"].min(axis=1)
    return Race(found["race_energy"][:, 0] / least - 1.0, found["energy"][:, _highest()] / least - 1.0)


def _highest() -> int:
    return [name_of(row) for row in cells()].index("852-924")


def rows() -> list[Row]:
    """What Table II and the text around it say."""
    return [*_table(), *_text(), *_model()]


def _label(line: Mapping[str, str]) -> str:
    return f"{line['benchmark'].replace('_', ' ')}, {line['strategy'].replace('_', ' ')}"


def _table() -> list[Row]:
    statement = says("a_consistent")
    found = []
    for line in table("choi2016_table2"):
        wrong, cases = int(line["mispredictions"]), int(line["cases"])
        mean, low, high = (float(line[f"energy_lost_{k}_pct"]) for k in ("mean", "min", "max"))
        ordered = low <= mean <= high and wrong <= cases
        # where even the least loss is above 0, the loss was made in some case
        ours = "together" if ordered and (wrong > 0) == (high > 0.0) else "not together"
        corrected = "not together" if ours != "together" else None
        item = f"{_label(line)}: {wrong} of {cases}, {mean:g} % lost"
        found.append(Row(statement, item, "together", ours, corrected=corrected))
    return found


def _text() -> list[Row]:
    lines = table("choi2016_table2")
    single = {line["strategy"]: line for line in lines if line["benchmark"] == "single"}
    means = [float(line["energy_lost_mean_pct"]) for line in lines]
    most = sum(float(line["energy_lost_max_pct"]) >= 11.0 for line in lines)
    return [
        Row(
            says("a_single"),
            "race-to-halt, in Table II",
            20.0,
            float(single["time_oracle"]["mispredictions"]),
        ),
        Row(says("a_single"), "the model, in Table II", 0.0, float(single["model"]["mispredictions"])),
        Row(
            says("a_eleven"),
            "means of 11 % or more",
            1.0,
            float(sum(mean >= 11.0 for mean in means)),
            remark=f"by the means of Table II; of the maxima {most} are above 11 %",
        ),
    ]


def _model() -> list[Row]:
    found = []
    for label, operations in KINDS.items():
        lost = race(operations)
        wrong = int((lost.kind > TIE).sum())
        found.append(
            holds(
                "a_fastest",
                f"{label}, {len(INTENSITIES)} intensities",
                ours=wrong > 0,
                remark=f"fastest is not most frugal at {wrong}, up to {100 * lost.kind.max():.1f} % lost; "
                f"the highest clocks lose up to {100 * lost.highest.max():.1f} %",
            )
        )
    answer = ask(_uniform())
    saved = told(answer, "race_saving")
    held = isinstance(saved, float) and saved > 0.0
    remark = (
        f"{100 * saved:.2f} % less than race-to-halt, proved optimal" if isinstance(saved, float) else saved
    )
    item = "single precision, 64 flop per byte"
    return [*found, holds("a_uniform", item, ours=held, remark=remark)]


def _uniform() -> dict[str, Any]:
    return {
        "model": "dvfs",
        "machine": MACHINE,
        "given": {"phases": [{"name": "run", "flops": 64.0 * DATA, "bytes": DATA}]},
        "objective": {"minimize": "energy"},
    }
