"""Amounts of words that a file states in bytes are shown in bytes; numbers of answers and datasets stay in words."""

from typing import Any

import pytest

import dse
from results.export.answer_files import from_json
from results.export.jsonable import to_json
from results.solution import Solution
from results.summaries import headlines
from results.telling.render import to_html, to_text

WORD = 8.0
NBODY: dict[str, Any] = {
    "model": "nbody",
    "machine": {"base": "balanced", "word_size": WORD},
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 4096, "integer": True}, "memory": {}},
    "objective": {"minimize": "energy"},
}


def asked(**more: Any) -> Solution:
    return dse.solve(dse.load({**NBODY, **more}))


def row(solution: Solution, heading: str, name: str) -> list[str]:
    """Return the cells of a row under a heading of the answer as it is printed."""
    below = to_text(solution, 160).split(f"\n{heading}\n")[1].split("\n\n")[0]
    found = next(line for line in below.splitlines() if line.split()[:1] == [name])
    return [cell.strip() for cell in found.strip().split("   ") if cell.strip()]


def test_a_decision_bounded_in_bytes_is_told_in_bytes():
    found = asked(decide={**NBODY["decide"], "memory": {"max": "16 kB"}})
    assert row(found, "variables", "memory") == ["memory", "16 kB"]
    assert row(found, "limits", "memory")[:4] == ["memory", "≤ 16 kB", "16 kB", "binding"]
    assert "kB: energy" in row(found, "limits", "memory")[4], "where the answer next changes"
    assert row(found, "metrics", "words") == ["words", "2 kword"], "not stated in bytes"
    assert "memory 16 kB" in headlines.of_solution(found)
    assert "<td>16 kB</td>" in to_html(found)


def test_listed_values_in_bytes_are_told_in_bytes():
    found = asked(decide={**NBODY["decide"], "memory": {"values": ["4 KiB", "8 KiB"]}})
    assert row(found, "variables", "memory")[1] in ("4.096 kB", "8.192 kB")


@pytest.mark.parametrize("size", [4.0, 8.0])
def test_limits_in_bytes_are_told_in_bytes_by_the_machine_s_word_size(size: float):
    limits = {"memory": {"max": "16 kB"}, "words": {"max": "1 MB"}}
    found = asked(machine={"base": "balanced", "word_size": size}, limits=limits)
    assert row(found, "limits", "memory")[1] == "≤ 16 kB"
    assert row(found, "limits", "memory")[2] == row(found, "variables", "memory")[1]
    assert row(found, "limits", "words")[1] == "≤ 1 MB"
    assert row(found, "metrics", "words")[1].endswith("kB")
    shown = float(row(found, "variables", "memory")[1].removesuffix(" kB"))
    assert shown == pytest.approx(found.variables["memory"] * size / 1e3, rel=1e-5)
    assert row(asked(limits={"memory": {"max": 2000}}), "limits", "memory")[1] == "≤ 2 kword"


def test_a_limit_in_bytes_that_cannot_be_met_is_feasible_in_bytes():
    """100 processors hold 1e5 bodies between them: 1000 words each."""
    given = {**NBODY["given"], "processors": 100}
    found = asked(given=given, decide={"memory": {}}, limits={"memory": {"max": "1 kB"}})
    assert "memory" in found.conflict
    assert "≤ 8 kB (asked: ≤ 1 kB)" in to_text(found)
    assert found.conflict["memory"] == pytest.approx(1000.0)


def test_an_objective_in_bytes_is_told_in_bytes():
    limits = {"memory": {"max": "1 MB"}, "time": {"max": "50 ms"}}
    found = asked(objective={"minimize": "memory"}, limits=limits)
    told = to_text(found)
    assert f"least memory  {row(found, 'variables', 'memory')[1]}" in told
    assert row(found, "variables", "memory")[1].endswith("B")
    assert "word" not in row(found, "limits", "time")[-1]


def test_of_machines_with_one_word_size_the_chosen_one_s_memory_is_told_in_bytes():
    rest = {k: v for k, v in NBODY.items() if k != "machine"}
    machine = {"values": ["jaketown", "jaketown-printed"]}
    decide = {"processors": {"max": 100, "integer": True}, "memory": {"max": "16 kB"}, "machine": machine}
    found = dse.solve(dse.load({**rest, "decide": decide}))
    assert row(found, "limits", "memory")[1] == "≤ 16 kB"


def test_records_and_datasets_stay_in_words():
    found = asked(decide={**NBODY["decide"], "memory": {"max": "16 kB"}})
    record = to_json(found)
    assert record["limits"]["memory"]["bound"] == 2000.0
    assert (record["units"]["memory"], record["bytes_per_word"]) == ("word", {"memory": WORD})
    assert row(from_json(record), "limits", "memory")[1:3] == ["≤ 16 kB", "16 kB"]
    assert "bytes_per_word" not in to_json(asked())
    swept = {"bodies": {"path": "given.bodies", "values": [1e5, 2e5]}}
    dataset = dse.sweep(dse.load({**NBODY, "limits": {"memory": {"max": "16 kB"}}, "sweep": swept}))
    assert dataset["memory"].attrs["units"] == "word"
    assert dataset["memory"].values == pytest.approx([2000.0, 2000.0])
