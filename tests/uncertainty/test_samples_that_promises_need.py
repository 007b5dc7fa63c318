"""How many samples a promise needs: the same for who checks a question and who answers it."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
from dse.cli import main
from scenarios import ScenarioError
from scenarios.language.toml_text import to_toml
from scenarios.questions import question
from solvers.robust.searches import chances

ROWS: dict[str, Any] = {
    "model": "gemm-h100",
    "given": {"n": 8192, "k": 8192, "error": 1},
    "decide": {"m": {"integer": True}},
    "define": {"measured": "latency * error"},
    "uncertain": {"error": {"uniform": [0.8, 1.3]}},
    "objective": {"maximize": "m", "measure": "mean"},
    "limits": {"measured": {"max": 3e-4, "probability": 0.9, "confidence": 0.8}},
}
MENU: dict[str, Any] = {
    "model": "roofline",
    "machine": "gtx-titan-choi2014",
    "given": {"flops": 1e11, "intensity": 4},
    "decide": {"throttle": {"values": [1, 1.5, 2, 3]}},
    "uncertain": {"intensity": {"uniform": [3, 5]}},
    "objective": {"minimize": "energy", "measure": "mean"},
    "limits": {"power": {"max": 200, "probability": 0.9}},
}


def of(text: dict[str, Any], samples: int, **changes: Any) -> dict[str, Any]:
    return {**text, **changes, "uncertain": {**text["uncertain"], "sampling": {"samples": samples}}}


def checked(tmp_path: Path, text: dict[str, Any]) -> Any:
    (tmp_path / "asked.toml").write_text(to_toml(text))
    return CliRunner().invoke(main, ["check", str(tmp_path / "asked.toml")])


def test_a_whole_number_within_a_maximum_counts_as_one() -> None:
    """The time of a fitted kernel is a sum of powers under a root, which is convex: 0.9^16 < 0.2 <= 0.9^15."""
    with pytest.raises(ScenarioError, match=r"15 samples cannot show .*\n.*samples = 16 or more"):
        dse.solve(of(ROWS, 15))
    assert dse.solve(of(ROWS, 16)).status.value == "optimal"


def test_what_is_not_covered_counts_the_values_that_a_model_allows() -> None:
    """The mean differs between samples: each of the 32768 rows that runs were measured for is a design of its own."""
    mean = {"minimize": "measured", "measure": "mean"}
    needed = next(n for n in itertools.count(1) if 32768 * 0.9**n <= 0.2)
    few, enough = (question(dse.load(of(ROWS, n, objective=mean))) for n in (needed - 1, needed))
    with pytest.raises(chances.TooFew, match=f"samples = {needed} or more"):
        chances.counted(few, needed - 1)
    assert [k for _, k in chances.counted(enough, needed)] == [0]
    assert chances.covered(enough)


def test_values_that_some_sample_allows_count_wherever_others_do_not() -> None:
    """Copies take up to (bodies / memory)^2 processors: of most bodies in least memory, whatever is drawn."""
    text: dict[str, Any] = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "decide": {"processors": {"integer": True}, "memory": {"values": [500, 1000]}},
        "uncertain": {"bodies": {"uniform": [1e5, 2e5]}},
        "objective": {"minimize": "energy", "measure": "mean"},
        "limits": {"power": {"max": "1 MW", "probability": 0.9, "confidence": 0.8}},
    }
    needed = next(n for n in itertools.count(1) if 2 * 400**2 * 0.9**n <= 0.2)
    for samples in (needed - 1, needed):
        asked = question(dse.load(of(text, samples)))
        if samples < needed:
            with pytest.raises(chances.TooFew, match=f"samples = {needed} or more"):
                chances.counted(asked, samples)
        else:
            assert [k for _, k in chances.counted(asked, samples)] == [0]


def test_check_refuses_where_solve_does(tmp_path: Path) -> None:
    """Power is a ratio of sums, so that each throttle counts: 4 * 0.9^N <= 0.01 from N = 57 on."""
    for samples in (50, 56, 57):
        told = checked(tmp_path, of(MENU, samples))
        assert told.exit_code == (2 if samples < 57 else 0), told.output
        if samples < 57:
            assert f"{samples} samples cannot show" in told.output
            assert "samples = 57 or more" in told.output
            with pytest.raises(ScenarioError, match="samples = 57 or more"):
                dse.solve(of(MENU, samples))
        else:
            assert dse.solve(of(MENU, samples)).status.value != "error"
