"""`dse fit`: what it prints and writes, exit codes, and that the machine file is of use at once."""

import csv
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import dse
from dse.cli import main
from dse.models.platforms.dvfs_energy import OPERATIONS, constant_power, energies

Make = Callable[..., dict[str, Any]]


def dse_(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def write(file: Path, columns: dict[str, Any]) -> Path:
    with file.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))
    return file


@pytest.fixture
def roofline_csv(roofline_runs: Make, tmp_path: Path) -> Path:
    runs = roofline_runs("gtx580-choi2014", 1, points=13)
    named = {"flops [Gflop]": runs["flops"] / 1e9, "bytes [GB]": runs["bytes"] / 1e9}
    named |= {"time [ms]": runs["time"] * 1e3, "energy [J]": runs["energy"], "host": ["a"] * 39}
    return write(tmp_path / "my_gpu.csv", named)


@pytest.fixture
def dvfs_csv(dvfs_runs: Make, circuit: dict[str, float], tmp_path: Path) -> Path:
    return write(tmp_path / "board.csv", dvfs_runs(circuit, 1, per=2))


def test_a_roofline_machine_answers_questions_at_once(roofline_csv: Path, tmp_path: Path):
    machine, picture = tmp_path / "mine.toml", tmp_path / "mine.png"
    done = dse_(
        "fit", roofline_csv, "--model", "roofline", "-o", machine, "--plot", picture, "--name", "My GPU"
    )
    assert done.exit_code == 0, done.stderr
    assert "My GPU: roofline, 39 runs" in done.stdout
    assert "Kolmogorov-Smirnov" in done.stdout
    assert f'machine = "{machine}"' in done.stdout
    assert picture.stat().st_size > 20_000
    found = dse.fit(roofline_csv, "roofline")
    scenario = tmp_path / "question.toml"
    scenario.write_text('model = "roofline"\nmachine = "./mine.toml"\n[given]\nflops = 1e12\nintensity = 4\n')
    answer = dse_("solve", scenario, "--json")
    assert answer.exit_code == 0, answer.stderr
    p = found.values
    used = 1e12 * (p["energy_per_flop"] + p["energy_per_byte"] / 4)
    time = max(1e12 * p["time_per_flop"], 0.25e12 * p["time_per_byte"], used / p["usable_power"])
    metrics = json.loads(answer.stdout)["metrics"]
    assert metrics["time"] == pytest.approx(time, rel=1e-12)
    assert metrics["energy"] == pytest.approx(used + p["constant_power"] * time, rel=1e-12)


def test_a_dvfs_machine_has_constants_and_settings(dvfs_csv: Path, tmp_path: Path):
    machine = tmp_path / "board.toml"
    assert dse_("fit", dvfs_csv, "--model", "dvfs", "-o", machine, "--folds", 4).exit_code == 0
    found, read = dse.fit(dvfs_csv, "dvfs"), dse.machines.get(str(machine))
    assert read.parameters == found.values
    assert len(read.settings) == len(found.settings) == 16
    phases = [{"name": o.count, o.count: 1e11, "times": [1.0] * 16} for o in OPERATIONS]
    for i, (s, told) in enumerate(zip(read.settings, found.settings, strict=True), 1):
        voltages = s["core_voltage"], s["memory_voltage"]
        power = constant_power(read.parameters, *voltages)
        assert told.derived["constant_power"] == pytest.approx(power, rel=1e-12)
        asked = {"model": "dvfs", "machine": str(machine), "given": {"phases": phases, "setting": i}}
        metrics = dse.solve(asked).metrics
        for o in OPERATIONS:
            value = energies(read.parameters, *voltages)[o.energy]
            assert told.derived[o.energy] == pytest.approx(value, rel=1e-12)
            assert metrics[f"energy.{o.count}"] == pytest.approx(1e11 * value + power, rel=1e-12)
    shown = dse_("machines", machine)
    assert shown.exit_code == 0
    assert "core_leakage_current" in shown.stdout


def test_every_value_says_where_it_comes_from(roofline_csv: Path, tmp_path: Path):
    found = dse.fit(roofline_csv, "roofline", name='quote " and \\ and é', date="2026-01-02")
    path = found.save(tmp_path / "mine.toml")
    text = tomllib.loads(path.read_text())
    assert text["title"].startswith('quote " and \\ and é')
    assert text["fit"]["sha256"] == found.digest
    assert text["fit"]["errors"]["energy"]["mean"] == found.errors["energy"].mean
    read = dse.machines.get(str(path))
    assert read.parameters == found.values
    for name in read.parameters:
        for part in ("my_gpu.csv", found.digest[:16], "2026-01-02", "95% interval", "errors of energy"):
            assert part in read.provenance[name]


def test_json_is_what_python_gets(roofline_csv: Path):
    told = json.loads(dse_("fit", roofline_csv, "--model", "roofline", "--json").stdout)
    found = dse.fit(roofline_csv, "roofline")
    assert told["name"] == "my_gpu"
    assert {k: v["value"] for k, v in told["parameters"].items() if v["written"]} == found.values
    assert told["sha256"] == found.digest
    assert len(told["residuals"]["energy"]) == told["runs"] == 39
    assert {c["what"] for c in told["comparisons"]} == {"performance", "energy", "power"}
    assert "columns not used: host" in " ".join(told["notes"])


def test_a_fit_is_the_same_every_time(roofline_csv: Path):
    assert dse.fit(roofline_csv, "roofline").machine() == dse.fit(roofline_csv, "roofline").machine()


def test_a_wider_confidence_gives_wider_intervals(roofline_csv: Path):
    wide, narrow = (dse.fit(roofline_csv, "roofline", confidence=c) for c in (0.99, 0.5))
    for p in (p for p in narrow.parameters if p.written):
        assert wide[p.name].low < p.low < p.high < wide[p.name].high
    with pytest.raises(KeyError, match="fitted are time_per_flop"):
        wide["time"]


def test_bad_data_is_exit_code_2_and_nothing_is_written(roofline_csv: Path, tmp_path: Path):
    machine = tmp_path / "mine.toml"
    text = roofline_csv.read_text()
    for edit, said in (
        (("energy [J]", "enrgy [J]"), "is it 'enrgy'?"),
        (("energy [J]", "energy [W]"), "a power (W), but an energy (J)"),
        (("\n", "\n1,1,-1,1,a\n"), "run 1 (line 2) is -1, not a positive number"),
    ):
        roofline_csv.write_text(text.replace(*edit, 1))
        done = dse_("fit", roofline_csv, "--model", "roofline", "-o", machine)
        assert done.exit_code == 2
        assert done.stdout == ""
        assert said in done.stderr
        assert not machine.exists()


def test_wrong_use_is_exit_code_2(roofline_csv: Path, tmp_path: Path):
    precious = tmp_path / "precious.toml"
    precious.write_text("keep")
    roofline = ("fit", roofline_csv, "--model", "roofline")
    for arguments, said in (
        (("fit", roofline_csv), "--model"),
        (("fit", roofline_csv, "--model", "rooflin"), "rooflin"),
        (("fit", tmp_path / "nowhere.csv", "--model", "roofline"), "No such file"),
        (("fit", tmp_path, "--model", "roofline"), "directory"),
        ((*roofline, "--folds", "4"), "for --model dvfs"),
        ((*roofline, "--word-size", "4"), "--word-size is for --model network"),
        ((*roofline, "--columns", "time"), "write NAME=HEADER"),
        ((*roofline, "--columns", "tme=time"), "did you mean 'time'"),
        ((*roofline, "--columns", "time=a,time=b"), "twice"),
        ((*roofline, "--absolute"), "for --model dvfs"),
        ((*roofline, "--confidence", "1"), "--confidence"),
        ((*roofline, "--plot", "x.docx"), ".png"),
        ((*roofline, "-o", tmp_path / "x.json"), ".toml"),
        ((*roofline, "-o", precious), "--force"),
        ((*roofline, "-o", precious / "where.toml"), "cannot write"),
    ):
        done = dse_(*arguments)
        assert done.exit_code == 2, arguments
        assert said in done.stderr, arguments
        assert "Traceback" not in done.stderr
    assert precious.read_text() == "keep"
    assert dse_(*roofline, "-o", precious, "--force").exit_code == 0


@pytest.mark.parametrize("model", ["dvfs", "roofline"])
def test_pictures_name_their_axes(model: str, dvfs_csv: Path, roofline_csv: Path):
    figure = dse.fit(dvfs_csv if model == "dvfs" else roofline_csv, model).plot()
    assert figure.get_suptitle()
    for panel in figure.axes:
        assert panel.get_xlabel()
        assert panel.get_ylabel() or panel.get_title()
        sizes = [t.get_fontsize() for t in (panel.xaxis.label, *panel.get_xticklabels())]
        assert min(sizes) >= 12
        for line in panel.get_lines():
            assert np.isfinite(np.asarray(line.get_ydata(), float)).all()
    assert figure.legends


@pytest.mark.parametrize(
    ("target", "columns", "said"),
    [
        (
            "lat = s",
            "",
            'column lat: its header says ms, not s: leave the unit out, or write --columns "lat=lat [s]"',
        ),
        ("lat = kg", "", "its header says ms, not kg"),
        ("lat = ms", "", ""),
        ("lat", "lat=lat [s]", ""),
    ],
)
def test_a_unit_that_contradicts_the_header_is_a_mistake(
    target: str, columns: str, said: str, tmp_path: Path
):
    """It won in silence: a model a thousand times too large."""
    runs = "\n".join(f"{n},{0.5 * n + 1}" for n in range(1, 12))
    file = tmp_path / "runs.csv"
    file.write_text(f"n,lat [ms]\n{runs}\n", encoding="utf-8")
    options = ["--model", "posynomial", "--terms", "2", "--target", target, "--of", "n"]
    options += ["--columns", columns] if columns else []
    found = CliRunner().invoke(main, ["fit", str(file), *options])
    assert found.exit_code == (2 if said else 0), found.output
    assert said in found.output


def test_a_fitted_model_named_as_a_machine_is_told_in_one_line(tmp_path: Path):
    """Ten false mistakes of a machine file were told."""
    file, model = tmp_path / "runs.csv", tmp_path / "fitted.toml"
    file.write_text(
        "n,lat [ms]\n" + "\n".join(f"{n},{0.5 * n + 1}" for n in range(1, 12)) + "\n", encoding="utf-8"
    )
    options = ["--model", "posynomial", "--terms", "2", "--target", "lat", "--of", "n"]
    assert CliRunner().invoke(main, ["fit", str(file), *options, "-o", str(model)]).exit_code == 0
    found = CliRunner().invoke(main, ["machines", str(model)])
    assert found.exit_code == 2
    assert found.output.count("\n") == 1
    assert "it is a fitted model: name it under model, not under machine" in found.output
