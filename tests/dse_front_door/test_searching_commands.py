"""dse solve and dse front with a sampler: options, exit codes, JSON, and what explain and check say."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dse.cli import main

FILE = """
model   = "nbody"
machine = "balanced"
[given]
bodies         = 1e5
flops_per_pair = 10
[decide]
processors = { max = 4096 }
memory     = {}
[objective]
minimize = GOAL
[limits]
time = { max = "1 s" }
[search]
sampler = "TPE"
trials  = 40
seed    = 3
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "q.toml"
    made.write_text(FILE.replace("GOAL", '"energy"'))
    return made


@pytest.fixture
def two(tmp_path: Path) -> Path:
    made = tmp_path / "two.toml"
    made.write_text(FILE.replace("GOAL", '["energy", "time"]'))
    return made


def run(*words: Any) -> Result:
    return CliRunner().invoke(main, [str(w) for w in words])


def test_the_file_asks_and_options_stand_in(file: Path):
    told = json.loads(run("solve", file, "--json").output)
    assert told["status"] == "feasible"
    assert told["solver"] == "Optuna TPE"
    assert "40 trials of Optuna TPE, seed 3" in told["certificate"]
    assert "above the certified optimum" in told["certificate"] or "equal to" in told["certificate"]
    assert told["bound"] <= told["objective"] * (1 + 1e-9)
    assert told["gap"] is not None
    other = run("solve", file, "--sampler", "random", "--trials", 30, "--no-compare", "--json")
    told = json.loads(other.output)
    assert "30 trials of Optuna random, seed 3" in told["certificate"]
    assert told["bound"] is None
    shown = run("solve", file, "--seed", 4)
    assert shown.exit_code == 0
    assert "optimality is not proved" in shown.output
    assert "proven: at least" in shown.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sampler", "TPS"], "did you mean 'TPE'"),
        (["--trials", 0], "--trials: 0 is not possible"),
        (["--trials", "many"], "not a valid integer"),
        (["--storage", "mysql://host/db"], "'mysql'"),
        (["--storage", "/no/such/folder/study.db"], "no study can be kept there"),
        (["--workers", -1], "--workers: "),
    ],
)
def test_what_is_wrong_ends_with_2(file: Path, words: list[Any], said: str):
    done = run("solve", file, *words)
    assert done.exit_code == 2
    assert said in done.output
    assert "Traceback" not in done.output


def test_a_study_of_another_question_ends_with_2(file: Path, tmp_path: Path):
    assert run("solve", file, "--storage", tmp_path / "s.db", "--trials", 3, "--no-compare").exit_code == 0
    done = run("solve", "nbody_deadline", "--storage", tmp_path / "s.db")
    assert done.exit_code == 2
    assert "another question" in done.output


def test_a_front_by_a_sampler(two: Path, tmp_path: Path):
    done = run("front", two, "--sampler", "NSGA-II", "--trials", 200, "--points", 3, "-o", tmp_path / "f.csv")
    assert done.exit_code == 0, done.output
    assert "3 points, 200 solves" in done.output
    assert (tmp_path / "f.csv").exists()
    told = json.loads(run("front", two, "--trials", 100, "--json").output)
    assert {p["status"] for p in told["points"]} == {"feasible"}
    assert "the certified optimum" in told["method"]


def test_a_front_refuses_what_a_sampler_cannot_do(two: Path):
    done = run("front", two, "--sampler", "CMA-ES")
    assert done.exit_code == 2
    assert "one objective" in done.output
    done = run("front", two, "--tolerance", 0.1)
    assert done.exit_code == 2
    assert "proves nothing about what lies between" in done.output


def test_a_front_where_nothing_meets_the_limits_is_infeasible(tmp_path: Path):
    made = tmp_path / "never.toml"
    made.write_text(FILE.replace("GOAL", '["energy", "time"]').replace('"1 s"', '"1 us"'))
    assert run("front", made).exit_code == 3


def test_explain_and_check_tell_of_the_search(file: Path):
    done = run("explain", file)
    assert done.exit_code == 0
    assert "40 trials of Optuna TPE, seed 3" in done.output
    assert "feasible, never optimal" in done.output
    assert run("check", file).exit_code == 0


def test_a_storage_in_no_folder_is_named(file: Path, tmp_path: Path):
    refused = run("solve", file, "--storage", tmp_path / "none" / "s.db")
    assert (refused.exit_code, f"there is no folder {tmp_path / 'none'}" in refused.stderr) == (2, True)


def test_an_interrupted_search_says_what_is_kept(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dse.api.solve", interrupted)
    kept = run("solve", file, "--storage", tmp_path / "s.db")
    assert (kept.exit_code, "s.db keeps the trials that are done" in kept.stderr) == (130, True)
    assert run("solve", file).stderr.strip() == "interrupted"


def test_an_interrupted_command_within_another_program_leaves_its_threads(
    file: Path, monkeypatch: pytest.MonkeyPatch
):
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dse.api.solve", interrupted)
    ended = threading.Event()
    beside = threading.Thread(target=ended.wait)
    beside.start()
    try:
        # a process that is ended here has no exit code to look at
        assert run("solve", file).exit_code == 130
        assert beside.is_alive()
    finally:
        ended.set()
