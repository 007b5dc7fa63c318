"""Calculon's equations as typed for the benchmarks: what the authors' own tool says of its validation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.fits import calculon
from benchmarks.without_dse import calculon_equations
from dse.papers.megatron import batches
from dse.papers.sources import table

GIB = 2.0**30
# printed by the authors' tool (revision caa4b11) for its validation: seconds, and GiB of a device
PRINTED = {
    ("megatron-22B", "full"): (1.40, 48.15),
    ("megatron-22B", "selective"): (1.14, 52.08),
    ("gpt3-175B", "full"): (18.03, 48.10),
    ("gpt3-175B", "selective"): (13.64, 54.07),
}


@pytest.mark.parametrize(
    "line", table("megatron/times"), ids=lambda line: f"{line['model']}-{line['recompute']}"
)
def test_typed_equations_are_those_of_the_tool(line: dict[str, str]) -> None:
    plan: dict[str, Any] = batches.plan(line) | {"zero": "0"}
    seconds, held = PRINTED[line["model"], line["recompute"]]
    assert round(float(calculon_equations.step(plan)), 2) == seconds
    assert round(float(sum(calculon_equations.memory(plan).values())) / GIB, 2) == held


def test_a_plan_in_an_array_is_the_plan_alone() -> None:
    asked = calculon.plans(4)
    whole = calculon_equations.step(asked)
    for i in (0, 17, whole.size - 1):
        alone = {n: v[i] if isinstance(v, np.ndarray) else v for n, v in asked.items()}
        assert float(calculon_equations.step(alone)) == pytest.approx(whole[i], rel=1e-12)


def test_both_miss_the_rows_by_what_the_page_says() -> None:
    off = np.array(
        [[ours / seconds - 1, theirs / seconds - 1] for _, seconds, ours, theirs in calculon.rows()]
    )
    ours, theirs = np.abs(off).mean(axis=0)
    assert (round(100 * ours, 2), round(100 * theirs, 2)) == (1.73, 1.61)
