"""Fitted models as functions of definitions, and as kernels: what they give, where they hold, what is refused."""

import pickle
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from fitted_questions import COLUMNS, GEMM, asked, by_hand
from scipy.optimize import minimize_scalar

import dse
import scenarios
from dse.models import evaluate
from dse.models.model import Model
from dse.testing import ModelContract
from formulations.problem import formulate
from scenarios import ScenarioError, from_text
from scenarios.language.machine_files import pins


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "gemm.toml").write_text(GEMM)
    return tmp_path


def test_every_metric_of_a_fitted_model_is_a_function_in_the_order_of_its_columns(folder: Path):
    define = """
both = "gemm.time(rows, 2 * rows, 1 ms) + gemm.time(bodies / 1000, 20, time / 10000)"
most = "gemm.time_high(rows, 30, 2 ms)"
rate = "gemm.performance(rows, 30, 2 ms)"
"""
    found = dse.solve(asked(folder, define, given="rows = 50")).metrics
    assert found["both"] == pytest.approx(
        by_hand(50, 100, 1e-3) + by_hand(1000, 20, found["time"] / 1e4), rel=1e-13
    )
    assert found["most"] == pytest.approx(1.2 * by_hand(50, 30, 2e-3), rel=1e-13)
    assert found["rate"] == pytest.approx(2 * 50 * 900 / by_hand(50, 30, 2e-3), rel=1e-13)


class TestFunctions(ModelContract):
    """Units, arrays, formulas, posynomials and intervals agree with floats, on functions and on their ranges."""

    model = "nbody"
    tries = 2
    typical: ClassVar[dict[str, float]] = {
        "bodies": 1e6,
        "flops_per_pair": 20.0,
        "tile": 200.0,
        "pause": 1e-3,
        "processors": 64.0,
        "machine.time_per_word": 1.6e-10,
        "machine.time_per_message": 6e-8,
        "machine.energy_per_flop": 4e-10,
        "machine.energy_per_word": 3.4e-10,
        "machine.energy_per_message": 1e-9,
        "machine.memory_power_per_word": 1.4e-9,
        "machine.leakage_power": 1.0,
        "machine.max_message": 1e6,
        "machine.word_size": 4.0,
        "machine.memory_capacity": 1e9,
    }

    def plain(self) -> Model:
        question = {
            "model": "nbody",
            "machine": "jaketown",
            "models": {"gemm": "gemm-h100", "slow": str(self.file)},
            "given": {"bodies": 1e6, "flops_per_pair": 20, "processors": 64, "tile": 200, "pause": "1 ms"},
            "define": {
                "memory": "3 * tile**2",
                "machine.time_per_flop": "gemm.latency(tile, tile, tile) / (2 flop * tile**3)",
                "later": "slow.time(2 * tile, tile, pause) * slow.energy(tile, tile, pause) / time",
            },
        }
        return scenarios.grid(dse.load(question)).question(()).model

    @pytest.fixture(autouse=True)
    def _files(self, folder: Path):
        self.file = folder / "gemm.toml"


TILED = """
[decide]
tile = { min = 64, max = 8192 }
[objective]
minimize = "time"
"""


def test_a_posynomial_minimised_stays_a_geometric_program(folder: Path):
    define = (
        'per_flop = "gemm.time(tile, tile, 1 us) / (2 flop * tile**2)"\nlong = "per_flop * tile * 1 flop"'
    )
    question = asked(folder, define, TILED.replace('"time"', '"long"'))
    assert formulate(scenarios.grid(question).question(())).kind == "GP"
    found = dse.solve(question)
    assert found.status == "optimal"
    best = minimize_scalar(lambda t: by_hand(t, t, 1e-6) / (2 * t), bounds=(64, 8192), method="bounded")
    assert found.objective == pytest.approx(best.fun, rel=1e-6)


def test_divided_by_a_sum_it_is_proved_too(folder: Path):
    more = TILED.replace('"time"', '"shared"')
    question = asked(folder, 'shared = "gemm.time(tile, tile, 1 us) / (1 + 1e-6 * tile**2)"', more)
    assert formulate(scenarios.grid(question).question(())).kind == "NLP"
    found = dse.solve(question)
    assert found.status == "optimal"
    t = np.geomspace(64, 8192, 20001)
    best = (by_hand(t, t, 1e-6) / (1 + 1e-6 * t**2)).min()
    assert best * (1 - 1e-6) <= found.objective <= best * (1 + 1e-9)


def ranges(question: scenarios.Scenario) -> dict[str, str]:
    model = scenarios.grid(question).question(()).model
    return {x.name: x.formula for x in model.limits if x.name.startswith("gemm.")}


def test_the_range_of_the_runs_holds_at_every_place_where_a_model_is_asked(folder: Path):
    define = """
first = "gemm.time(rows, 100, 1 ms)"
again = "gemm.performance(rows, 100, 1 ms)"
other = "gemm.time(2 * rows, 100, 1 ms)"
"""
    question = asked(folder, define, given="rows = 50")
    found = ranges(question)
    sides = [f"gemm.measured_range.{n}.{s}" for n in COLUMNS for s in ("min", "max")]
    second = ["gemm.measured_range.2.m.min", "gemm.measured_range.2.m.max", "gemm.measured_range.2.hull.1"]
    assert set(found) == {*sides, "gemm.measured_range.hull.1", *second}
    assert found["gemm.measured_range.2.m.max"] == "m <= 100000, where m = 2 * rows"
    grid = scenarios.grid(question)
    at = evaluate(grid.question(()).model, grid.question(()).given)
    assert at["gemm.measured_range.m.min"] == pytest.approx(4 / 50)
    assert at["gemm.measured_range.2.m.max"] == pytest.approx(100 / 1e5)
    assert at["gemm.measured_range.2.hull.1"] == pytest.approx(100 * 100 / 5e8)
    assert at["gemm.measured_range.wait.max"] == pytest.approx(1e-3)


def test_an_answer_held_by_the_range_says_so_and_it_is_waived_by_name(folder: Path):
    define, more = (
        'much = "rows * 1 s / gemm.time(rows, 1000, 1 ms)"',
        """
[decide]
rows = { min = 1, max = 1e7 }
[objective]
maximize = "much"
""",
    )
    held = dse.solve(asked(folder, define, more))
    assert held.status == "optimal"
    assert held.variables["rows"] == pytest.approx(1e5)
    assert "range of the measurements (gemm.measured_range.m.max)" in str(held)
    free = dse.solve(asked(folder, define, more, top='waive = ["gemm.measured_range"]'))
    assert free.variables["rows"] == pytest.approx(1e7)
    assert "set aside" in str(free)
    assert "beware" in str(free)
    far = dse.solve(asked(folder, 'x = "gemm.time(3, 1000, 1 ms)"'))
    assert far.status == "infeasible"
    assert list(far.conflict) == ["gemm.measured_range.m.min"]


def test_a_stored_question_pins_the_file_and_other_processes_find_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    question = asked(folder, 'x = "gemm.time(rows, 1000, 1 ms)"', given="rows = 50")
    assert [p for p, _ in pins(question.text)] == ["./gemm.toml"]
    assert '# model file "./gemm.toml"' in question.text
    monkeypatch.chdir("/")
    again = from_text(question.text)
    assert again.text == question.text
    model = scenarios.grid(again).question(()).model
    given = scenarios.grid(again).question(()).given
    copy = pickle.loads(pickle.dumps(model))
    assert dict(evaluate(copy, given)) == dict(evaluate(model, given))
    (folder / "gemm.toml").write_text(GEMM.replace("5e-6", "6e-6"))
    assert from_text(question.text).text == question.text
    with pytest.raises(
        ScenarioError, match=r"models\.gemm: model file .* has changed since this question was stored"
    ):
        from_text(question.text, folder=folder)


@pytest.mark.parametrize("points", [3, 600])
def test_a_sweep_asks_it_at_every_point(points: int, folder: Path):
    more = f"""
[decide]
tile = {{ min = 64, max = 8192 }}
[objective]
minimize = "long"
[sweep.p]
path = "pause"
start = "2 us"
stop = "2 ms"
num = {points}
spacing = "log"
"""
    define = 'long = "gemm.time(tile, tile, pause) / tile"'
    found = dse.sweep(asked(folder, define, more, given='pause = "1 ms"'))
    assert (found.status == 1).all()
    for i in (0, points - 1):
        wait, tile = float(found["p"][i]), np.geomspace(64, 8192, 200_001)
        best = (by_hand(tile, tile, wait) / tile).min()
        assert float(found["objective"][i]) == pytest.approx(best, rel=1e-7)


def test_many_points_beyond_the_range_are_infeasible_and_say_by_what(folder: Path):
    """Both sides of a range keep their whole names where points are solved together."""
    more = """
[decide]
tile = { min = 64, max = 8192 }
[objective]
minimize = "long"
[sweep.p]
path = "pause"
start = "1 ns"
stop = "100 s"
num = 700
spacing = "log"
"""
    found = dse.sweep(
        asked(folder, 'long = "gemm.time(tile, tile, pause) / tile"', more, given='pause = "1 ms"')
    )
    inside = (found["p"] >= 1e-6 * (1 - 1e-9)) & (found["p"] <= 1 + 1e-9)
    assert ((found.status == 1) == inside).all()
    assert ((found.status == 3) == ~inside).all()
    states = found["binding"].sel(limit=["gemm.measured_range.wait.min", "gemm.measured_range.wait.max"])
    meant = dict(zip(states.flag_meanings.split(), states.flag_values, strict=True))
    ends = states.isel(p=[0, -1]) == meant["conflicting"]
    assert ends.values.tolist() == [[True, False], [False, True]]
