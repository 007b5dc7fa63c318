"""An answer that was written as JSON and read back says all that it said: words for numbers, and infinite ones."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

import dse
from results.export import answer_files
from results.export.jsonable import to_json
from results.stores.files.trouble import StoreError

READY = [
    "dvfs_one_setting",  # a menu
    "hardware_cores_or_dies",  # a time between failures without end
    "partition_grace_h100_divisible",  # families of regions and processors
    "roofline_platform_streaming",  # a number that stands for a sentence
    "training_heads_do_not_divide",  # the model's own limits conflict
]


def written(name: str) -> dict[str, Any]:
    return dict(json.loads(json.dumps(to_json(dse.solve(name)), allow_nan=False)))


@pytest.mark.parametrize("name", READY)
def test_an_answer_read_back_is_the_answer(name: str):
    answer = dse.solve(name)
    again = answer_files.from_json(json.loads(json.dumps(to_json(answer), allow_nan=False)))
    assert str(again) == str(answer)
    for field in dataclasses.fields(answer):
        if field.name != "seconds":
            assert getattr(again, field.name) == getattr(answer, field.name), field.name


def test_an_answer_whose_question_cannot_be_read_any_more_keeps_its_numbers():
    record = written("hardware_cores_or_dies")
    record["scenario"] = "model = 'gone'"
    again = answer_files.from_json(record)
    assert again.metrics["mtbf"] == float("inf")
    assert again.objective == record["objective"]


@pytest.mark.parametrize(
    "place",
    [["metrics", "mtbf", "nan"], ["metrics", "time", "inf"], ["metrics", "no", "inf"], ["inf"], "x", 3],
)
def test_a_place_where_no_infinite_number_can_stand_is_no_answer(place: Any, tmp_path: Path):
    record = written("hardware_cores_or_dies")
    record["infinite"] = [place]
    file = tmp_path / "a.json"
    file.write_text(json.dumps(record))
    with pytest.raises(StoreError, match="holds no answer"):
        answer_files.read(file)
