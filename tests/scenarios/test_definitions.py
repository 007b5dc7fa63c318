"""[define] and weights: what may be said, what comes of it, and one clear message for each mistake."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from definition_questions import asked, mistakes

import dse
import scenarios
from dse.commands.commandline import main

# the example of the documentation, as a file
EXAMPLE = """
model   = "nbody"
machine = "jaketown"

[given]
bodies         = 1e6
flops_per_pair = 20

[decide]
clock      = { min = "0.8 GHz", max = "3.2 GHz" }
processors = { max = 4096 }
memory     = {}

[define]
voltage                   = "0.6 V + 0.17 V/GHz * clock"
"machine.time_per_flop"   = "1 / (16 flop/cycle * clock)"
"machine.energy_per_flop" = "14 pJ/V**2/flop * voltage**2"
price                     = "9000 USD * processors + 0.2 USD/kWh * energy * 1e6"   # 1e6 runs
energy_delay_squared      = "energy * time**2"

[objective]
minimize = "price"

[limits]
time  = { max = "200 ms" }
"""


def run(command: str, tmp_path: Path, text: str) -> int:
    """Run a command on a file with this text, and return its exit code."""
    file = tmp_path / "question.toml"
    file.write_text(text, encoding="utf-8")
    return main.main([command, str(file)], standalone_mode=False)


class TestTheExample:
    def test_it_is_checked_and_its_class_is_named(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
        assert run("check", tmp_path, EXAMPLE) == 0
        said = capsys.readouterr().out
        assert "class      GP" in said
        assert "decides    clock, processors, memory" in said

    def test_it_is_solved_and_definitions_are_metrics(self):
        answer = dse.solve(dse.load(tomllib.loads(EXAMPLE)))
        assert answer.status == "optimal"
        at = answer.metrics
        # the deadline binds at the fastest clock: processors follow from the flops
        assert answer.variables["clock"] == pytest.approx(3.2e9, rel=1e-9)
        assert at["voltage"] == pytest.approx(0.6 + 0.17 * 3.2, rel=1e-9)
        assert at["price"] == pytest.approx(
            9000 * answer.variables["processors"] + 0.2 / 3.6 * at["energy"], rel=1e-9
        )
        assert at["energy_delay_squared"] == pytest.approx(at["energy"] * at["time"] ** 2, rel=1e-9)
        assert answer.units["price"] == "USD"
        assert answer.units["energy_delay_squared"] == "J*s^2"

    def test_an_impossible_deadline_is_infeasible_with_its_conflict(self):
        answer = dse.solve(dse.load(tomllib.loads(EXAMPLE.replace("200 ms", "50 ms"))))
        assert answer.status == "infeasible"
        assert answer.conflict["clock"] == pytest.approx(20e12 / 16 / 4096 / 0.05, rel=1e-4)

    def test_tables_and_dotted_names_mean_the_same(self):
        nested = tomllib.loads(EXAMPLE.replace('"machine.time_per_flop"', "machine.time_per_flop"))
        assert dse.load(nested).define == dse.load(tomllib.loads(EXAMPLE)).define

    def test_it_stands_in_the_schema(self):
        found = dse.Scenario.model_json_schema()["properties"]
        assert found["define"]["additionalProperties"] == {"type": "string"}


class TestRoles:
    def test_a_defined_input_replaces_a_decision(self):
        block = asked(
            decide={"memory": None, "block": {"min": 10, "max": 1e4}}, define={"memory": "block**2"}
        )
        direct = dse.solve(dse.load(asked()))
        found = dse.solve(dse.load(block))
        assert found.objective == pytest.approx(direct.objective, rel=1e-9)
        assert found.metrics["memory"] == pytest.approx(found.variables["block"] ** 2, rel=1e-12)

    def test_the_domain_of_a_defined_input_is_a_limit_of_its_name(self):
        boards = {"processors": None, "boards": {"min": 0.01, "max": 0.1}}
        answer = dse.solve(dse.load(asked(decide=boards, define={"processors": "4 * boards"})))
        assert answer.status == "infeasible"
        assert {"processors", "boards"} in [set(c) for c in answer.conflicts]

    def test_a_machine_parameter_may_use_its_own_catalogue_value(self):
        half = asked(
            define={"machine.energy_per_flop": "machine.energy_per_flop / 2"}, given={"processors": 64}
        )
        half["decide"] = {"memory": {}}
        own = dse.machines.get("jaketown").parameters["energy_per_flop"]
        answer = dse.solve(dse.load(half))
        assert answer.metrics["machine.energy_per_flop"] == pytest.approx(own / 2, rel=1e-14)

    def test_it_follows_a_sweep_over_machines(self):
        question = asked(
            define={"machine.energy_per_flop": "machine.energy_per_flop / 2"},
            sweep={"which": {"path": "machine", "values": ["jaketown", "balanced"]}},
        )
        found = dse.sweep(dse.load(question))
        for name in ("jaketown", "balanced"):
            own = dse.machines.get(name).parameters["energy_per_flop"]
            assert found["machine.energy_per_flop"].sel(which=name) == pytest.approx(own / 2, rel=1e-14)

    def test_numbers_in_the_machine_table(self):
        question = asked(
            machine={"base": "jaketown", "node": "9000 USD", "rate": "0.2 USD/kWh"},
            define={"price": "machine.node * processors + machine.rate * energy"},
        )
        answer = dse.solve(dse.load({**question, "objective": {"minimize": "price"}}))
        assert answer.metrics["price"] == pytest.approx(
            9000 * answer.variables["processors"] + 0.2 / 3.6e6 * answer.metrics["energy"]
        )

    def test_a_definition_is_limited_and_swept_by_its_limit(self):
        question = asked(
            define={"price": "9000 USD * processors"},
            objective={"minimize": "time"},
            sweep={"budget": {"path": "limits.price.max", "values": ["90 kUSD", "900 kUSD"]}},
        )
        found = dse.sweep(dse.load(question))
        assert found["processors"].to_numpy() == pytest.approx([10.0, 100.0], rel=1e-8)
        assert found["price"].attrs["units"] == "USD"

    def test_a_number_that_definitions_use_is_swept(self):
        question = asked(
            given={"rate": "0.2 USD/kWh"},
            define={"price": "rate * energy"},
            sweep={"electricity": {"path": "rate", "values": ["0.1 USD/kWh", "0.4 USD/kWh"]}},
        )
        found = dse.sweep(dse.load(question))["price"].to_numpy()
        assert found[1] == pytest.approx(4 * found[0], rel=1e-9)

    def test_definitions_over_lists_and_maps_of_machines(self):
        source = tomllib.loads(
            scenarios.library()["partition_twelve_regions_whole"].read_text(encoding="utf-8")
        )
        source["define"] = {"both": "`share.smoother.cpu` + `share.residual.cpu`"}
        source["limits"] = {"both": {"max": 1}}
        answer = dse.solve(dse.load(source))
        assert answer.metrics["both"] <= 1
        assert answer.status == "optimal"

    def test_a_front_of_definitions(self):
        question = asked(define={"price": "9000 USD * processors"}, objective={"minimize": ["price", "time"]})
        found = dse.front(dse.load(question), points=4)
        assert found["price"].to_numpy() == pytest.approx(9000 * found["processors"].to_numpy(), rel=1e-9)

    def test_a_stored_study_of_other_definitions_is_another(self, tmp_path: Path):
        question = asked(
            define={"price": "9000 USD * processors"},
            sweep={"size": {"path": "bodies", "values": [1e5, 1e6]}},
        )
        store = str(tmp_path / "study.zarr")
        dse.sweep(dse.load(question), store=store)
        other = {**question, "define": {"price": "8000 USD * processors"}}
        with pytest.raises(Exception, match=r"another|different"):
            dse.sweep(dse.load(other), store=store)


class TestSigns:
    """A limit on what may be negative holds whatever its sign, and is measured by what is subtracted."""

    @pytest.mark.parametrize(
        ("limit", "holds"),
        [({"min": "0 s"}, True), ({"min": "0.5 s"}, True), ({"max": "-1 s"}, False), ({"min": "2 s"}, False)],
    )
    def test_limits_on_a_difference(self, limit: dict[str, str], holds: bool):
        question = asked(
            define={"left": "1 s - time"}, limits={"left": limit}, given={"processors": 1000, "memory": 1e4}
        )
        answer = dse.solve(dse.load({**question, "decide": {}}))
        assert 0.5 < answer.metrics["left"] < 1
        assert (answer.status == "evaluated") is holds

    def test_a_small_negative_cost_is_seen(self):
        """1e-12 s below zero: measured against 1 it would pass as rounding."""
        question = asked(
            given={"processors": 64, "memory": 1e5, "saved": "3 ps/flop"},
            define={"machine.time_per_flop": "machine.time_per_flop - saved"},
        )
        answer = dse.solve(dse.load({**question, "decide": {}}))
        assert answer.status == "infeasible"
        assert list(answer.conflict) == ["machine.time_per_flop.not_negative"]

    def test_check_says_which_definition_is_in_the_way(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ):
        text = EXAMPLE.replace("0.6 V + 0.17 V/GHz * clock", "1.6 V - 0.17 V/GHz * clock")
        assert run("check", tmp_path, text) == 0
        assert "the definition voltage holds a difference" in capsys.readouterr().out
        assert run("explain", tmp_path, text) == 0
        assert "the definition voltage holds a difference" in capsys.readouterr().out


def test_definitions_know_of_idling():
    """Limiting what is defined as the power is limiting the power, also where processors may idle."""
    question = {
        **asked(given={"processors": 64, "memory": 1e5}),
        "idle": True,
        "objective": {"minimize": "time"},
    }
    del question["decide"]
    direct = dse.solve(dse.load({**question, "limits": {"power": {"max": "100 W"}}}))
    defined = {"define": {"draw": "power + 0 W", "wait": "2 * time"}, "limits": {"draw": {"max": "100 W"}}}
    found = dse.solve(dse.load({**question, **defined}))
    assert found.objective == pytest.approx(direct.objective, rel=1e-6)
    assert found.metrics["draw"] == pytest.approx(found.metrics["power"], rel=1e-12)
    assert found.metrics["wait"] == pytest.approx(2 * found.metrics["time"], rel=1e-12)


class TestWeights:
    def test_the_weighted_sum_is_minimised(self):
        answer = dse.solve(dse.load(asked(objective={"weights": {"energy": "1 1/J", "time": "20 W/J"}})))
        assert answer.objective_name == "weighted"
        assert answer.objective == pytest.approx(
            answer.metrics["energy"] + 20 * answer.metrics["time"], rel=1e-12
        )
        assert answer.status == "optimal"

    @pytest.mark.parametrize(
        ("weights", "part"),
        [
            ({"energy": 1, "time": 2}, "an energy (J) and a time (s) do not add up"),
            ({"enrgy": 1}, 'there is no quantity "enrgy"'),
            ({}, "no weight is given"),
            ({"energy": 0}, "the weight of energy is 0"),
            ({"energy": "x"}, "'x' is not one number with a unit"),
            ({"energy": "1 parsec"}, "unknown unit 'parsec'"),
            ({"a`b": 1}, '"a`b" is not a name of a quantity'),
        ],
    )
    def test_what_is_no_weighted_sum(self, weights: dict[str, Any], part: str):
        (problem,) = mistakes(objective={"weights": weights})
        assert problem.key.startswith("objective.weights")
        assert part in problem.wrong

    def test_weights_stand_alone(self):
        (problem,) = mistakes(objective={"weights": {"energy": 1}, "minimize": "time"})
        assert problem.wrong == "weights and minimize exclude each other"
        (problem,) = mistakes(objective={"weights": {"energy": 1}}, define={"weighted": "time"})
        assert problem.key == "define.weighted"


def test_every_block_on_the_page_about_definitions_can_be_asked():
    """A block without a model is put over the first one, as the page says."""
    page = (Path(__file__).parents[2] / "docs" / "definitions.md").read_text(encoding="utf-8")
    blocks = [
        tomllib.loads(text) for text in re.findall(r"^```toml\n(?!# mistake)(.*?)^```$", page, re.M | re.S)
    ]
    assert len(blocks) >= 6
    for block in blocks:
        whole = block if "model" in block else blocks[0] | block
        assert scenarios.grid(dse.load(whole)).size >= 1


def test_explain_shows_definitions_as_written_and_in_what_is_decided(tmp_path: Path) -> None:
    told = formulations_explained(tmp_path, EXAMPLE)
    assert "voltage = 0.6 V + 0.17 V/GHz * clock = 1.7e-10·clock + 0.6 " in told
    assert "machine.time_per_flop = 1 / (16 flop/cycle * clock) = 0.0625·clock^-1 " in told


def formulations_explained(folder: Path, text: str) -> str:
    from formulations.problem import formulate
    from formulations.pyomo_models.explain import explain
    from scenarios.questions import question

    (folder / "told.toml").write_text(text)
    return " ".join(explain(formulate(question(dse.load(folder / "told.toml")))).split())
