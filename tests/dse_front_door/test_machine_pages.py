"""``dse machines``: what a machine serves and lacks, evidence and intervals, comparison by columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import dse
from dse import machines
from dse.cli import main


def dse_(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def test_the_list_says_which_models_each_machine_serves():
    told = json.loads(dse_("machines", "--json").stdout)
    assert told.keys() == set(machines.names())
    assert {"nbody", "matmul", "roofline", "blocks"} <= set(told["h100-sxm"]["serves"])
    assert told["jaketown"]["serves"] == ["nbody", "matmul", "strassen", "lu", "fft"]
    assert told["tms320c5515-exabounds2012"]["serves"] == ["sockets"]
    assert told["fmm-settings-choi2016"]["serves"] == ["dvfs"]
    assert told["nvidia-gtx480"]["serves"] == []
    assert "no model as it is" in dse_("machines").stdout


def test_a_machine_that_serves_a_model_in_part_says_what_the_rest_needs():
    """POWER7 has cycles and times, and no power: the paper prints no voltage of it."""
    told = " ".join(CliRunner().invoke(main, ["machines", "power7-exabounds2012"]).output.split())
    assert (
        "Serves: exabounds Lacks for power, energy, total cost and the fastest clock of exabounds: " in told
    )
    record = json.loads(CliRunner().invoke(main, ["machines", "power7-exabounds2012", "--json"]).stdout)
    assert record["serves"] == ["exabounds"]
    some = record["lacks_for_some_metrics"]["exabounds"]
    assert some["parameters"] == ["voltage", "dynamic_capacitance"]


def test_a_machine_says_what_it_lacks_and_where_its_values_lie():
    told = json.loads(dse_("machines", "h200-sxm", "--json").stdout)
    assert "time_per_message" in told["lacks"]["nbody"]
    assert told["parameters"]["constant_power"]["interval"] == [0, 700]
    assert told["parameters"]["constant_power"]["evidence"] == "derived"
    assert told["figures"]["memory_size"]["source"] == "systems/h200_sxm.yaml: gpu.mem_capacity"
    assert told["figures"]["process"]["value"] == "TSMC 4N"
    shown = " ".join(dse_("machines", "h200-sxm").stdout.split())
    assert "Serves: roofline, partition, blocks" in shown
    assert "0 to 700 W" in shown
    assert "814 mm^2" in shown
    shown = " ".join(dse_("machines", "tpu-v5e").stdout.split())
    assert "Serves no model as it is" in shown
    assert (
        "Lacks for roofline, partition, blocks, transformer_inference: constant_power, energy_per_byte"
        in shown
    )


def test_machines_are_compared_by_figures_and_parameters():
    shown = dse_("machines", "--table", "peak_fp32, constant_power,process")
    assert shown.exit_code == 0
    line = next(x for x in shown.stdout.splitlines() if x.startswith("l4 "))
    assert line.split() == ["l4", "30.3", "TFLOPS", "36", "W", "TSMC", "4N"]
    rows = {
        r["name"]: r for r in json.loads(dse_("machines", "--table", "price,idle_power", "--json").stdout)
    }
    assert rows["epyc-7742"] == {"name": "epyc-7742", "price": 6950, "idle_power": None}
    three = dse_("machines", "l4", "h100-sxm", "h100-sxm-measured", "--table", "time_per_flop,launch_time")
    assert [line.split()[0] for line in three.stdout.splitlines()[2:]] == [
        "l4",
        "h100-sxm",
        "h100-sxm-measured",
    ]
    assert rows["tpu-v4"]["idle_power"] == 90
    assert "l4" not in rows


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--table", "peak_fp33"), "did you mean 'peak_fp32'"),
        (("l4", "h101", "--table", "peak_fp32"), "no machine is called 'h101'"),
        (("l4", "a30"), "several machines are compared: add --table"),
    ],
)
def test_a_comparison_that_cannot_be_made_is_told(words: tuple[str, ...], said: str):
    found = dse_("machines", *words)
    assert found.exit_code == 2
    assert said in " ".join(found.stderr.split())


def test_control_characters_of_a_strangers_file_are_spelled_out(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text('title = "a\\u001b[31mb"\n[figures]\ncores = { value = 3, source = "q\\u001b[2J" }\n')
    shown = dse_("machines", file).stdout
    assert "\x1b" not in shown
    assert shown.count("\\u001b") == 2


def test_a_machine_is_started_changed_and_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    told = dse_("new", "machine", "--like", "h100-sxm", "-o", "mine.toml")
    assert told.exit_code == 0
    assert "Next: dse machines mine.toml" in told.stdout
    file = Path("mine.toml")
    text = file.read_text(encoding="utf-8")
    assert 'value = "700 W"' in text
    file.write_text(text.replace('value = "700 W"', 'value = "350 W"'), encoding="utf-8")
    shown = json.loads(dse_("machines", "mine.toml", "--json").stdout)
    assert shown["parameters"]["constant_power"]["interval"] == [0, 350]
    asked = {"model": "roofline", "machine": "./mine.toml", "given": {"flops": 1e15, "intensity": 1e6}}
    answer = dse.solve(asked)
    # compute-bound: 67 TFLOPS at the middle of the constant power and half of the rest
    assert answer.metrics["power"] == pytest.approx(350 * 3 / 4, rel=1e-4)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("new", "nbody", "--like", "l4"), "--like starts a machine: dse new machine --like l4"),
        (("new", "machine", "--like", "h101"), "no machine is called 'h101'"),
    ],
)
def test_a_start_that_cannot_be_made_is_told(words: tuple[str, ...], said: str):
    found = dse_(*words)
    assert found.exit_code == 2
    assert said in " ".join(found.stderr.split())
