"""Machines of 2018 to 2026: figures as the cited files have them, parameters and carbon derived by the stated rules."""

from __future__ import annotations

import ast
import csv
import json
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from dse import machines, models
from dse.machines import serving, writing
from dse.machines.figures import FIGURES, WORDS
from dse.machines.values import EVIDENCE
from dse.models import machine_parameters
from dse.quantities import to_si

FOLDER = Path(str(files("dse.machines")))
SOURCES = FOLDER / "sources"
TODAY = [n for n in machines.names() if (machines.get(n).year or 0) >= 2018]
# a source within the package: folder/file: key
CITED = re.compile(r"^((?:systems|llm_analysis|genz|llmcompass)/[\w.-]+): ([\w.]+)$")


def source(file: str, key: str) -> float:
    """The number at a key of a source file, as that file has it."""
    text = (SOURCES / file).read_text(encoding="utf-8")
    if file.endswith(".yaml"):
        found: Any = yaml.safe_load(text)
    elif file.endswith(".json"):
        found = json.loads(text)
    else:
        found = ast.literal_eval(re.sub(r"(?s)^.*?= ", "", text, count=1))
    for part in key.split("."):
        found = found[part]
    return float(found)


def scale(file: str, figure: str) -> float:
    """What a source's numbers of this kind are multiplied by to be SI: YAML files are SI, others are not."""
    if file.startswith("systems") or figure.endswith("latency"):
        return 1.0
    if figure.startswith("peak"):
        return 1e12
    assert figure in {"memory_bandwidth", "memory_size", "node_bandwidth"}
    return 1e9


def cited(name: str) -> dict[str, tuple[str, str]]:
    """The figures of a machine that cite one key of a file here: file and key."""
    found = {k: CITED.match(v.source) for k, v in machines.get(name).figures.items()}
    return {k: (m[1], m[2]) for k, m in found.items() if m}


def test_there_are_as_many_machines_as_an_architect_asks_about():
    own = [n for n in TODAY if "figures_of" not in (FOLDER / f"{n}.toml").read_text(encoding="utf-8")]
    assert len(own) >= 25
    asked = {
        *("v100-sxm", "a100-sxm-40gb", "a100-sxm-80gb", "a100-pcie-80gb", "a10g", "l4", "l40s", "h100-pcie"),
        *(
            "h100-sxm",
            "h200-sxm",
            "b200-sxm",
            "gb200",
            "gb300",
            "mi100",
            "mi210",
            "mi250x",
            "mi300x",
            "mi325x",
        ),
        *("tpu-v4", "tpu-v5e", "tpu-v6e", "gaudi3", "grace", "epyc-7742", "epyc-9755", "xeon-8380"),
        *("xeon-6980p", "a64fx-fugaku"),
    }
    assert asked <= set(own)


@pytest.mark.parametrize("name", machines.names())
def test_every_value_has_evidence_a_source_and_a_unit(name: str):
    machine = machines.get(name)
    text = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    assert all(kind in EVIDENCE for kind in machine.evidence.values())
    assert all(v.evidence in EVIDENCE and v.source for v in machine.figures.values())
    units = {n: q.unit for n, q in FIGURES.items()} | {n: q.unit for n, q in machine_parameters().items()}
    for part in ("figures", "parameters"):
        for key, entry in text.get(part, {}).items():
            if units[key] and name in TODAY:
                # the file's own unit is one of the quantity's dimension: a bare number would be taken as SI
                assert isinstance(entry["value"], str), key
                assert re.search(r"[A-Za-z]", entry["value"].split(" ", 1)[1]), key
                to_si(entry["value"], units[key])
    for key, (low, high) in machine.intervals.items():
        assert low <= machine.parameters[key] <= high


@pytest.mark.parametrize("name", [n for n in TODAY if cited(n)])
def test_figures_are_those_of_the_files_that_they_cite(name: str):
    """Every figure that cites a key of a file, not a choice of ten; the rest cites data sheets."""
    for figure, (file, key) in cited(name).items():
        value = machines.get(name).figures[figure].value
        assert value == pytest.approx(source(file, key) * scale(file, figure), rel=1e-12), figure
        line = re.search(rf"^ *{key.split('.')[-1]}:.*$", (SOURCES / file).read_text(), re.MULTILINE)
        assert line is None or "nonofficial" not in line[0], f"{figure} is the source's own guess"


def rows(name: str) -> list[dict[str, str]]:
    with (Path(__file__).parents[1] / "data" / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("row", rows("peak_rates.csv"), ids=lambda r: f"{r['machine']} {r['figure']}")
def test_peak_rates_are_lanes_times_clock(row: dict[str, str]):
    """By the architecture, in place of the data sheet; printed with two or three digits (34 TFLOPS: 33.5)."""
    peak = float(row["lanes"]) * float(row["flops_per_lane"]) * float(row["clock_GHz"]) * 1e9
    assert machines.get(row["machine"]).figures[row["figure"]].value == pytest.approx(peak, rel=0.02)


@pytest.mark.parametrize("row", rows("memory_buses.csv"), ids=lambda r: r["machine"])
def test_bandwidths_are_bus_width_times_transfers(row: dict[str, str]):
    """By the memory's interface; some vendors round 8.19 TB/s down to 8 TB/s."""
    bandwidth = float(row["bits"]) / 8 * float(row["gigatransfers_per_s"]) * 1e9
    found = machines.get(row["machine"]).figures["memory_bandwidth"].value
    assert found == pytest.approx(bandwidth, rel=0.025)


def test_most_accelerators_have_a_file_to_be_checked_against():
    counted = {n: len(cited(n)) for n in TODAY}
    assert sum(counted.values()) >= 250
    assert counted["h100-sxm"] >= 10
    assert counted["b200-sxm"] >= 9


@pytest.mark.parametrize("name", TODAY)
def test_what_stands_below_the_mark_follows_from_the_figures(name: str):
    text = (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    assert writing.MARK in text
    assert writing.completed(text, name) == text


@pytest.mark.parametrize("name", [n for n in TODAY if "constant_power" in machines.get(n).parameters])
def test_powers_and_energies_add_up_to_the_design_power(name: str):
    """By hand: flops and bytes at full rate beside the constant power draw just the design power, at every end too.

    Full rates are those of the data sheet, or those measured.
    """
    machine = machines.get(name)
    text = tomllib.loads(text_of(name))
    p, f = machine.parameters, {k: v.value for k, v in machine.figures.items()}
    whole = f.get("thermal_design_power") or f["node_power"] / f["processors_per_node"]
    idle = f.get("idle_power", 0.0)
    peak, bandwidth = 1 / p["time_per_flop"], 1 / p["time_per_byte"]
    if machine.evidence["time_per_flop"] == "derived":
        assert peak == pytest.approx(f[text.get("rate", rate(f))], rel=1e-11)
        assert bandwidth == pytest.approx(f["memory_bandwidth"], rel=1e-11)
    assert p["constant_power"] == pytest.approx((whole + idle) / 2, rel=1e-11)
    drawn = p["constant_power"] + p["energy_per_flop"] * peak + p["energy_per_byte"] * bandwidth
    assert drawn == pytest.approx(whole, rel=1e-11)
    assert p["energy_per_flop"] * peak == pytest.approx(p["energy_per_byte"] * bandwidth, rel=1e-11)
    ends = machine.intervals
    assert ends["energy_per_flop"] == (0.0, pytest.approx((whole - idle) / peak, rel=1e-11))
    assert ends["energy_per_byte"] == (0.0, pytest.approx((whole - idle) / bandwidth, rel=1e-11))
    assert ends["constant_power"] == (pytest.approx(idle), pytest.approx(whole))
    assert ("time_per_flop_double" in p) == ("peak_fp64" in f)
    if "leakage_power" in p:
        # of the distributed machine: full memory, leakage and flops stay below what a processor may draw
        share = f["node_power"] / f["processors_per_node"] if "node_power" in f else whole
        held = p["memory_power_per_word"] * p["memory_capacity"] + p["leakage_power"]
        assert held + p["energy_per_flop"] * peak < max(share, whole)
        assert held + p["energy_per_word"] / p["time_per_word"] <= max(share, whole) * (1 + 1e-11)
        latency = f.get("network_latency", f.get("node_latency"))
        assert p["time_per_message"] == pytest.approx(latency, rel=1e-11)


def text_of(name: str) -> str:
    return (FOLDER / f"{name}.toml").read_text(encoding="utf-8")


def rate(figures: dict[str, Any]) -> str:
    return next(n for n in ("peak_fp32", "peak_bf16", "peak_fp16") if n in figures)


@pytest.mark.parametrize("name", ["h100-sxm", "h100-sxm-bf16", "hawk", "dgx-h100", "mi210"])
def test_a_word_is_a_number_of_the_flops_type(name: str):
    p = machines.get(name).parameters
    size = {"h100-sxm-bf16": 2, "hawk": 8}.get(name, 4)
    f = {k: v.value for k, v in machines.get(name).figures.items()}
    link = f.get("network_bandwidth", f.get("node_bandwidth"))
    assert p["word_size"] == size
    assert p["time_per_word"] == pytest.approx(size / link, rel=1e-11)
    assert p["memory_capacity"] == pytest.approx(f["memory_size"] / size, rel=1e-11)
    assert all(WORDS[k.removeprefix("peak_")] for k in f if k.startswith("peak_fp64"))


@pytest.mark.parametrize("name", TODAY)
def test_a_machine_answers_every_model_that_it_is_said_to_serve(name: str):
    """The equations run on its parameters and give positive times and energies; those it lacks are named."""
    machine = machines.get(name)
    given = {"machine." + k: v for k, v in machine.parameters.items()}
    asked = {
        "roofline": {"flops": 1e15, "bytes": 1e14, "precision": "single", "level": "memory"},
        "nbody": {"bodies": 1e6, "flops_per_pair": 20.0, "processors": 64.0, "memory": 1e6},
        "matmul": {"order": 1e5, "processors": 64.0, "memory": 1e9},
        "matmul_two_level": {
            "order": 1e5,
            "nodes": 8.0,
            "cores": 8.0,
            "node_memory": 1e10,
            "core_memory": 1e9,
        },
    }
    served = serving.serves(machine)
    for model in set(asked) & set(served):
        inputs = {q.name: q.default for q in models.get(model).inputs if q.default is not None}
        plain = {n: v for n, v in asked[model].items() if n in {q.name for q in models.get(model).inputs}}
        found = models.evaluate(models.get(model), {**inputs, **plain, **given})
        assert found["time"] > 0
        assert found["energy"] > 0
    lacks = serving.missing(machine)
    assert set(served) | set(lacks) == set(models.names())
    assert all(not set(names) & set(machine.parameters) for names in lacks.values())
    if not served:
        assert name in {"tpu-v5e", "tpu-v5p", "tpu-v6e"}, "only where the vendor publishes no power"


def test_the_folders_of_sources_carry_their_licence():
    for folder in (f for f in SOURCES.iterdir() if f.is_dir() and f.name != "__pycache__"):
        assert "icense" in (folder / "LICENSE").read_text(encoding="utf-8"), folder.name
        assert "https://" in (folder / "ATTRIBUTION.md").read_text(encoding="utf-8"), folder.name
