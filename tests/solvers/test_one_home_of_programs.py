"""Each idea has one home, continued: what programs of whole numbers, values that would do and grids rest on."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from one_home import CLASSES, GONE, LINEAR, MANY, MET, gone

import dse
import scenarios
from dse.sweeping.points import chunk_work
from formulations.grids import quotients
from formulations.programs import row_ends
from results.solution import Status
from solvers.answer import answer
from solvers.geometric.programs import branch
from solvers.linear import least_parts
from solvers.many_points import blocks

STATION = dse.load("station_least_cost_in_10_kw").model_dump(exclude_none=True, exclude_defaults=True)


@pytest.mark.parametrize(
    ("home", "name", "source", "axis"),
    [
        (least_parts, "best", STATION, ("limits.throughput.min", 3e12, 3e13)),
        (
            row_ends,
            "upper_ends",
            dse.load("blocks_budget_sweep").model_dump(exclude_none=True, exclude_defaults=True),
            ("limits.nameplate_power.max", 50.0, 500.0),
        ),
    ],
    ids=["least designs", "ends that rows imply"],
)
def test_what_a_program_of_whole_numbers_rests_on_has_one_home(
    home: Any,
    name: str,
    source: dict[str, Any],
    axis: tuple[str, float, float],
    monkeypatch: pytest.MonkeyPatch,
):
    path, start, stop = axis
    sweep = {"axis": {"path": path, "start": start, "stop": stop, "num": MANY, "spacing": "log"}}
    grid = scenarios.grid(dse.load({**source, "sweep": sweep}))
    question, at = grid.question((MANY // 2,)), chunk_work.ready(grid)
    assert at.path is not None
    assert answer(question, neighbours=False).status is Status.OPTIMAL
    ours = [m for n, m in sys.modules.items() if n.startswith(("formulations.", "solvers."))]
    real = getattr(home, name)
    for module in [m for m in ours if getattr(m, name, None) is real]:
        monkeypatch.setattr(module, name, gone)
    assert GONE in answer(question, neighbours=False).message
    with pytest.raises(RuntimeError, match=GONE):
        at.path.solve(at.plan, (slice(0, MANY),))


def test_the_division_of_a_ratio_has_one_home(monkeypatch: pytest.MonkeyPatch):
    """The value that would do of a limit whose ratio hardly depends on the design."""
    monkeypatch.setattr(branch, "NODES_BEFORE_DIVISION", 1)
    source = {
        "model": "lu",
        "machine": "a10g",
        "given": {"order": 1e5},
        "decide": {"processors": {"max": 65536}, "memory": {}},
        "objective": {"minimize": "time"},
        "limits": {"power_per_processor": {"max": 0.2}},
        "sweep": {
            "cap": {
                "path": "limits.power_per_processor.max",
                "start": 0.02,
                "stop": 0.2,
                "num": MANY,
                "spacing": "log",
            }
        },
    }
    grid = scenarios.grid(dse.load(source))
    at = chunk_work.ready(grid)
    assert at.path is not None
    assert answer(grid.question((0,)), neighbours=False).status is Status.INFEASIBLE
    monkeypatch.setattr(quotients, "apart", gone)
    assert GONE in answer(grid.question((0,)), neighbours=False).message
    with pytest.raises(RuntimeError, match=GONE):
        at.path.solve(at.plan, (slice(0, 12),))


@pytest.mark.parametrize("kind", [*MET, "linear program"])
def test_a_question_at_many_points_has_one_home(kind: str, monkeypatch: pytest.MonkeyPatch):
    source = LINEAR if kind == "linear program" else {**CLASSES[kind], **MET[kind]}
    axis = {"path": "limits.time.max", "start": 100.0, "stop": 1e4, "num": MANY, "spacing": "log"}
    grid = scenarios.grid(dse.load({**source, "limits": {"time": {"max": 1e4}}, "sweep": {"deadline": axis}}))
    at = chunk_work.ready(grid)
    assert at.path is not None
    monkeypatch.setattr(blocks.Block, "question", gone)
    with pytest.raises(RuntimeError, match=GONE):
        at.path.solve(at.plan, (slice(0, MANY),))
