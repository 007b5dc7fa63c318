"""Files, library names, mappings and keywords lead to the same question; unreadable files are refused."""

import hashlib
import os
import pickle
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios import Scenario, ScenarioError, from_text, grid, library, load
from scenarios.language.toml_text import to_toml
from scenarios.question import Question
from scenarios.questions import question

TEXT = """
title   = "A question"
model   = "nbody"
machine = { base = "jaketown", leakage_power = "10 W" }
waive   = ["replication"]

[given]
bodies         = 1e6
flops_per_pair = 20

[decide]
processors = { min = 1, max = 65536, integer = true }
memory     = { max = "16 GiB" }
machine.energy_per_flop = { max_halvings = 4 }

[objective]
minimize = ["energy", "time"]
[objective.front]
points = 4e1

[limits]
time  = { max = "10 s" }
power = { max = "10 kW" }

[sweep.deadline]
path    = "limits.time.max"
start   = "1 s"
stop    = "100 s"
num     = 41
spacing = "log"
"""
MAPPING: dict[str, Any] = {
    "title": "A question",
    "model": "nbody",
    "machine": {"base": "jaketown", "leakage_power": 10},
    "waive": ("replication",),
    "given": {"bodies": np.float64(1e6), "flops_per_pair": np.int64(20)},
    "decide": {
        "processors": {"min": 1, "max": 65536, "integer": True},
        "memory": {"max": 2**32},
        "machine.energy_per_flop": {"max_halvings": 4},
    },
    "objective": {"minimize": ["energy", "time"], "front": {"points": 40}},
    "limits": {"time": {"max": Fraction(10)}, "power": {"max": Decimal(10000)}},
    "sweep": {"deadline": {"path": "limits.time.max", "start": 1, "stop": 100, "num": 41, "spacing": "log"}},
}


def bare(asked: Question) -> Question:
    """The question without the text it came from."""
    return replace(asked, scenario_text="")


def test_file_mapping_keywords_and_text_ask_the_same(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(TEXT, encoding="utf-8")
    made = [load(path), load(str(path)), load(MAPPING), Scenario(**MAPPING), from_text(TEXT)]
    assert len({repr(bare(question(s))) for s in made}) == 1
    assert len({repr(bare(grid(s).question((3,)))) for s in made}) == 1


def test_a_file_keeps_its_text_and_hash(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    made = load(path)
    assert made.file == str(path)
    assert made.text == TEXT
    assert made.hash == hashlib.sha256(TEXT.encode()).hexdigest()
    assert question(made).scenario_text == TEXT
    assert question(made).scenario_hash == made.hash


def test_the_text_of_a_mapping_can_be_loaded_again() -> None:
    first = load(MAPPING)
    again = from_text(first.text)
    assert again.text == first.text
    assert bare(question(again)) == bare(question(first))
    assert load(dict(MAPPING)).hash == first.hash
    assert load(MAPPING | {"gap": 1e-4}).hash != first.hash


def test_a_scenario_travels_to_other_processes() -> None:
    made = from_text(TEXT, "study.toml")
    there = pickle.loads(pickle.dumps(made))
    assert (there.text, there.file) == (made.text, made.file)
    assert question(there) == question(made)
    with pytest.raises(ScenarioError) as caught:
        load(MAPPING | {"idle": 3})
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems


def test_a_scenario_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load(MAPPING).model = "matmul"


@pytest.mark.parametrize("name", sorted(library()))
def test_every_library_scenario_loads_by_name_and_asks_something(name: str) -> None:
    made = load(name)
    asked = grid(made).question((0,) * len(grid(made).axes))
    assert made.title
    assert asked.title == made.title
    assert asked.scenario_text == made.text


def test_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    assert question(load(path)).title == "A question"


@pytest.mark.parametrize(
    ("text", "key", "wrong"),
    [
        ("model = nbody\n", "line 1, column 9", "invalid value"),
        ('model = "nbody"\n[given\nbodies = 1\n', "line 2, column 7", "expected"),
        ('model = "nbody"\nmodel = "fft"\n', "line 2, column 14", "has a value already"),
        ("[limits]\n[given]\n[limits]\n", "line 3, column 8", "the table [limits] stands in the file twice"),
        ("[sweep.t]\n[sweep.t]\n", "line 2, column 9", "the table [sweep.t] stands in the file twice"),
        ('model = "nbody', "line 1, column 15", "unterminated"),
        ("model = " + "[" * 5000, "", "too deeply"),
    ],
)
def test_a_syntax_error_shows_line_and_column(text: str, key: str, wrong: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        from_text(text, "broken.toml")
    (found,) = caught.value.problems
    assert (found.file, found.key) == ("broken.toml", key)
    assert wrong in found.wrong


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ('model = "nbody"\ntime = 50 ms\n', 'in quotes: "50 ms"; the line reads: time = 50 ms'),
        ("model = nbody\n", 'text stands in quotes: "nbody"'),
        ("time = { max = 50 ms }\n", "a number with a unit stands in quotes"),
        (
            'model = "nbody\nmachine = "x"\n',
            'close the quotes on the line on which they open; the line reads: model = "nbody',
        ),
        ('{"model": "nbody"}', "this seems to be JSON"),
    ],
)
def test_a_usual_slip_in_toml_is_told_how_to_write_it(text: str, right: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        from_text(text, "slip.toml")
    assert right in caught.value.problems[0].right


def test_a_store_in_place_of_a_scenario_is_told_what_shows_it(tmp_path: Path) -> None:
    store = tmp_path / "study.zarr"
    store.mkdir()
    with pytest.raises(ScenarioError, match="dse report"):
        load(store)


def refusal(path: str | Path) -> str:
    with pytest.raises(ScenarioError) as caught:
        load(path)
    (found,) = caught.value.problems
    assert found.file == str(path)
    assert found.right
    return found.wrong


def test_unreadable_files_are_refused_clearly(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "absent.toml")
    assert "directory" in refusal(tmp_path)
    latin = tmp_path / "latin.toml"
    latin.write_bytes('title = "Größe"'.encode("latin-1"))
    assert "not UTF-8 text (byte 11)" in refusal(latin)
    assert "cannot be read" in refusal("a\0b")
    assert "cannot be read" in refusal("a" * 5000)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(TEXT, encoding="utf-8")
    path.chmod(0)
    assert "Permission denied" in refusal(path)


@pytest.mark.parametrize("title", ["two words", " two\n words\n", "two\twords"])
def test_a_title_is_shown_on_one_line(title: str) -> None:
    made = load(MAPPING | {"title": title})
    assert made.title == "two words"
    assert question(made).title == "two words"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"title": 3}, 'title: 3 is not text\n    write it in quotes: "Fastest run"'),
        ({"model": 3}, 'model: 3 is not text\n    write a name in quotes, such as "nbody"'),
        (
            {"models": {"gemm": 3}},
            'models.gemm: 3 is not text\n    write a model file in quotes, such as "./gemm',
        ),
        ({"sweep": {"r": {"table": 3, "columns": {"bodies": "n"}}}}, "sweep.r.table: 3 is not text"),
    ],
)
def test_what_is_not_text_is_told_what_to_write_there(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as told:
        load(MAPPING | changed)
    assert said in str(told.value)


@pytest.mark.parametrize("table", ["given", "define", "limits", "decide", "sweep", "models", "uncertain"])
def test_a_file_of_a_program_is_refused_at_once(table: str) -> None:
    """And not mistake by mistake."""
    with pytest.raises(ScenarioError) as told:
        load(MAPPING | {table: {f"q{i}": "1" for i in range(10_001)}})
    assert [(p.key, p.wrong) for p in told.value.problems] == [(table, "there are 10001 entries")]


def test_a_misspelt_library_name_is_helped() -> None:
    with pytest.raises(ScenarioError, match="did you mean 'nbody_deadline'"):
        load("nbody_deadlin")
    with pytest.raises(ScenarioError) as caught:
        load("nbody_deadlin")
    assert "`dse scenarios` lists them" in str(caught.value)
    assert "fft_deadline" not in str(caught.value)


def test_other_sources_are_a_programming_mistake() -> None:
    with pytest.raises(TypeError, match="path or a mapping"):
        load(3)  # type: ignore[arg-type]


values = st.recursive(
    st.one_of(st.booleans(), st.text(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), values, max_size=5))
def test_toml_text_reads_back_as_the_same_data(data: dict[str, Any]) -> None:
    import tomllib

    assert tomllib.loads(to_toml(data)) == data


@pytest.mark.parametrize(
    ("text", "kind", "key"),
    [
        ('title = "x"\n[figures]\npeak_fp32 = "67 TFLOPS"\n', "of a machine", "machine"),
        ('title = "x"\n[parameters.time_per_flop]\nvalue = 1e-12\n', "of a machine", "machine"),
        ('kind = "fitted model"\nname = "gemm"\n', "of a fitted model", "model"),
    ],
)
def test_a_file_of_another_kind_is_named_in_one_mistake(
    tmp_path: Path, text: str, kind: str, key: str
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ScenarioError) as raised:
        load(path)
    (problem,) = raised.value.problems
    assert kind in problem.wrong
    assert f'{key} = "{path}"' in problem.right
