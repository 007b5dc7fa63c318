"""[[kernels]]: each mistake has one message, and nothing leads to another error."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kernel_questions import FORCES, PRODUCT, QUESTION, SPMV, asked, kernels

import dse
import scenarios
from scenarios import ScenarioError
from scenarios.language.schema import KernelEntry

MISTAKES = [
    (asked(kernels=kernels({"name": None})), "kernels[0]", "this kernel has no name"),
    (asked(kernels=kernels({}, {"name": "forces"})), "kernels[1].name", "two kernels are called forces"),
    (asked(kernels=kernels({"name": "time"})), "kernels[0].name", "time is a metric of all kernels together"),
    (asked(kernels=kernels({"name": "bodies"})), "kernels[0].name", "bodies is an input of nbody already"),
    (asked(kernels=kernels({"name": "limits"})), "kernels[0].name", "a word of the scenario language"),
    (asked(kernels=[]), "kernels", "the list of kernels is empty"),
    (asked(kernels=kernels({"name": "a.b"})), "kernels[0].name", "cannot name a kernel"),
    (asked(kernels=kernels({"model": "nbdy"})), "kernels[0].model", "no model"),
    (asked(kernels=kernels({"model": "partition"})), "kernels[0].model", "map of machines"),
    (asked(kernels=kernels({"model": "dvfs"})), "kernels[0].model", "lists"),
    (asked(kernels=kernels({"model": None})), "kernels[0]", "has no model"),
    (asked(kernels=kernels({"workload": "spmv"})), "kernels[0]", "exclude each other"),
    (asked(kernels=[{**SPMV, "workload": "spmw"}]), "kernels[0].workload", "no workload"),
    (
        asked(kernels=[{k: v for k, v in SPMV.items() if k != "size"}]),
        "kernels[0].size",
        "spmv is counted for one nonzero",
    ),
    (asked(kernels=[{**SPMV, "size": 0}]), "kernels[0].size", "size = 0 is not an amount of work"),
    (asked(kernels=[{**SPMV, "given": {"bytes": 1}}]), "kernels[0].given.bytes", "comes from the workload"),
    (
        asked(kernels=[SPMV], given={f"{SPMV['name']}.bytes": 1}),
        f"given.{SPMV['name']}.bytes",
        "comes from the workload",
    ),
    (asked(kernels=kernels({"size": 3})), "kernels[0].size", "counts units of a workload"),
    (asked(kernels=kernels({"repeat": 2.5})), "kernels[0].repeat", "is not a whole number"),
    (asked(kernels=kernels({"repeat": 0})), "kernels[0].repeat", "too small"),
    (asked(kernels=kernels({"given": {"bodis": 1e5}})), "kernels[0].given.bodis", "no input of nbody"),
    (asked(kernels=kernels({"given": {"bodies": [1]}})), "kernels[0].given.bodies", "single value"),
    (
        asked(kernels=kernels({"given": {"leakage_power": 1}})),
        "kernels[0].given.leakage_power",
        "machine table",
    ),
    (asked(kernels=kernels({"limits": {}})), "kernels[0].limits", "does not belong here"),
    (asked(kernels=3), "kernels", "is not a list of tables"),
    (asked(kernels=None), "model", "no model is named"),
    (asked(model="nbody"), "model", "exclude each other"),
    (asked(machine={"a": "balanced", "b": "balanced"}), "machine", "not on a map of machines"),
    (asked(given={"memory": 1e4}), "decide.forces.memory", "memory at given.memory is one number"),
    (asked(given={"forces.bodies": 1e5}), "kernels[0].given.bodies", "is given twice"),
    (asked(limits={"words": {"max": 1}}), "limits.words", "is not a metric of the whole"),
    (asked(objective={"minimize": "flops"}), "objective", "is not a metric of the whole"),
    (asked(limits={"forces.tme": {"max": 1}}), "limits.forces.tme", "no metric of nbody + matmul"),
    (asked(idle=True), "idle", "no time idle"),
    (asked(idle="perhaps"), "idle", "neither true nor false"),
    (
        asked(sweep={"x": {"path": "given.forces.bodis", "values": [1]}}),
        "sweep.x.path",
        "names nothing in this question",
    ),
    (asked(define={"forces": "2 * energy"}), "define.forces", "is a kernel"),
]


@pytest.mark.parametrize(("question", "key", "part"), MISTAKES, ids=[f"{k}: {p}" for _, k, p in MISTAKES])
def test_a_mistake_has_one_message(question: dict[str, Any], key: str, part: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        dse.load(question)
    (problem,) = caught.value.problems
    assert problem.key == key
    assert part in problem.wrong
    assert problem.right


def test_both_are_told_of_with_all_that_may_be_written() -> None:
    with pytest.raises(ScenarioError, match=r"write memory for all, or forces\.memory and product\.memory"):
        dse.load(asked(given={"memory": 1e4}))


WORDS = [
    "forces",
    "product",
    "nbody",
    "fft",
    "roofline",
    "spmv",
    "bodies",
    "memory",
    "processors",
    "time",
    "1 s",
    "a.b",
]
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 40), st.floats(), st.sampled_from(WORDS), st.text(max_size=4)
)
JUNK = st.one_of(
    LEAVES, st.lists(LEAVES, max_size=2), st.dictionaries(st.sampled_from(WORDS), LEAVES, max_size=3)
)
ENTRY = st.dictionaries(st.sampled_from([*KernelEntry.model_fields, "decide"]), JUNK, max_size=4)
PLACES = st.sampled_from(
    ["forces.memory", "memory", "forces", "forces.bodies", "product.repeat", "forces.time", "words"]
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    changes=st.lists(ENTRY, max_size=3),
    given_=st.dictionaries(PLACES, JUNK, max_size=2),
    decide=st.dictionaries(PLACES, st.just({}), max_size=2),
    ways=st.dictionaries(st.sampled_from(["idle", "overlap"]), JUNK, max_size=2),
)
def test_nothing_in_kernels_leads_to_another_error(changes: Any, given_: Any, decide: Any, ways: Any) -> None:
    entries = kernels(*changes) if changes else [FORCES, PRODUCT]
    question = asked(kernels=entries, given=given_, decide={**QUESTION["decide"], **decide}, **ways)
    try:
        found = scenarios.grid(scenarios.load(question))
    except ScenarioError as caught:
        error = caught
    else:
        assert found.question(()).model.name
        return
    assert error.problems
    assert all(p.wrong and p.right for p in error.problems)
    assert "pydantic" not in str(error)
    assert "validation error" not in str(error)
