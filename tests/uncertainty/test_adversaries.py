"""Worst cases that no vertex is proved to hold beforehand: at the design found nothing in the box may be worse."""

from __future__ import annotations

import itertools
import tomllib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dse
from formulations.uncertainty.worlds import Judged, judged, of_values
from results.export import answer_files
from results.export.jsonable import to_json
from results.solution import Status
from results.summaries import headlines
from results.telling import words
from scenarios.questions import question
from scenarios.uncertainty.drawing import box
from solvers.robust.boxes import robust_box

CARD: dict[str, Any] = {
    "model": "roofline",
    "machine": "gtx-titan-choi2014",
    "given": {"intensity": 4},
    "decide": {"flops": {"min": 1e9, "max": 1e15}, "throttle": {"min": 1, "max": 3}},
    "uncertain": {
        "intensity": {"uniform": [1, 10]},
        "machine.constant_power": {"uniform": [100, 150]},
        "machine.energy_per_flop": {"uniform": [2e-11, 4e-11]},
        "machine.energy_per_byte": {"uniform": [2e-10, 4e-10]},
        "machine.time_per_byte": {"uniform": [3e-12, 5e-12]},
        "machine.usable_power": {"uniform": [120, 170]},
    },
    "objective": {"minimize": "power", "measure": "worst"},
}
"""Six numbers: the worst energy has the least intensity beside the greatest powers. Power peaks inside the box."""

SHARED: dict[str, Any] = {
    "model": "partition",
    "machine": {"cpu": "i7-2600k-tang2017", "gpu": "gtx-titan-tang2017"},
    "given": {
        "regions": [
            {"name": "stream", "flops": "200 Gflop", "bytes": "400 GB"},
            {"name": "dense", "flops": "3 Tflop", "bytes": "100 GB"},
        ]
    },
}


def at_all_vertices(text: dict[str, Any], design: dict[str, Any]) -> Judged:
    """A design at every vertex of the box."""
    asked = dse.load(text)
    ends = box(question(asked).uncertain)
    corners = np.array(list(itertools.product(*ends.values()))).T
    plain = {k: v for k, v in text.items() if k != "uncertain"}
    goal = {k: v for k, v in text["objective"].items() if k != "measure"}
    certain = question(dse.load({**plain, "objective": goal}))
    return judged(of_values(certain, dict(zip(ends, corners, strict=True))), design)


def test_a_limit_holds_at_the_vertex_where_it_is_worst() -> None:
    """Energy was kept in three worlds, of which none has the least intensity beside dear bytes."""
    text = {**CARD, "limits": {"performance": {"min": 1e11}, "energy": {"max": 1000}}}
    told = dse.solve(text)
    assert told.status == "optimal"
    at = at_all_vertices(text, told.variables)
    assert max(r.max() for r in at.ratios.values()) <= 1 + 1e-8
    # performance is least with the least intensity, slow bytes and little power to use
    assert told.limits["performance"].value == pytest.approx(at.metrics["performance"].min(), rel=1e-9)


def test_the_values_that_would_do_do() -> None:
    limits = {"time": {"min": 1}, "energy": {"max": 500}}
    told = dse.solve({**CARD, "limits": limits})
    assert told.status == "infeasible"
    assert told.conflict.keys() == {"time", "energy"}
    for name, side in (("time", "min"), ("energy", "max")):
        room = {"min": 1 - 1e-5, "max": 1 + 1e-5}[side]
        text = {**CARD, "limits": {**limits, name: {side: told.conflict[name] * room}}}
        there = dse.solve(text)
        assert there.status == "optimal"
        assert max(r.max() for r in at_all_vertices(text, there.variables).ratios.values()) <= 1 + 1e-8


def test_a_greatest_power_of_the_worst_case() -> None:
    """Power divides by time, a maximum: the dividing form holds it with a negative power."""
    text = {
        **CARD,
        "objective": {"maximize": "power", "measure": "worst"},
        "limits": {"energy": {"max": 1000}},
    }
    told = dse.solve(text)
    assert told.status == "optimal"
    at = at_all_vertices(text, told.variables)
    assert told.objective == pytest.approx(at.objective.min(), rel=1e-8)
    # without a throttle the power is as large as it can be
    assert told.variables["throttle"] == pytest.approx(1.0, abs=1e-9)


def test_a_worst_energy_of_work_of_unknown_size() -> None:
    """Energy grows with the work, which the shares divide by differences: the vertex is that of the design found."""
    text = {
        **SHARED,
        "uncertain": {"regions.dense.flops": {"uniform": ["1 Tflop", "3 Tflop"]}},
        "objective": {"minimize": "energy", "measure": "worst"},
    }
    told = dse.solve(text)
    assert told.status == "optimal"
    at_most = dse.solve(
        {k: v for k, v in text.items() if k not in ("uncertain", "objective")}
        | {"objective": {"minimize": "energy"}}
    )
    assert told.objective == pytest.approx(at_most.objective, rel=1e-9)


def test_five_numbers_of_none_a_worst_end_is_proved() -> None:
    """Power of shared work divides by time; there is no vertex to begin with."""
    spread = {
        "regions.dense.flops": {"uniform": ["1 Tflop", "3 Tflop"]},
        "regions.dense.bytes": {"uniform": ["50 GB", "150 GB"]},
        "regions.stream.flops": {"uniform": ["100 Gflop", "300 Gflop"]},
        "regions.stream.bytes": {"uniform": ["300 GB", "500 GB"]},
        "machine.gpu.constant_power": {"uniform": [58, 70]},
    }
    text = {**SHARED, "uncertain": spread, "objective": {"maximize": "power", "measure": "worst"}}
    told = dse.solve(text)
    assert told.status in ("optimal", "feasible")
    assert told.objective <= at_all_vertices(text, told.variables).objective.min() * (1 + 1e-8)


def worst_of(name: str, uncertain: dict[str, list[Any]], ends: dict[str, list[float]], points: int) -> Any:
    """The question, its answer, which is optimal, and what its design comes to on a grid of the box of two numbers."""
    scenario = tomllib.loads(dse.load(name).text)
    scenario["uncertain"] = {n: {"uniform": e} for n, e in uncertain.items()}
    scenario["objective"]["measure"] = "worst"
    found = dse.solve(scenario)
    assert found.status is Status.OPTIMAL, found.certificate
    assert found.objective is not None
    asked = question(dse.load(name))
    mesh = np.meshgrid(*(np.linspace(*e, points) for e in ends.values()))
    there = replace(asked, given={**asked.given, **found.variables}, decide=(), limits=())
    values = {n: g.ravel() for n, g in zip(ends, mesh, strict=True)}
    return scenario, found, judged(of_values(there, values), {}).metrics


def test_a_power_of_sums_is_proved_worst_of_two_numbers() -> None:
    """Power of a server is no ratio of few terms in the sizes of cache and network: boxes of the two close it."""
    uncertain = {"cache_bytes": ["1.2 byte", "2.8 byte"], "ffn": [22937.6, 34406.4]}
    ends = {"cache_bytes": [1.2, 2.8], "ffn": [22937.6, 34406.4]}
    _, found, every = worst_of("serving_power_cap", uncertain, ends, 41)
    # limits are met within 1e-8, and the gap asked for is 1e-6
    assert every["power_per_device"].max() <= 450.0 * (1 + 1e-8)
    assert every["energy_per_token"].max() <= found.objective * (1 + 1e-6)


def test_the_worst_of_an_uncertain_exponent_is_found() -> None:
    """No ratio of posynomials has it as an unknown: alone and along an axis such a question ended in an error."""
    uncertain = {"machine.time_per_word": ["24 ns/word", "56 ns/word"], "exponent": [2.67, 2.94]}
    ends = {"machine.time_per_word": [24e-9, 56e-9], "exponent": [2.67, 2.94]}
    scenario, found, every = worst_of("strassen_deadline", uncertain, ends, 21)
    assert every["time"].max() <= 30e-3 * (1 + 1e-8)
    assert every["energy"].max() == pytest.approx(found.objective, rel=1e-6)
    axis = {"order": {"path": "given.order", "values": [4096, 8192]}}
    swept = dse.sweep({**scenario, "sweep": axis})
    assert swept["objective"].values[1] == pytest.approx(found.objective, rel=1e-6)


def test_what_is_positive_in_the_whole_box_is_proved_not_to_be_negative() -> None:
    """That a time is not negative reads 0 <= 1 in every world: no search for the worst of it has a gap to close."""
    ends = {"threshold": [0.24, 0.36], "bodies": [7e5, 1.3e6]}
    uncertain = {"threshold": ["0.24 V", "0.36 V"], "bodies": ends["bodies"]}
    _, found, every = worst_of("nbody_voltage_by_the_alpha_power_law", uncertain, ends, 41)
    assert every["time"].max() <= 0.2 * (1 + 1e-8)
    assert every["energy"].max() == pytest.approx(found.objective, rel=1e-6)


def test_a_limit_that_is_not_proved_in_the_whole_box_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound was the objective, and the status said that optimality is not proved: it was a limit that was not."""
    real, at_vertices = robust_box._asked_of_adversary, robust_box._at_vertices

    def nothing_of_energy(asked: Any) -> Any:
        return None if asked.objectives[0].name == "energy" else real(asked)

    def none_known(asked: Any, solution: Any) -> Any:
        return at_vertices(asked, solution)[0], {}

    monkeypatch.setattr(robust_box, "_asked_of_adversary", nothing_of_energy)
    monkeypatch.setattr(robust_box, "_at_vertices", none_known)
    monkeypatch.setattr(robust_box, "_ranges", lambda _: {})
    told = dse.solve({**CARD, "limits": {"performance": {"min": 1e11}, "energy": {"max": 1000}}})
    assert (told.status, told.not_worst) == ("feasible", ("energy",))
    assert told.objective == pytest.approx(told.bound, rel=1e-6)
    said = words.status(told)
    assert said.endswith("tried; that energy holds in the whole box is not proved"), said
    assert "optimality" not in said + headlines.of_solution(told)
    assert answer_files.from_json(to_json(told)).not_worst == ("energy",)
    of_the_objective = replace(told, not_worst=("energy", told.objective_name))
    assert words.status(of_the_objective).endswith("; optimality is not proved")
