"""One slip is one message, at its own key, that says what would be right."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
import scenarios
from dse.cli import main
from results.stores.files.trouble import StoreError

BODIES = {"uniform": [1e5, 2e5]}
ASKED = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 4096}, "memory": {}},
    "objective": {"minimize": "energy"},
}
TEXT = """model = "nbody"
machine = "balanced"
[given]
bodies = 1e5
flops_per_pair = 10
[decide]
processors = { max = 4096 }
memory = {}
[objective]
minimize = "energy"
[limits]
time = { max = "50 ms" }
"""


def _of_bodies(**spread: Any) -> dict[str, Any]:
    return {"uncertain": {"bodies": spread}}


def _judged(of: str) -> dict[str, Any]:
    measures = {"kept": {"of": of, "measure": "mean"}}
    return _of_bodies(**BODIES) | {"objective": {"minimize": "kept", "measures": measures}}


NAN = float("nan")
NO_ENERGY = {"base": "balanced", "energy_per_flop": 0}
HALVES = {"path": "machine.energy_per_flop", "factors": [1, 0.5]}
RANKED = {"minimize": ["energy", -1], "front": {"points": 3}}


@pytest.mark.parametrize(
    ("more", "key", "wrong", "right"),
    [
        ({"objective": {"weights": {"energy": NAN, "time": "20 W/J"}}}, "objective.weights.energy", "nan is", "finite"),
        ({"objective": {"weights": {"energy": NAN}}}, "objective.weights.energy", "nan is", "finite"),
        ({"objective": {"weights": {"energy": True, "time": 1}}}, "objective.weights.energy", "true is not", "10 kW"),
        ({"objective": {"weights": 3}}, "objective.weights", "3 is not a table", "20 W/J"),
        (_of_bodies(values=[10, NAN, 30], weights=[1, 2, 1]), "uncertain.bodies.values", "nan is", "finite"),
        (_of_bodies(values=[1, 2], weights=["a", 1]), "uncertain.bodies.weights", "entry 1 is not", "each value"),
        (_of_bodies(values=[1, 2], weights=[1, True]), "uncertain.bodies.weights", "entry 2 is not", "each value"),
        (_of_bodies(table=3, column="n"), "uncertain.bodies.table", "3 is not text", "quotes"),
        (_of_bodies(table="", column="n"), "uncertain.bodies.table", "no file is named", "runs.csv"),
        (
            {"uncertain": {"bodies": BODIES, "samplign": {"samples": 16, "seed": 3, "method": "sobol"}}},
            "uncertain.samplign",
            'unknown key "samplign"',
            "did you mean 'sampling'?",
        ),
        (
            {"machine": NO_ENERGY, "sweep": {"cost": HALVES}},
            "sweep.cost.factors",
            "machine.energy_per_flop is 0",
            "values instead of factors",
        ),
        (_judged(" "), "objective.measures.kept.of", "no metric is named", "of = "),
        (_judged("a\nb"), "objective.measures.kept.of", "is not the name of a metric", "of = "),
        (_judged("`energy"), "objective.measures.kept.of", "is not the name of a metric", "of = "),
        (_of_bodies(**BODIES) | {"objective": RANKED}, "objective.minimize", "is not a name or a list", "NAME"),
        (
            _of_bodies(**BODIES) | {"objective": RANKED | _judged("energy")["objective"] | RANKED},
            "objective.minimize",
            "is not a name or a list",
            "NAME",
        ),
        (
            {"limits": {"time": {"max": "0,05 s"}}},
            "limits.time.max",
            "is not one number",
            'decimals with a point: "0.05 s"',
        ),
    ],
)  # fmt: skip
def test_a_slip_is_one_message_at_its_key(more: dict[str, Any], key: str, wrong: str, right: str) -> None:
    with pytest.raises(scenarios.ScenarioError) as refused:
        scenarios.load(ASKED | more)
    (found,) = refused.value.problems
    assert (found.key, wrong in found.wrong, right in found.right) == (key, True, True), found


def test_one_factor_of_nothing_is_a_value() -> None:
    swept = scenarios.load(ASKED | {"machine": NO_ENERGY, "sweep": {"cost": HALVES | {"factors": [1]}}})
    assert scenarios.grid(swept).axes[0].values == (0,)


@pytest.mark.parametrize(
    ("old", "new", "right"),
    [
        ("max = 4096", "max = 4096, integer = True", "true and false are written in small letters"),
        ("= 10\n", "= FALSE\n", "true and false are written in small letters"),
        ('"energy"', "“energy”", 'quotes are straight: "nbody"'),
        ('"energy"', "„energy“", 'quotes are straight: "nbody"'),
        ('"nbody"', "‘nbody’", 'quotes are straight: "nbody"'),
        ('"50 ms"', "0,05", "decimals have a point, such as 0.05"),
        ("= 10\n", "= 0,125\n", "decimals have a point, such as 0.05"),
        ("= 10\n", "= 0,5\n", "decimals have a point, such as 0.05"),
        ("= 10\n", "= 1,5e3 # a comment\n", "decimals have a point, such as 0.05"),
        # what looks like one of these, and is not
        ("= 10\n", "= .5\n", "text stands in quotes"),
        ("= 10\n", "= 1,000\n", "each entry has a line of its own"),
        ("= 10\n", "= [1,2\n", "values stand between brackets"),
        ("= 10\n", "= truely\n", "each entry has a line of its own"),
    ],
)
def test_what_is_no_toml_is_told_by_the_slip_behind_it(old: str, new: str, right: str) -> None:
    assert old in TEXT
    with pytest.raises(scenarios.ScenarioError) as refused:
        scenarios.from_text(TEXT.replace(old, new, 1))
    (found,) = refused.value.problems
    assert found.right.startswith(right), found


@pytest.mark.parametrize(
    ("model", "given", "key"),
    [
        ("dvfs", {"phases": [{"flops": 1e9}, {"name": "empty"}]}, "given.phases[1]"),
        (
            "partition",
            {
                "regions": [{"flops": 1e9}],
                "links": [{"between": "a", "and": "b"}, {"between": "b", "and": "a"}],
            },
            "given.links[1]",
        ),
    ],
)
def test_a_row_that_the_model_cannot_use_is_named(model: str, given: dict[str, Any], key: str) -> None:
    machine = "fmm-settings" if model == "dvfs" else {"a": "jaketown", "b": "jaketown"}
    with pytest.raises(scenarios.ScenarioError) as refused:
        scenarios.load(
            {"model": model, "machine": machine, "given": given, "objective": {"minimize": "energy"}}
        )
    assert key in [p.key for p in refused.value.problems], refused.value


def test_no_name_of_a_file_is_one_message() -> None:
    for write in (dse.report, dse.export):
        with pytest.raises(StoreError, match="no file is named"):
            write("nbody_deadline", "")


def test_an_address_that_nothing_reaches_is_called_as_it_was_written() -> None:
    for command in ("sweep", "evaluate"):
        found = CliRunner().invoke(main, [command, "nbody_deadline", "-o", "foo://found.zarr"])
        assert found.exit_code == 2
        assert found.stderr.startswith("dse: foo://found.zarr is not a place for a store")


SETTING = {"constant_power": 1e-305, "core_voltage": 1, "memory_voltage": 1}


@pytest.mark.parametrize(
    ("asked", "key"),
    [
        (ASKED | _of_bodies(lognormal=[1e-305, 2]), "uncertain.bodies.lognormal[0]"),
        (ASKED | _of_bodies(normal=[1e5, "1e-305"]), "uncertain.bodies.normal[1]"),
        (ASKED | {"gap": 1e-305}, "gap"),
        (ASKED | {"given": {"bodies": 1e-305, "flops_per_pair": 10}}, "given.bodies"),
        (
            {"model": "dvfs", "machine": {"settings": [SETTING]}, "given": {"phases": [{"flops": 1e9}]}},
            "machine.settings[0].constant_power",
        ),
    ],
)
def test_numbers_nearer_to_0_than_can_be_computed_with_are_refused(asked: dict[str, Any], key: str) -> None:
    with pytest.raises(scenarios.ScenarioError) as refused:
        scenarios.load(asked)
    told = {p.key: (p.wrong, p.right) for p in refused.value.problems}
    assert "1e-305 is too close to 0" in told[key][0].replace('"', ""), refused.value
    assert told[key][1] == "write at least 1e-300, or 0 if that is meant"


def test_a_machine_file_has_no_numbers_too_close_to_0(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[parameters.time_per_flop]\nvalue = 1e-305\n")
    with pytest.raises(
        dse.machines.MachineError, match="too close to 0 to be computed with; write at least 1e-300"
    ):
        dse.machines.get(str(tmp_path / "mine.toml"))


@pytest.mark.parametrize(
    "name",
    [
        "nbody_deadline",
        "matmul_deadline",
        "dvfs_deadline",
        "gemm_cheapest_tokens",
        "kernels_gathers_on_eight_platforms",
        "partition_clocks_on_both_sides",
        "training_70b_does_not_fit",
    ],
)
def test_what_could_be_uncertain_is_a_number_of_that_question(name: str) -> None:
    """The line that is advised is put into the file, which then says what is uncertain."""
    refused = CliRunner().invoke(main, ["uncertainty", name])
    assert refused.exit_code == 2
    _, found, line = refused.stderr.partition("add what is uncertain: [uncertain] ")
    assert found, refused.stderr
    file = scenarios.library()[name]
    text = file.read_text(encoding="utf-8")
    asked = scenarios.from_text(f"{text}\n[uncertain]\n{line}", str(file))
    assert asked.uncertain is not None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("title = 3", "title = 3 is not text"),
        ("source = []", r"source = \[\] is not text"),
        ("[parameters.time_per_byte]\nvalue = 1e-11\ndoubt = nan", "time_per_byte: doubt = nan is not text"),
    ],
)
def test_what_is_told_of_a_machine_is_text(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "mine.toml").write_text(f"{line}\n[parameters.time_per_flop]\nvalue = 1e-12\n")
    with pytest.raises(dse.machines.MachineError, match=f"{said}; write it in quotes"):
        dse.machines.get(str(tmp_path / "mine.toml"))


def test_measurements_with_decimal_commas_say_how_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("size [B];time [s]\n1;1,58\n2;2,5\n4;4,25\n8;8,5\n")
    found = CliRunner().invoke(main, ["fit", str(tmp_path / "runs.csv"), "--model", "network"])
    assert found.exit_code == 2
    assert "is 1,58, not a positive number; write decimals with a point: 1.58" in found.stderr
