"""Whatever stands in the lists, maps and nested tables of a scenario, the only error is a ScenarioError."""

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenarios import Grid, ScenarioError, grid, load
from scenarios.question import Question
from scenarios.questions import question

PARTITION: dict[str, Any] = {
    "model": "partition",
    "machine": {"cpu": "i7-2600k", "gpu": "gtx-titan-tang2017", "old": {"base": "i3-2100t"}},
    "given": {
        "regions": [{"name": "a", "flops": 1e9, "bytes": 1e9}, {"flops": 1, "bytes": 2, "divisible": False}],
        "transfers": [{"from": "a", "to": "2", "bytes": "1 MB"}],
    },
    "objective": {"minimize": "time"},
}
BLOCKS: dict[str, Any] = {
    "model": "blocks",
    "machine": {"cpu": "i7-2600k", "gpu": "gtx-titan-tang2017"},
    "given": {"flops": 1e9, "bytes": 1e9},
    "objective": {"minimize": "energy"},
}
DVFS: dict[str, Any] = {
    "model": "dvfs",
    "machine": {"base": "jetson-tk1", "flops_per_cycle": 300},
    "given": {"phases": [{"name": "a", "flops": 1e9}, {"bytes": 3}]},
    "objective": {"minimize": "energy"},
}
WORDS = ["a", "2", "cpu", "gpu", "min", "1 s", "3 Gflop", "i7-2600k", "852-924", "mine.toml", "time", ""]
KEYS = [
    "name",
    "flops",
    "bytes",
    "times",
    "divisible",
    "independent",
    "from",
    "to",
    "base",
    "settings",
    "min",
]
KEYS += [
    "max",
    "values",
    "integer",
    "path",
    "share",
    "count",
    "setting",
    "machine",
    "machine.cpu",
    "a",
    "cpu",
]
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 20), st.floats(), st.sampled_from(WORDS), st.text(max_size=4)
)
keys = st.one_of(st.sampled_from(KEYS), st.sampled_from(WORDS), st.text(max_size=4))
junk = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=8,
)
PATHS = ["machine", "machine.cpu", "machine.cpu.base", "regions.a.flops", "phases.a.flops", "count.cpu"]
PATHS += ["limits.time.cpu.max", "decide.count.cpu.max", "setting", "setting.a", "execution", "sharing"]
sweeps = st.fixed_dictionaries(
    {"path": st.sampled_from(PATHS)},
    optional={"values": st.lists(leaves, max_size=3), "factors": st.just([1, 2])},
)
PLACES = [("given", n) for n in ("regions", "transfers", "phases", "share", "count", "setting", "execution")]
PLACES += [("given", n) for n in ("links", "order", "unused", "period")]
PLACES += [("decide", n) for n in ("share", "count", "setting", "machine", "machine.cpu", "share.a.cpu")]
PLACES += [("machine", n) for n in ("cpu", "gpu", "x.y", "settings", "base")] + [("limits", "time")]


@pytest.mark.parametrize("good", [PARTITION, BLOCKS, DVFS], ids=lambda d: d["model"])
def test_what_is_spoilt_here_is_right(good: Any) -> None:
    assert question(load(good)).decide


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.sampled_from([PARTITION, BLOCKS, DVFS]),
    st.dictionaries(st.sampled_from(PLACES), junk, max_size=3),
    st.dictionaries(st.just("study"), sweeps, max_size=1),
)
def test_nothing_in_lists_and_maps_leads_to_another_error(good: Any, parts: Any, axes: Any) -> None:
    data = copy.deepcopy(good) | ({"sweep": axes} if axes else {})
    for (section, name), value in parts.items():
        entries = data.setdefault(section, {})
        entries[name] = value
    try:
        found = grid(load(data))
    except ScenarioError as caught:
        refused = caught
    else:
        _every_corner(found, good["model"])
        return
    assert refused.problems
    assert all(p.wrong and p.right for p in refused.problems)
    assert "pydantic" not in str(refused)


def _every_corner(found: Grid, model: str) -> None:
    for index in ((0,) * len(found.axes), tuple(n - 1 for n in found.shape)):
        assert found.question(index).model.name == model


row = st.dictionaries(st.sampled_from(KEYS[:9]), leaves, max_size=5)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(row, max_size=3), st.lists(row, max_size=2))
def test_nothing_in_rows_leads_to_another_error(regions: Any, transfers: Any) -> None:
    data = copy.deepcopy(PARTITION)
    data["given"] = {"regions": regions, "transfers": transfers}
    try:
        asked = question(load(data))
    except ScenarioError as caught:
        refused = caught
    else:
        _same_rows(asked, regions)
        return
    assert all(p.key and p.wrong and p.right for p in refused.problems)


def _same_rows(asked: Question, regions: Any) -> None:
    assert {n for n in asked.given if n.startswith("regions.")} == {
        f"regions.{r.get('name', str(i + 1))}.{n}" for i, r in enumerate(regions) for n in ("flops", "bytes")
    }
