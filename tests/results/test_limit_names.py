"""Names of limits where machines are chosen: those of every combination, without going through all of them."""

from __future__ import annotations

import itertools

import pytest

import dse
import scenarios
from formulations import evaluation
from formulations.row_keys import RowKey
from results.telling import limits
from scenarios.question import Question, combinations, fixed

MACHINES = (
    "gtx-750-tang2017",
    "gtx-titan-tang2017",
    "gtx-titan-choi2014",
    "gtx580-choi2014",
    "i7-2600k-tang2017",
)


def asked(source: dict[str, object]) -> Question:
    return scenarios.grid(dse.load(source)).question(())


def partition(processors: int) -> Question:
    """A region on so many processors, each of which may be any of five machines."""
    return asked(
        {
            "model": "partition",
            "given": {"regions": [{"flops": 1e9, "bytes": 1e9}]},
            "decide": {f"machine.m{i}": {"values": list(MACHINES)} for i in range(processors)},
            "objective": {"minimize": "time"},
        }
    )


def test_millions_of_combinations_are_not_gone_through(monkeypatch: pytest.MonkeyPatch):
    run, calls = evaluation.metrics, itertools.count()
    monkeypatch.setattr(evaluation, "metrics", lambda *args: (next(calls), run(*args))[1])
    assert limits.limit_names(partition(10)) == ("whole.1",)
    assert next(calls) <= limits.MOST_NAME_COMBINATIONS


@pytest.mark.parametrize("most", [256, 1])
def test_the_names_are_those_of_every_combination(most: int, monkeypatch: pytest.MonkeyPatch):
    """Of machines with a memory and without, an always-on limit is there for some: it is named."""
    monkeypatch.setattr(limits, "MOST_NAME_COMBINATIONS", most)
    question = asked(
        {
            "model": "matmul",
            "given": {"order": 35000},
            "decide": {
                "machine": {"values": ["balanced", "jaketown"]},
                "processors": {"max": 64},
                "memory": {},
            },
            "objective": {"minimize": "energy"},
            "limits": {"time": {"max": "100 s"}},
        }
    )
    every: dict[RowKey, None] = {}
    for choice, _ in combinations(question):
        every |= dict.fromkeys(limits._limit_keys(fixed(question, choice)))
    assert set(limits.limit_names(question)) == {evaluation.label(key, every) for key in every}
