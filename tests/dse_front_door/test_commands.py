"""The command: what it prints, where it complains, and the exit codes that scripts rely on."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import dse
import scenarios
from dse.cli import main
from dse.commands.terminal import printing as terminal


def dse_(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def test_an_answer_is_a_table_and_exit_code_0(deadline: Path):
    found = dse_("solve", deadline)
    assert found.exit_code == 0
    assert "least energy" in found.stdout
    assert "processors" in found.stdout
    assert found.stderr == ""


def test_an_answer_as_json_is_what_python_gets(deadline: Path):
    found = dse_("solve", deadline, "--json")
    told, solution = json.loads(found.stdout), dse.solve(deadline)
    assert told["status"] == "optimal"
    assert told["objective"] == solution.objective
    assert told["variables"] == dict(solution.variables)


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_infeasible_is_exit_code_3_and_names_the_conflict(deadline: Path, as_json: tuple[str, ...]):
    deadline.write_text(deadline.read_text() + 'energy = { max = "1 J" }\n')
    found = dse_("solve", deadline, *as_json)
    assert found.exit_code == 3
    assert "infeasible" in found.stdout
    assert "energy" in found.stdout


def test_unbounded_is_exit_code_3_and_names_the_variable(deadline: Path):
    text = deadline.read_text().replace('minimize = "energy"', 'minimize = "time"')
    text = text.replace("model   =", 'waive   = ["one_copy", "replication"]\nmodel   =')
    deadline.write_text(text.replace("{ max = 65536 }", "{}"))
    found = dse_("solve", deadline)
    assert found.exit_code == 3
    assert "processors" in found.stdout


def test_evaluated_is_exit_code_0(tmp_path: Path):
    file = tmp_path / "evaluated.toml"
    file.write_text(
        'model = "nbody"\nmachine = "balanced"\n'
        "[given]\nbodies = 1e5\nflops_per_pair = 10\nprocessors = 1000\nmemory = 1000\n"
    )
    found = dse_("solve", file, "--json")
    assert found.exit_code == 0
    assert json.loads(found.stdout)["status"] == "evaluated"


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (('"nbody"', '"nbdy"'), "did you mean"),
        (('"1 s"', '"1 kWh"'), "limits.time.max"),
        (("[given]", "[given"), "line "),
        (("bodies  ", "bodys   "), "bodies"),
    ],
)
def test_a_wrong_file_is_exit_code_2_with_a_message(deadline: Path, edit: tuple[str, str], said: str):
    deadline.write_text(deadline.read_text().replace(*edit))
    found = dse_("solve", deadline)
    assert found.exit_code == 2
    assert found.stdout == ""
    assert said in found.stderr
    assert "Traceback" not in found.stderr


def test_all_mistakes_are_told_at_once_also_as_json(deadline: Path):
    text = deadline.read_text().replace("bodies  ", "bodys   ").replace('"1 s"', '"1 kWh"')
    deadline.write_text(text)
    found = dse_("check", deadline, "--json")
    assert found.exit_code == 2
    told = json.loads(found.stdout)
    assert not told["ok"]
    assert len(told["problems"]) >= 2
    assert {"file", "key", "wrong", "right"} == set(told["problems"][0])
    for command in (("solve",), ("sweep", "-o", "s.zarr"), ("front",)):
        other = dse_(*command, deadline, "--json")
        assert (other.exit_code, json.loads(other.stdout)) == (2, told)


@pytest.mark.parametrize(
    "words",
    [("machines", "nosuch"), ("models", "nosuch"), ("diff", "a.json", "b.json"), ("verify", "nosuch.zarr")],
)
def test_other_mistakes_are_told_as_json_too(words: tuple[str, ...]):
    found = dse_(*words, "--json")
    assert found.exit_code == 2
    (told,) = json.loads(found.stdout)["problems"]
    assert told["wrong"]
    assert told["wrong"] in dse_(*words).stderr


@pytest.mark.parametrize("name", ["nowhere.toml", "."])
def test_a_file_that_cannot_be_read_is_exit_code_2(name: str):
    found = dse_("solve", name)
    assert found.exit_code == 2
    assert name in found.stderr


def test_the_wrong_command_is_refused_and_the_right_one_named(
    grid_file: Callable[[int], Path], front_file: Path, deadline: Path, tmp_path: Path
):
    swept, store = grid_file(3), tmp_path / "x.zarr"
    for arguments, said in (
        (("solve", swept), "dse sweep"),
        (("solve", front_file), "dse front"),
        (("front", deadline), "dse solve"),
        (("front", swept), "dse sweep"),
        (("sweep", deadline, "-o", store), "dse solve"),
        (("sweep", front_file, "-o", store), "dse solve"),
    ):
        found = dse_(*arguments)
        assert found.exit_code == 2, arguments
        assert said in found.stderr, arguments
    assert not store.exists()


def test_a_front_at_every_point_of_a_sweep_is_for_dse_front(front_file: Path, tmp_path: Path):
    axis = '\n[sweep.bodies]\npath = "given.bodies"\nvalues = [1e4, 1e5]\n'
    front_file.write_text(front_file.read_text() + axis)
    for arguments in (("solve", front_file), ("sweep", front_file, "-o", tmp_path / "x.zarr")):
        found = dse_(*arguments)
        assert found.exit_code == 2
        assert "use `dse front FILE`" in found.stderr


@pytest.mark.parametrize(("wrong", "meant"), [("slove", "solve"), ("scenario", "scenarios")])
def test_a_misspelt_command_is_recognised(wrong: str, meant: str):
    found = dse_(wrong)
    assert found.exit_code == 2
    assert f"did you mean '{meant}'" in found.stderr


def test_wrong_options_are_exit_code_2(deadline: Path, tmp_path: Path):
    for arguments in (
        ("solve", deadline, "--jsn"),
        ("solve",),
        ("sweep", deadline, "-o", tmp_path / "x.csv"),
        ("sweep", deadline, "-o", tmp_path / "x.zarr", "--workers", "0"),
        ("sweep", deadline, "-o", tmp_path / "x.zarr", "--workers", "2", "--scheduler", "tcp://a:1"),
        ("front", deadline, "-o", "x.docx"),
        ("explain", deadline, "--format", "nl"),
        ("explain", deadline, "--format", "lp", "-o", tmp_path / "x.lp"),
    ):
        found = dse_(*arguments)
        assert found.exit_code == 2, arguments
        assert found.stderr


def test_an_unexpected_failure_is_exit_code_1_without_a_traceback(run: Callable[..., Any]):
    broken = (
        "import dse.api, dse.cli, sys\n"
        "dse.api.solve = lambda scenario, **more: 1 / 0\n"
        "dse.cli.main(['solve', 'nbody_deadline', *sys.argv[1:]])\n"
    )
    found = run("-c", broken)
    assert found.returncode == 1
    assert found.stderr.splitlines() == [
        "dse: unexpected ZeroDivisionError: division by zero (with --debug you see where)"
    ]
    assert "Traceback" in run("-c", broken, "--debug").stderr


def test_control_c_is_exit_code_130(run: Callable[..., Any]):
    interrupted = (
        "import dse.api, dse.cli, signal\n"
        "dse.api.solve = lambda scenario, **more: signal.raise_signal(signal.SIGINT)\n"
        "dse.cli.main(['solve', 'nbody_deadline'])\n"
    )
    found = run("-c", interrupted)
    assert found.returncode == 130
    assert found.stderr.strip() == "interrupted"


def test_a_reader_who_stops_reading_does_no_harm(start: Callable[..., Any]):
    process = start("schema")
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 0


def test_check_says_what_is_asked(deadline: Path, grid_file: Callable[[int], Path]):
    told = json.loads(dse_("check", deadline, "--json").stdout)
    assert (told["class"], told["points"], told["command"]) == ("GP", 1, "solve FILE")
    assert f"dse solve {deadline}" in dse_("check", deadline).stdout
    file = grid_file(4)
    found = dse_("check", file)
    assert found.exit_code == 0
    assert f"dse sweep {file} -o grid.zarr" in found.stdout
    assert "4 deadline × 3 bodies = 12 points" in found.stdout


def test_explain_shows_formulas_and_writes_files(deadline: Path, tmp_path: Path):
    found = dse_("explain", deadline)
    assert found.exit_code == 0
    assert "class      GP" in found.stdout
    assert "processors" in found.stdout
    for form in ("nl", "gams"):
        file = tmp_path / f"problem.{form}"
        assert dse_("explain", deadline, "--format", form, "-o", file).exit_code == 0
        assert file.stat().st_size > 100
        nowhere = dse_("explain", deadline, "--format", form, "-o", file / "inside")
        assert nowhere.exit_code == 2
        assert "cannot write" in nowhere.stderr


def test_a_written_log_program_says_that_its_objective_is_a_logarithm(deadline: Path, tmp_path: Path):
    """Read back by Pyomo's own numbers: the file's objective at the optimum is the logarithm of ours."""
    file = tmp_path / "problem.gams"
    found = dse_("explain", deadline, "--format", "gams", "-o", file)
    assert "objective in SI = exp(that of the file)" in found.stderr
    first = file.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("* ")
    assert "natural logarithm" in first
    silent = dse_("explain", deadline, "--format", "nl", "-o", tmp_path / "problem.nl")
    assert "natural logarithm" in silent.stderr
    # all files that are made are told
    made = sorted(f.name for f in tmp_path.glob("problem.*") if f.suffix != ".gams")
    assert sorted(Path(n).name for n in silent.stdout.removeprefix("Wrote ").strip().split(", ")) == made


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "[limits]",
            "[sweep.bodies]\npath = 'given.bodies'\nvalues = [1e4, 1e5]\n[limits]",
            "it sweeps bodies (2 points)",
        ),
        ('"energy"', '["time", "energy"]', "it has 2 objectives (time, energy)"),
        (
            "[objective]",
            "[uncertain]\n'machine.time_per_flop' = { uniform = [1e-12, 2e-12] }\n[objective]\nmeasure = 'mean'",
            "numbers are uncertain (machine.time_per_flop)",
        ),
    ],
)
def test_a_file_that_cannot_hold_the_whole_question_is_not_written(
    deadline: Path, tmp_path: Path, old: str, new: str, words: str
):
    text = deadline.read_text()
    assert old in text
    deadline.write_text(text.replace(old, new, 1))
    for form in ("lp", "nl", "gams"):
        file = tmp_path / f"problem.{form}"
        refused = dse_("explain", deadline, "--format", form, "-o", file)
        assert refused.exit_code == 2
        assert words in " ".join(refused.stderr.split())
        assert not file.exists()


def test_settings_of_a_machine_are_shown_and_unknown_ones_left_empty():
    shown = dse_("machines", "fmm").stdout.splitlines()
    assert next(line for line in shown if line.startswith("S8")).split() == [
        *("S8", "852", "MHz", "1.03", "V", "204", "MHz", "800", "mV", "6", "W")
    ]
    assert next(line for line in shown if line.startswith("S7")).split() == ["S7", "612", "MHz", "396", "MHz"]
    told = json.loads(dse_("machines", "jetson-tk1", "--json").stdout)
    assert len(told["settings"]) == 16
    assert told["settings"][0]["energy_per_flop"] == 29e-12


def test_names_in_tables_are_whole(monkeypatch: pytest.MonkeyPatch):
    for width in (80, 100):
        monkeypatch.setattr(terminal, "PAGE_WIDTH", width)
        page = dse_("models", "nbody").stdout
        for quantity in dse.models.get("nbody").machine:
            assert f"machine.{quantity.name} " in page
        page = dse_("scenarios").stdout
        assert all(f"{name} " in page for name in scenarios.library())


def test_a_ready_scenario_as_json():
    told = json.loads(dse_("scenarios", "nbody_deadline", "--json").stdout)
    assert (told["name"], told["command"], told["scenario"]["model"]) == ("nbody_deadline", "solve", "nbody")
    assert tomllib.loads(told["text"]) == told["scenario"]


@pytest.mark.parametrize("what", ["models", "machines", "scenarios"])
def test_lists_name_everything(what: str):
    plain, told = dse_(what), json.loads(dse_(what, "--json").stdout)
    assert plain.exit_code == 0
    assert len(told) >= 7
    first = next(iter(told))
    assert first in plain.stdout
    shown = dse_(what, first)
    assert shown.exit_code == 0
    assert first in shown.stdout or what == "scenarios"
    if what != "scenarios":
        assert json.loads(dse_(what, first, "--json").stdout)["name"] == first
    missing = dse_(what, first + "x")
    assert missing.exit_code == 2
    assert "did you mean" in missing.stderr


@pytest.mark.parametrize("model", dse.models.names())
def test_new_writes_a_file_that_can_be_asked_and_never_overwrites(model: str, tmp_path: Path):
    file = tmp_path / "mine.toml"
    assert dse_("new", model, "-o", file).exit_code == 0
    assert dse_("check", file).exit_code == 0
    file.write_text("precious")
    refused = dse_("new", model, "-o", file)
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert file.read_text() == "precious"
    assert dse_("new", model, "-o", file, "--force").exit_code == 0
    assert file.read_text() != "precious"
    assert dse_("new", model, "-o", "-").stdout.rstrip() == file.read_text().rstrip()


def test_the_schema_is_json():
    assert "properties" in json.loads(dse_("schema").stdout)


def test_an_unknown_paper_is_exit_code_2():
    found = dse_("reproduce", "demmel2031")
    assert found.exit_code == 2
    assert "demmel2013" in found.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--machine", "nosuch"], '--machine: there is no machine "nosuch"'),
        (["--sampler", "foo"], "--sampler: "),
        (["--sampler", "TPE", "--trials", 0], "--trials: "),
        (["--seconds", 5], "--seconds says how long --solver may take"),
    ],
)
def test_what_is_wrong_with_an_option_is_told_of_the_option(deadline: Path, options: list[Any], said: str):
    found = dse_("solve", deadline, *options)
    assert found.exit_code == 2
    assert said in found.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [("step", "did you mean 'step.toml'?"), ("", "no file is named"), ("-", "/dev/stdin")],
)
def test_a_file_that_is_not_there_is_looked_for_nearby(
    deadline: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
):
    deadline.rename(deadline.with_name("step.toml"))
    monkeypatch.chdir(deadline.parent)
    found = dse_("check", name)
    assert found.exit_code == 2
    assert said in found.stderr


def test_help_tells_the_first_sentence_of_each_command_in_full():
    assert "..." not in dse_("--help").stdout.partition("Commands:")[2]


@pytest.mark.parametrize("command", ["check", "explain"])
@pytest.mark.parametrize(
    "asked",
    [
        '[objective]\nminimize = "energy_delay"\n',
        '[objective]\nminimize = "power"\n[define]\nedp = "energy * time"\n[limits]\nedp = { max = 1e9 }\n',
    ],
)
def test_questions_that_no_formula_of_the_program_shows_are_checked_and_explained(
    tmp_path: Path, command: str, asked: str
):
    # of blocks the equations ask which kinds there are, which ratios of posynomials cannot tell
    file = tmp_path / "blocks.toml"
    given = 'machine = { a = "gtx-titan-choi2014", b = "xeon-phi-choi2014" }\n[given]\nflops = 1e15\nbytes = 2.5e14\n'
    file.write_text(f'model = "blocks"\n{given}{asked}')
    found = dse_(command, file)
    assert found.exit_code == 0
    assert "MINLP" in found.stdout


def test_a_mistake_in_a_question_is_no_unexpected_failure(deadline: Path):
    deadline.write_text(deadline.read_text().replace("bodies", "bodis"))
    found = dse_("--debug", "solve", deadline)
    assert found.exit_code == 2
    assert "did you mean" in found.stderr
