"""A tenth of the frozen answers, drawn with a fixed seed, is what ``dse.solve`` says today."""

from __future__ import annotations

import random
import re

import frozen
import pytest

RECORDS = frozen.records()
DRAWN = random.Random(12).sample(RECORDS, len(RECORDS) // 10)


@pytest.mark.parametrize("record", DRAWN, ids=lambda record: record["name"])
def test_answer_is_the_frozen_one(record: frozen.Record):
    assert frozen.differences(record["answer"], frozen.told(record)) == []


def test_differences_are_seen():
    """The comparison that all this rests on tells a value, a design, a limit's worth and a conflict apart."""
    record = next(r for r in RECORDS if r["name"] == "nbody_deadline")["answer"]
    assert frozen.differences(record, record) == []
    moved = {**record, "objective": record["objective"] * (1 + 1e-7)}
    assert [text.split(":")[0] for text in frozen.differences(record, moved)] == ["objective"]
    other = {
        **record,
        "variables": {**record["variables"], "memory": record["variables"]["memory"] * 1.00001},
    }
    assert [text.split(":")[0] for text in frozen.differences(record, other)] == ["variable memory"]
    assert frozen.differences(record, {**record, "conflicts": [["time"]]}) != []
    assert frozen.differences(record, {**record, "limits": {}}) != []


def test_every_ready_scenario_that_can_be_asked_alone_is_frozen():
    stems = {r["name"].split("/")[0].split(" ")[0] for r in RECORDS}
    # a table lies beside its file, and a record has no place
    tables = {
        p for p in frozen.LIBRARY.glob("*.toml") if re.search(r"\btable *= *", p.read_text(encoding="utf-8"))
    }
    assert stems == {path.stem for path in set(frozen.LIBRARY.glob("*.toml")) - tables}
