"""Fitted models as functions of definitions, and as kernels: what they give, where they hold, what is refused."""

import pickle
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import dse
import scenarios
from dse.models import evaluate
from dse.models.model import Model
from dse.testing import ModelContract
from formulations.problem import formulate
from scenarios import ScenarioError, from_text
from scenarios.machines.machine_files import pins

# latency = 5 us + 4 fs m n k + 2 ps n m^0.5, by two columns that count and one in seconds
GEMM = """
format = 1
kind = "fitted model"
name = "gemm"
source = "made up for a test"
form = "posynomial"
[target]
name = "time"
unit = "s"
[columns.m]
unit = ""
least = 4.0
greatest = 1e5
[columns.n]
unit = ""
least = 16.0
greatest = 1e4
[columns.wait]
unit = "s"
least = 1e-6
greatest = 1.0
[[terms]]
coefficient = 5e-6
[[terms]]
coefficient = 4e-15
exponents = { m = 1.0, n = 2.0 }
[[terms]]
coefficient = 2e-12
exponents = { m = 0.5, n = 1.0 }
[[terms]]
coefficient = 0.5
exponents = { wait = 1.0 }
[[derived]]
name = "performance"
unit = "flop/s"
terms = [{ coefficient = 2.0, exponents = { m = 1.0, n = 2.0, time = -1.0 } }]
[[derived]]
name = "energy"
unit = "J"
terms = [{ coefficient = 300.0, exponents = { time = 1.0 } }]
[[hull]]
exponents = { m = 1.0, n = 1.0 }
greatest = 5e8
[error]
split = "5 folds"
mean = 0.05
low = 0.9
high = 1.2
"""
COLUMNS = {"m": (4, 1e5), "n": (16, 1e4), "wait": (1e-6, 1)}


def by_hand(m: Any, n: Any, wait: Any) -> Any:
    return 5e-6 + 4e-15 * m * n**2 + 2e-12 * m**0.5 * n + 0.5 * wait


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "gemm.toml").write_text(GEMM)
    return tmp_path


def asked(folder: Path, define: str, more: str = "", given: str = "", top: str = "") -> scenarios.Scenario:
    text = f"""
model = "nbody"
machine = "jaketown"
{top}
[models]
gemm = "./gemm.toml"
[given]
bodies = 1e6
flops_per_pair = 20
processors = 64
memory = 20000
{given}
[define]
{define}
{more}
"""
    path = folder / "question.toml"
    path.write_text(text)
    return scenarios.load(path)


def refused(folder: Path, *parts: str, **more: str) -> str:
    with pytest.raises(ScenarioError) as error:
        asked(folder, *parts, **more)
    assert len(error.value.problems) == 1
    return str(error.value)


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


WRONG = [
    ("gemm.time(rows, 2)", "gemm.time takes 3 numbers, and 2 stand in its brackets (column 1)"),
    ("gemm.tme(rows, 2, 1 s)", "did you mean 'gemm.time'"),
    ("gem.time(rows, 20, 1 s)", "there is no function gem.time"),
    ("1 s + gemm.time(rows, 20, 1 s) + power", "do not add up"),
    ("gemm.time(rows, 20, 3)", "wait of gemm.time(m, n, wait) is a time (s), and this is a plain number"),
    ("gemm.time(memory, 20, 1 s)", "m of gemm.time(m, n, wait) is a plain number, and this is"),
    ("gemm.time(rows - 7, 20, 1 s)", "is above 0, and this may be negative (column 16)"),
    ("gemm.time(0, 20, 1 s)", "m of gemm.time(m, n, wait) is above 0, and this is 0"),
    ("gemm.time * 2 + gemm.time(rows, 20, 1 s)", "gemm.time is a function"),
    ("gemm.time(rows, 20, 1 s", "this bracket is not closed"),
    ("energy * 2", "models.gemm: no definition uses a function of gemm"),
]


@pytest.mark.parametrize(("expression", "said"), WRONG)
def test_a_mistake_is_one_clear_message(expression: str, said: str, folder: Path):
    assert said in refused(folder, f'x = "{expression}"', given="rows = 50" if "rows" in expression else "")


def test_a_model_that_is_no_function_is_refused(folder: Path):
    question = {"model": "nbody", "machine": "jaketown", "define": {"x": "a.time(1)"}}
    given = {"bodies": 1, "flops_per_pair": 1, "processors": 1, "memory": 1}
    (folder / "broken.toml").write_text(GEMM.replace("[target]", "[goal]"))
    for named, said in {
        "nbody": "nbody is no fitted model",
        "gemm-h10": "did you mean 'gemm-h100'",
        "./none.toml": "it cannot be read",
        str(folder / "broken.toml"): "goal",
    }.items():
        with pytest.raises(ScenarioError, match=said):
            dse.load({**question, "given": given, "models": {"a": named}})
    for name in ("time", "machine", "bodies", "s", "x"):
        with pytest.raises(ScenarioError, match=f"models.{name}"):
            dse.load({**question, "given": given, "models": {name: "gemm-h100"}})
    with pytest.raises(ScenarioError, match="no definition uses a function of a"):
        dse.load({**question, "given": given, "define": {}, "models": {"a": "gemm-h100"}})


def test_a_fitted_model_of_time_energy_and_performance_is_a_kernel(folder: Path):
    path = folder / "kernels.toml"
    path.write_text("""
machine = "jaketown"
[[kernels]]
name = "forces"
model = "nbody"
given = { bodies = 1e5, flops_per_pair = 20, processors = 64, memory = 10000 }
[[kernels]]
name = "product"
model = "./gemm.toml"
given = { m = 100, n = 200, wait = "1 ms" }
repeat = 3
[limits]
time = { max = "10 min" }
""")
    question = scenarios.load(path)
    assert [p for p, _ in pins(question.text)] == ["./gemm.toml"]
    found = dse.solve(from_text(question.text))
    once = by_hand(100, 200, 1e-3)
    assert found.metrics["product.time"] == pytest.approx(once, rel=1e-13)
    assert found.metrics["time"] == pytest.approx(found.metrics["forces.time"] + 3 * once, rel=1e-13)
    assert found.metrics["energy"] == pytest.approx(found.metrics["forces.energy"] + 900 * once, rel=1e-13)
    path.write_text(question.text.replace("m = 100,", "m = 3,"))
    far = dse.solve(scenarios.load(path))
    assert list(far.conflict) == ["product.measured_range.m.min"]


WITHOUT_ENERGY = """
[[kernels]]
name = "small"
model = "./gemm.toml"
given = { m = 100, n = 200, wait = "1 ms" }
repeat = 3
[[kernels]]
name = "large"
model = "./gemm.toml"
given = { m = 1000, n = 2000, wait = "1 ms" }
"""


def test_a_kernel_that_says_no_energy_is_asked_for_its_time(folder: Path):
    """By hand: times add up, or overlap to the longest; what would need the energy is not there."""
    without = GEMM.replace('name = "energy"', 'name = "joules"')
    (folder / "gemm.toml").write_text(without)
    path = folder / "kernels.toml"
    path.write_text(WITHOUT_ENERGY)
    found = dse.solve(scenarios.load(path))
    small, large = by_hand(100, 200, 1e-3), by_hand(1000, 2000, 1e-3)
    assert found.metrics["time"] == pytest.approx(3 * small + large, rel=1e-13)
    flops = 3 * 2 * 100 * 200**2 + 2 * 1000 * 2000**2
    assert found.metrics["performance"] == pytest.approx(flops / found.metrics["time"], rel=1e-12)
    assert not {"energy", "power", "efficiency", "energy_delay"} & found.metrics.keys()
    path.write_text("overlap = true\n" + WITHOUT_ENERGY)
    assert dse.solve(scenarios.load(path)).metrics["time"] == pytest.approx(max(3 * small, large), rel=1e-13)
    for more, said in {
        '[objective]\nminimize = "energy"': "does not say what energy a run of small has, so the whole has no energy",
        '[limits]\npower = { max = "1 W" }': "so the whole has no power",
        '[define]\nbill = "2 * efficiency"\n[objective]\nminimize = "bill"': "efficiency",
    }.items():
        path.write_text(WITHOUT_ENERGY + more)
        with pytest.raises(ScenarioError, match=said):
            scenarios.load(path)
    path.write_text('idle = "on"\n' + WITHOUT_ENERGY)
    with pytest.raises(ScenarioError, match="does not say what its energy is made of"):
        scenarios.load(path)
    (folder / "gemm.toml").write_text(without.replace('name = "performance"', 'name = "rate"'))
    path.write_text(WITHOUT_ENERGY)
    assert "performance" not in dse.solve(scenarios.load(path)).metrics
    (folder / "gemm.toml").write_text(
        without.replace('name = "time"', 'name = "lag"')
        .replace("time = -1", "lag = -1")
        .replace("time = 1", "lag = 1")
    )
    with pytest.raises(ScenarioError, match="does not say what time a run has"):
        scenarios.load(path)
