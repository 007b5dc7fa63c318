"""Whatever stands in a mapping, the only error is a ScenarioError; and asking costs little to import."""

import copy
import subprocess
import sys
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenarios import Scenario, ScenarioError, grid, load

WORDS = ["energy", "time", "processors", "memory", "machine.energy_per_flop", "jaketown", "10 s", "16 GiB"]
KEYS = ["min", "max", "values", "powers_of", "max_halvings", "integer", "path", "start", "stop", "num"]
KEYS += [
    "spacing",
    "factors",
    "paths",
    "table",
    "columns",
    "minimize",
    "maximize",
    "front",
    "points",
    "base",
    "machine",
    "bodies",
    "decide",
]
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 70),
    st.floats(),
    st.just(10**400),
    st.sampled_from(WORDS),
    st.text(),
)
junk = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.sampled_from(KEYS + WORDS), st.text(max_size=5)), inner, max_size=3),
    ),
    max_leaves=6,
)
SECTIONS = sorted(Scenario.model_fields)
PLACES = [("given", "bodies"), ("limits", "time"), ("objective", "front"), ("objective", "minimize")]
PLACES += [("decide", n) for n in ("processors", "memory", "machine", "machine.energy_per_flop")]
PLACES += [("sweep", "study"), ("sweep", "other")]


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    whole=st.dictionaries(st.sampled_from(SECTIONS), junk, max_size=2),
    parts=st.dictionaries(st.sampled_from(PLACES), junk, max_size=3),
)
def test_nothing_in_a_mapping_leads_to_another_error(good: dict[str, Any], whole: Any, parts: Any) -> None:
    data = copy.deepcopy(good) | whole
    for (section, name), value in parts.items():
        entries = data.setdefault(section, {})
        if isinstance(entries, dict):
            entries[name] = value
    try:
        found = grid(load(data))
    except ScenarioError as caught:
        error = caught
    else:
        for index in ((0,) * len(found.axes), tuple(n - 1 for n in found.shape)):
            assert found.question(index).model.name
        return
    assert error.problems
    assert all(p.wrong and p.right for p in error.problems)
    assert "pydantic" not in str(error)
    assert "validation error" not in str(error)


def test_importing_the_room_is_cheap() -> None:
    heavy = ["pydantic", "numpy", "pint", "pandas", "xarray", "pyomo"]
    code = f"import sys, scenarios; print([m for m in {heavy} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
