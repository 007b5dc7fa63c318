"""Amounts of words that a file states in bytes are shown in bytes; numbers of answers and datasets stay in words."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from click.testing import CliRunner

import dse
import scenarios
from dse import machines
from dse.cli import main
from dse.commands.terminal import sweep_summary
from dse.quantities import to_si
from dse.reporting import reports
from results import axes
from results.export.answer_files import from_json
from results.export.jsonable import to_json
from results.page import columns
from results.solution import Solution, Status
from results.summaries import headlines, question_words
from results.telling import sizes, words
from results.telling.facts import LimitState
from results.telling.render import to_html, to_text
from scenarios.language.toml_text import to_toml

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
    before = {k: v for k, v in record.items() if k != "bytes_per_word"}
    assert row(from_json(before), "limits", "memory")[1] == "≤ 2 kword", "an answer kept before this was said"
    assert "bytes_per_word" not in to_json(asked())
    dataset = swept()
    for name in ("memory", "memory_max"):
        assert (dataset[name].attrs["units"], dataset[name].attrs["bytes_per_word"]) == ("word", WORD)
    assert dataset["memory"].values == pytest.approx([500.0, 1000.0, 2000.0])
    assert "bytes_per_word" not in dataset["words"].attrs


def swept(**more: Any) -> xr.Dataset:
    axis = {"memory_max": {"path": "limits.memory.max", "values": ["4 kB", "8 kB", "16 kB"]}}
    return dse.sweep(dse.load({**NBODY, "sweep": axis, **more}))


def test_a_swept_limit_in_bytes_is_told_in_bytes(capsys: pytest.CaptureFixture[str]):
    dataset = swept()
    sweep_summary.show_ranges(dataset)
    assert re.search(r"^memory +4 kB +16 kB", capsys.readouterr().out, re.MULTILINE)
    sweep_summary.show_best(dataset, sweep_summary.best(dataset))
    assert "at memory max 16 kB" in capsys.readouterr().out
    shown = {c.name: c for c in columns.of_dataset(dataset).columns}
    assert (shown["memory"].unit, shown["memory"].values) == ("kB", (4.0, 8.0, 16.0))
    assert (shown["memory_max"].unit, shown["words"].unit) == ("kB", "kword")
    assert [axes.value_label(dataset["memory_max"], i).partition(": ")[2] for i in (0, 1)] == ["4 kB", "8 kB"]


def test_an_axis_over_bytes_has_ticks_at_whole_bytes():
    values = {"path": "limits.memory.max", "start": "1 kB", "stop": "2 MB", "num": 4, "spacing": "log"}
    panel = swept(sweep={"memory_max": values}).dse.sweep("energy").axes[0]
    panel.figure.canvas.draw()
    ticks = [t.get_text() for t in panel.get_xticklabels()]
    assert {"1 kB", "10 kB", "100 kB", "1 MB"} <= set(ticks)


def test_feasible_values_over_a_grid_are_told_in_bytes():
    """100 processors hold 1e5 bodies between them: 1000 words each."""
    fixed = {"given": {**NBODY["given"], "processors": 100}, "decide": {"memory": {}}}
    axis = {"memory_max": {"path": "limits.memory.max", "values": ["1 kB", "16 kB"]}}
    found = columns.of_dataset(swept(**fixed, sweep=axis))
    assert found.limits[0][0] == "memory (feasible at 8 kB)"


@pytest.mark.parametrize(("unit", "needed"), [("word", 1252.9), ("word", 1253.1), ("failure/s", 1.23456e-9)])
def test_a_feasible_value_is_feasible_when_typed_in(unit: str, needed: float):
    state = LimitState(math.nan, needed / 10, "max", unit, math.nan, binding=False)
    found = Solution(
        Status.INFEASIBLE,
        conflict={"cap": needed},
        limits={"cap": state},
        units={"cap": unit},
        bytes_per_word={"cap": WORD} if unit == "word" else {},
    )
    ((_, told),) = words.conflict(sizes.as_asked(found))
    typed = re.match(r"≤ (\S+ \S+) \(asked", told)
    assert typed is not None
    assert needed <= to_si(typed[1], unit, WORD) <= needed * 1.001


def test_the_question_is_told_in_bytes():
    decide = {**NBODY["decide"], "memory": {"min": "1 kB", "max": "16 kB"}}
    asked_ = {**NBODY, "decide": decide, "limits": {"words": {"max": "1 MB"}}}
    told = question_words.sentence(scenarios.grid(dse.load(asked_)), {})
    assert "memory (1 kB to 16 kB)" in told
    assert "words ≤ 1 MB" in told
    axis = {"memory_max": {"path": "limits.memory.max", "start": "1 kB", "stop": "4 kB", "num": 4}}
    told = question_words.sentence(scenarios.grid(dse.load({**NBODY, "sweep": axis})), {})
    assert "for every memory max (1 kB, 2 kB, 3 kB, 4 kB)" in told


def test_a_front_in_bytes_is_told_in_bytes(tmp_path: Path):
    decide = {"processors": {"max": 4096}, "memory": {"max": "1 MB"}}
    wanted = {"minimize": ["time", "memory"], "front": {"points": 3}}
    question = {**NBODY, "decide": decide, "objective": wanted}
    (tmp_path / "front.toml").write_text(to_toml(question), encoding="utf-8")
    done = CliRunner().invoke(main, ["front", str(tmp_path / "front.toml")])
    assert re.search(r"^ *2 +\S+ ms +195.31 B ", done.output, re.MULTILINE)
    dataset = dse.front(dse.load(question))
    assert "memory 195.3 B" in headlines.of_dataset(dataset)
    between = [n for n, a in dataset.items() if a.dims == ("enclosure",) and a.attrs["units"] == "word"]
    assert len(between) == 2
    assert all(dataset[n].attrs["bytes_per_word"] == WORD for n in between)


@pytest.mark.parametrize(
    ("machine", "path", "values"),
    [
        (NBODY["machine"], "machine.word_size", [4, 8]),
        (None, "machine", ["balanced-4", "balanced-8"]),
    ],
)
def test_where_words_differ_in_size_they_are_told_as_words(
    tmp_path: Path, machine: Any, path: str, values: list[Any]
):
    if machine is None:
        for name in values:
            own = machines.get("balanced").parameters
            told = {k: v for k, v in own.items() if k != "word_size"} | {"word_size": float(name[-1])}
            (tmp_path / f"{name}.toml").write_text(
                to_toml({"title": name, "parameters": told}), encoding="utf-8"
            )
        values = [str(tmp_path / f"{name}.toml") for name in values]
    rest = {k: v for k, v in NBODY.items() if k != "machine"} | ({"machine": machine} if machine else {})
    limits = {"memory": {"max": "16 kB"}}
    dataset = dse.sweep(
        dse.load({**rest, "limits": limits, "sweep": {"m": {"path": path, "values": values}}})
    )
    assert "bytes_per_word" not in dataset["memory"].attrs
    assert axes.amount(float(dataset["memory"].values[1]), dataset["memory"]) == "2 kword"


@pytest.mark.parametrize(
    ("sizes_", "told"), [((8, 8), ["8 kB", "16 kB (×2)"]), ((4, 8), ["2 kword", "2 kword (×1)"])]
)
def test_answers_side_by_side_are_told_alike(tmp_path: Path, sizes_: tuple[int, int], told: list[str]):
    """Ratios are those of words, whatever their size."""
    for most, size in zip(("8 kB", "16 kB"), sizes_, strict=True):
        question = {**NBODY, "machine": {"base": "balanced", "word_size": size}}
        question["limits"] = {"memory": {"max": most}}
        (tmp_path / f"{most}.toml").write_text(to_toml(question), encoding="utf-8")
    found = dse.compare(str(tmp_path / "8 kB.toml"), str(tmp_path / "16 kB.toml"))
    design = dict(found.table()[1])["design"]
    assert next(cells for cells in design if cells[0] == "memory") == ["memory", *told]
    assert next(r for r in found.record()["rows"] if r["name"] == "memory")["unit"] == "word"


def test_over_samples_bytes_are_told_and_records_have_words(tmp_path: Path):
    decide = {"processors": {"max": 4096}, "memory": {"max": "16 kB"}}
    unknown = {"machine.energy_per_word": {"uniform": ["1 uJ/word", "5 uJ/word"]}, "sampling": {"samples": 8}}
    (tmp_path / "u.toml").write_text(
        to_toml({**NBODY, "decide": decide, "uncertain": unknown}), encoding="utf-8"
    )
    told = CliRunner().invoke(main, ["uncertainty", str(tmp_path / "u.toml")]).output
    assert re.search(r"^memory +16 kB", told, re.MULTILINE)
    record = CliRunner().invoke(main, ["uncertainty", str(tmp_path / "u.toml"), "--json"]).stdout
    memory = json.loads(record)["numbers"]["memory"]
    assert (memory["unit"], memory["greatest"]) == ("word", pytest.approx(2000.0))


def test_a_machine_s_memory_in_bytes_is_told_in_bytes_on_the_page():
    found = asked(machine={"base": "balanced", "word_size": WORD, "memory_capacity": "16 kB"})
    page = reports.of_solution(found)
    told = {row[0]: row[1] for s in page.sections for _, _, rows in s.tables for row in rows}
    assert told["memory_capacity"] == "16 kB"
