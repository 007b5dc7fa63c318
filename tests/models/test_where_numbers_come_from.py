"""Answers on training and serving say where the numbers of the machine come from, and whether times were checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dse
from dse.machines import origins
from dse.machines.catalogue import get
from dse.reporting import reports
from results.export.answer_files import from_json
from results.export.jsonable import to_json
from results.summaries import checked
from results.telling import render, sources

TRAINING = {"layers": 24, "hidden": 2048, "heads": 16, "sequence": 1024, "global_batch": 64}
SERVING = {"layers": 32, "hidden": 4096, "heads": 32, "prompt": 1000, "output": 500, "batch": 8}
HEADING = "where the machine's numbers come from"
OWN = """
title = "Ours"
source = "our laboratory"
evidence = "measured"

[parameters]
time_per_flop = "4e-15 s/flop"
time_per_byte = "5e-13 s/byte"
word_size = "2 byte"
memory_capacity = "4e10 word"
core_time_per_word = "1e-11 s/word"
time_per_word = { value = "1e-10 s/word", evidence = "assumed" }
constant_power = "100 W"
usable_power = "500 W"
energy_per_flop = "3e-13 J/flop"
energy_per_byte = "3e-11 J/byte"
"""


def solved(model: str, machine: Any, **more: Any) -> dse.Solution:
    """Answer a question about one design."""
    given = TRAINING if model == "transformer_training" else SERVING
    return dse.solve({"model": model, "machine": machine, "given": given} | more)


@pytest.mark.parametrize(
    ("model", "machine", "kinds", "flag"),
    [
        ("transformer_training", "dgx-a100-vtrain2024",
         {"launch_time": "fitted to measurements", "time_per_flop": "data sheet", "constant_power": "derived",
          "matrix_padding": "the model's default"}, "within the runs"),
        ("transformer_training", "dgx-h100-bf16",
         {"time_per_flop": "data sheet", "launch_time": "the model's default"}, "not on this machine"),
        ("transformer_inference", "a100-sxm-80gb-measured",
         {"time_per_flop": "fitted to measurements", "energy_per_flop": "derived", "time_per_word": "data sheet"},
         "within the layers"),
        ("transformer_inference", "h100-sxm-bf16", {"time_per_byte": "data sheet"}, "not on this machine"),
    ],
)  # fmt: skip
def test_terminal_json_and_page_say_it(model: str, machine: str, kinds: dict[str, str], flag: str) -> None:
    found = solved(model, machine)
    assert {n: found.sources[f"machine.{n}"] for n in kinds} == kinds
    told = to_json(found)
    assert (told["sources"], told["names"]["checked"]) == (dict(found.sources), flag)
    assert dict(from_json(json.loads(json.dumps(told))).sources) == dict(found.sources)
    # the page and the terminal show the same tables
    parts = {part.heading: part.rows for part in render.parts(found)}
    assert ("checked", flag) in parts["in words"]
    for name, kind in kinds.items():
        assert name in dict(parts[HEADING])[kind].split(", ")
    assert HEADING in str(found)


def test_a_file_of_ones_own_says_what_it_states(tmp_path: Path) -> None:
    path = tmp_path / "ours.toml"
    path.write_text(OWN, encoding="utf-8")
    for model in ("transformer_training", "transformer_inference"):
        found = solved(model, str(path))
        assert found.sources["machine.time_per_byte"] == "measured"
        assert found.sources["machine.matrix_efficiency"] == "the model's default"
        assert to_json(found)["names"]["checked"] == "not on this machine"
    assert solved("transformer_training", str(path)).sources["machine.time_per_word"] == "assumed"
    path.write_text(OWN.replace('evidence = "measured"\n', ""), encoding="utf-8")
    assert solved("transformer_training", str(path)).sources["machine.time_per_byte"] == origins.NOT_SAID


def test_what_a_question_changes_is_its_own_and_what_it_decides_has_no_source() -> None:
    changed = {"base": "dgx-h100-bf16", "matrix_efficiency": 0.7}
    decided = {"machine.time_per_word": {"min": 1e-12, "max": 1e-9}}
    found = solved("transformer_training", changed, decide=decided, objective={"minimize": "step_time"})
    assert found.sources["machine.matrix_efficiency"] == "stated in the question"
    assert "machine.time_per_word" not in found.sources


def test_of_several_machines_those_of_the_chosen_one_are_told() -> None:
    names = ["dgx-h100-bf16", "dgx-a100-vtrain2024"]
    asked = {"decide": {"machine": {"values": names}}, "model": "transformer_training", "given": TRAINING}
    for goal, launch in (("minimize", "the model's default"), ("maximize", "fitted to measurements")):
        found = dse.solve(asked | {"objective": {goal: "step_time"}})
        assert found.sources["machine.launch_time"] == launch


def test_figures_of_a_data_sheet_are_that_and_guesses_between_them_are_derived() -> None:
    kinds = origins.kinds(get("dgx-h100-bf16"))
    assert kinds["memory_capacity"] == "data sheet"
    # between 0 and the design power
    assert kinds["constant_power"] == "derived"


def test_other_models_say_nothing_more() -> None:
    assert dict(dse.solve("nbody_deadline").sources) == {}
    assert "sources" not in to_json(dse.solve("nbody_deadline"))


def test_serving_was_checked_up_to_the_longest_and_widest_layer() -> None:
    def near(machine: str = "a100-sxm-80gb-measured", **given: float) -> tuple[float, float]:
        found = solved("transformer_inference", machine, given=SERVING | given)
        return found.metrics["checked"], found.metrics["checked_range"]

    assert near() == (2.0, pytest.approx(1500 / 3072))
    assert near(prompt=5644) == (1.0, 2.0)
    assert near(tensor_parallel=8) == (1.0, 2.0)
    assert near("h100-sxm-bf16", prompt=5644) == (0.0, 0.0)


def test_sweeps_fronts_and_their_pages_say_it_of_their_points(tmp_path: Path) -> None:
    swept = {"sequence": {"path": "hidden", "values": [2048, 512]}}
    asked = {
        "model": "transformer_training",
        "machine": "dgx-a100-vtrain2024",
        "given": TRAINING,
        "sweep": swept,
    }
    found = dse.sweep(asked, tmp_path / "s.zarr")
    told = dict(checked.of_dataset([found]))
    assert told["checked"] == "beyond the runs at 1 of 2 points, within the runs at 1 of 2 points"
    assert "fitted to measurements: " in told["numbers"]
    assert ("checked", told["checked"]) in reports.of_dataset(found).answer
    assert checked.of_dataset([found.assign_attrs().drop_attrs()]) == []
    points = [solved("transformer_training", m) for m in ("dgx-h100-bf16", "dgx-a100-vtrain2024")]
    several = dict(sources.of_solutions(points))
    assert several["checked"] == "not on this machine at 1 of 2 points, within the runs at 1 of 2 points"


def test_a_page_tells_a_default_of_the_model_from_what_the_scenario_states() -> None:
    page = reports.of_solution(
        solved("transformer_training", {"base": "dgx-h100-bf16", "matrix_efficiency": 0.7})
    )
    (section,) = (s for s in page.sections if s.heading == "Machine parameters")
    origin = {row[0]: row[-1] for row in section.tables[0][2]}
    assert origin["matrix_efficiency"] == "stated in the scenario"
    assert origin["memory_efficiency"] == "the model's default"
