"""`dse check` says what is promised of limits over samples."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
import scenarios
from dse.cli import main
from dse.commands import commandline
from results.solution import Status
from results.summaries.question_words import sentence
from scenarios.language.toml_text import to_toml


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "nbody_deadline_in_95_of_100_worlds",
            "time: holds with probability 0.95, with confidence 0.99",
        ),
        (
            "nbody_fewest_processors_within_time_and_energy",
            "time, energy together: holds with probability 0.9, with confidence 0.99",
        ),
        ("nbody_deadline", ""),
    ],
)
def test_probabilities_of_limits_are_told(name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["check", name])
    assert not end.value.code
    lines = [x.split(maxsplit=1) for x in capsys.readouterr().out.splitlines()]
    assert [text for head, *text in lines if head == "promised"] == ([[said]] if said else [])


@pytest.mark.parametrize(
    "name",
    [
        "nbody_deadline_in_95_of_100_worlds",
        "nbody_mean_power_between_readings",
        "nbody_mean_energy_over_table_ii",
        "serving_nodes_for_uncertain_load",
    ],
)
def test_how_it_is_solved_is_told_as_the_answer_tells_it(name: str) -> None:
    """The way of one sample was told, by which none of these is answered."""
    told = " ".join(CliRunner().invoke(commandline.main, ["explain", name]).output.split())
    found = dse.solve(name)
    assert f"solved by {found.solver}: " in told
    proofs = (
        "branch and bound over nodes of geometric programs",
        "monomial secants above the divisor in every sample",
    )
    for proof in proofs:
        assert (proof in told) == (proof in found.certificate)


def test_an_answer_of_each_sample_by_itself_is_told_as_that_of_one() -> None:
    told = " ".join(
        CliRunner().invoke(commandline.main, ["explain", "nbody_processor_of_table_ii"]).output.split()
    )
    assert "solved by branch and bound: monomial secants replace divisors" in told


SWEPT: dict[str, Any] = {
    "model": "nbody",
    "machine": "jaketown",
    "given": {"bodies": 1e6, "flops_per_pair": 20},
    "decide": {"processors": {"max": 2048}, "memory": {}},
    "uncertain": {
        "machine.energy_per_flop": {"normal": ["280 pJ/flop", "20 pJ/flop"]},
        "sampling": {"samples": 256},
    },
    "objective": {"minimize": "energy", "cvar": 0.5},
    "limits": {"time": {"max": "1 s", "probability": 0.9}},
    "sweep": {
        "p": {"path": "limits.time.probability", "values": [0.5, 0.9]},
        "c": {"path": "objective.cvar", "values": [0, 0.5]},
        "s": {"path": "uncertain.machine.energy_per_flop.spread", "values": ["10 pJ/flop", "20 pJ/flop"]},
    },
}


def test_levels_on_axes_are_told_as_swept_not_as_those_of_the_first_point(tmp_path: Path) -> None:
    file = tmp_path / "swept.toml"
    file.write_text(to_toml(SWEPT), encoding="utf-8")
    said = CliRunner().invoke(commandline.main, ["check", str(file)]).output
    assert "judged by  the mean of the worst part, for each level along c\n" in said
    assert "promised   time: holds with each probability along p, with confidence 0.99\n" in said
    told = json.loads(CliRunner().invoke(commandline.main, ["check", str(file), "--json"]).stdout)[
        "uncertain"
    ]
    assert told["uncertain.machine.energy_per_flop"] == "normal: for each spread along s"
    wanted = sentence(scenarios.grid(scenarios.load(SWEPT)), {"": "jaketown"})
    assert wanted.startswith("Least mean of the worst part of energy of nbody ")
    assert "; time with each of the probabilities asked; " in wanted


@pytest.mark.parametrize(
    ("decide", "confidence", "needed"),
    [
        # 20 listed values beside a real number: 20 programs of one number each, 20 * 0.95^N <= 0.01
        ({"processors": {"values": [float(v) for v in range(2, 22)]}}, 0.99, 149),
        # a whole number without an end counts, beside a real one, as 3: P(fewer than 3 of N fail) <= 0.5
        ({"processors": {"integer": True}}, 0.5, 54),
    ],
)
def test_the_samples_that_a_mistake_names_are_enough(
    decide: dict[str, Any], confidence: float, needed: int
) -> None:
    """Less was named, with which the answer was an error, and nothing was said at all of whole numbers."""
    held = {"probability": 0.95, "confidence": confidence}
    asked = {
        "model": "nbody",
        "machine": "jaketown",
        "given": {"bodies": 1e6, "flops_per_pair": 20},
        "decide": {**decide, "memory": {"min": 3000, "max": 60000}},
        "uncertain": {
            "machine.time_per_flop": {"uniform": [2e-12, 5e-12]},
            "sampling": {"samples": needed - 1, "seed": 7},
        },
        "objective": {"minimize": "energy", "measure": "mean"},
        "limits": {"time": {"max": 60.0, **held}},
    }
    with pytest.raises(scenarios.ScenarioError, match=f"samples = {needed} or more"):
        dse.load(asked)
    asked["uncertain"]["sampling"]["samples"] = needed
    assert dse.solve(asked).status is Status.OPTIMAL
