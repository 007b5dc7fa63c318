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
from dse.machines import carbon, serving, starters, writing
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
    """By hand: flops and bytes at full rate beside the constant power draw just the design power, at every end too."""
    machine = machines.get(name)
    p, f = machine.parameters, {k: v.value for k, v in machine.figures.items()}
    whole = f.get("thermal_design_power") or f["node_power"] / f["processors_per_node"]
    idle = f.get("idle_power", 0.0)
    peak, bandwidth = 1 / p["time_per_flop"], f["memory_bandwidth"]
    assert peak == pytest.approx(f[tomllib.loads(text_of(name)).get("rate", rate(f))], rel=1e-11)
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


@pytest.mark.parametrize("file", ["epa", "gpa_95", "gpa_99", "materials"])
def test_acts_tables_are_as_its_files_have_them(file: str):
    for node, text in yaml.safe_load((SOURCES / "act" / f"{file}.yaml").read_text()).items():
        printed = float(text.split()[0])
        if file == "epa":
            assert carbon.process(node).energy == pytest.approx(printed * 3.6e6 * 1e4)
        elif file == "materials":
            assert carbon.process(node).materials == pytest.approx(printed * 10)
        else:
            assert carbon.process(node, int(file[-2:])).gases == pytest.approx(printed * 10)


def test_acts_electricity_and_memory_are_as_its_files_have_them():
    places = yaml.safe_load((SOURCES / "act" / "location_2023.yaml").read_text())
    sources = yaml.safe_load((SOURCES / "act" / "source.yaml").read_text())
    for place in ("taiwan", "korea", "usa", "world", "coal"):
        printed = float((places | sources)[place].split()[0])
        assert carbon.intensity(place) * 3.6e6 * 1e3 == pytest.approx(printed)
    held = yaml.safe_load((SOURCES / "act" / "dram_hynix.yaml").read_text())
    for kind in ("lpddr4", "ddr4_10nm", "ddr3_50nm"):
        assert carbon.per_byte(kind) * 1e12 == pytest.approx(float(held[kind].split()[0]))


def test_the_processors_of_the_dell_r740_are_as_act_has_them():
    """23.1434 kg: two processors of 6.98 cm2 at 28 nm on coal, each with two packages."""
    parts = yaml.safe_load((SOURCES / "act" / "dellr740.yaml").read_text())["silicon"]
    total = 0.0
    for part in (parts["cpu.main0"], parts["cpu.main1"]):
        area = float(part["area"].split()[0]) * 1e-4
        made = carbon.process(part["process"], part["gpa"])
        dies = carbon.of_die(area, made, carbon.intensity(part["fab_ci"]), part["fab_yield"])
        total += carbon.of_package(dies, packages=part["n_ics"])
    # printed with six digits
    assert total == pytest.approx(23.1434, abs=5e-5)
    assert total == pytest.approx(2 * ((820 * 0.9 + 175 + 500) / 875 * 6.98 + 2 * 0.15), rel=1e-12)


def test_embodied_carbon_of_an_h100_by_hand():
    """8.14 cm2 at ACT's 5 nm in Taiwan, 80 GiB, one package; 99 and 95 % of the gases abated."""
    found = machines.get("h100-sxm").figures["embodied_carbon"]
    ends = [
        (0.642 * 2.75 + gases + 0.5) / 0.875 * 8.14 + memory * 85.899345920 + 0.15
        for gases, memory in ((0.225, 0.048), (0.43, 0.065))
    ]
    assert found.interval == pytest.approx(ends, rel=1e-11)
    assert found.value == pytest.approx(sum(ends) / 2, rel=1e-11)


@pytest.mark.parametrize("good", [0.0, -0.5, 1.5])
def test_a_yield_is_a_share(good: float):
    with pytest.raises(ValueError, match="yield"):
        carbon.of_die(1e-4, carbon.process("7nm"), carbon.intensity("taiwan"), good)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[figures]\npeak_fp33 = { value = "1 TFLOPS" }', "no figure 'peak_fp33'; did you mean 'peak_fp32'"),
        ('[figures]\npeak_fp32 = { value = "1 W" }', "peak_fp32|W"),
        ('[figures]\nprice = { value = "-1 USD" }', "price = -1 USD lies outside its domain"),
        ("[figures]\nprocess = { value = 7 }", "process = 7 is no text"),
        ('[figures]\nprocess = { value = " " }', "process is empty"),
        ('[figures]\npeak_fp32 = { evidence = "derived" }', "peak_fp32 has no value"),
        ("figures = 3", "write \\[figures\\]"),
        ('figures_of = "h101"', "figures_of = 'h101' is no machine"),
        ("figures_of = 3", "figures_of = 3 is no machine"),
        ('year = "soon"\n[figures]\ncores = 3', "year = 'soon' is no year"),
        ('evidence = "rumour"\n[figures]\ncores = 3', "evidence = 'rumour' is no kind of evidence"),
        ('[figures]\ncores = { value = 3, evidence = "data-sheet" }', "did you mean 'data sheet'"),
        ("[figures]\ncores = { value = 3, interval = [4, 5] }", "3  lies outside 4 to 5|lies outside 4 to 5"),
        ("[figures]\ncores = { value = 3, interval = [4] }", "is not \\[least, greatest\\]"),
        ('[figures]\nprocess = { value = "N7", interval = [4, 5] }', "is a text and has no interval"),
        ('[parameters]\nconstant_power = { value = "3 W", interval = ["4 W", "5 W"] }', "outside 4 to 5 W"),
    ],
)
def test_a_file_with_a_mistake_is_told_so(text: str, words: str, tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(machines.MachineError, match=words):
        machines.get(str(file))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('rate = "peak_fp33"\n[figures]\npeak_fp32 = "1 TFLOPS"', "no peak rate of flops; did you mean"),
        ('rate = "peak_int8"\n[figures]\npeak_fp32 = "1 TFLOPS"', "no peak rate of flops"),
        ('rate = "peak_bf16"\n[figures]\npeak_fp32 = "1 TFLOPS"', "the figures have no peak_bf16"),
        (
            '[figures]\ndie_area = "1 cm^2"\nprocess = "1 nm"',
            "ACT has no process '1 nm'; known are TSMC 12FFN",
        ),
    ],
)
def test_figures_that_nothing_follows_from_are_told(text: str, words: str):
    with pytest.raises(ValueError, match=words):
        writing.completed(text)


def test_a_file_of_its_own_parameters_stays_as_it_is():
    for name in ("jaketown", "h100-sxm"):
        assert writing.completed(text_of(name), name) == text_of(name)
    mixed = '[figures]\npeak_fp32 = "1 TFLOPS"\n[parameters]\nconstant_power = "3 W"\n'
    assert writing.completed(mixed) == mixed


@pytest.mark.parametrize("like", ["", *machines.names()])
def test_a_started_machine_is_the_one_that_it_was_started_from(like: str, tmp_path: Path):
    """What is derived follows again from the figures; six digits of the shown values at least."""
    file = tmp_path / "mine.toml"
    file.write_text(starters.starter(like), encoding="utf-8")
    mine = machines.get(str(file))
    if not like:
        assert {"roofline", "blocks", "partition"} <= set(serving.serves(mine))
        uncommented = re.sub(r"(?m)^# (\w+ = )", r"\1", starters.starter())
        file.write_text(uncommented, encoding="utf-8")
        assert {"nbody", "matmul", "matmul_two_level"} <= set(serving.serves(machines.get(str(file))))
        return
    theirs = machines.get(like)
    assert mine.parameters == pytest.approx(dict(theirs.parameters), rel=1e-9)
    assert serving.serves(mine) == serving.serves(theirs)
    assert len(mine.settings) == len(theirs.settings)
    assert mine.figures.keys() == theirs.figures.keys() - {"embodied_carbon"}
    assert mine.evidence == theirs.evidence
    assert mine.doubts == theirs.doubts


def test_the_example_of_the_page_is_a_machine_file(tmp_path: Path):
    page = (Path(__file__).parents[2] / "docs" / "machine_files.md").read_text(encoding="utf-8")
    file = tmp_path / "example.toml"
    file.write_text(page.split("```text\n")[1].split("```")[0], encoding="utf-8")
    example = machines.get(str(file))
    assert example.figures["memory_bandwidth"].value == 3e12
    assert example.intervals == {"constant_power": (0, 600)}
    keys = set(re.findall(r"^\| `(\w+)`", page, re.MULTILINE))
    assert {"year", "evidence", "figures_of", "rate", "value", "interval", "doubt"} <= keys
    assert all(f"`{kind}`" in page for kind in EVIDENCE)


def test_figures_of_your_own_device_become_parameters(tmp_path: Path):
    """A file of five figures, completed by ``python -m dse.machines FOLDER``."""
    file = tmp_path / "mine.toml"
    file.write_text(
        'title = "Mine"\n[figures]\npeak_fp32 = "10 TFLOPS"\nmemory_bandwidth = "1 TB/s"\n'
        'thermal_design_power = "200 W"\nidle_power = "40 W"\n'
    )
    at_once = machines.get(str(file))
    writing.write(tmp_path)
    once = file.read_text()
    writing.write(tmp_path)
    assert file.read_text() == once
    mine = machines.get(str(file))
    assert mine.parameters == pytest.approx(dict(at_once.parameters), rel=1e-11)
    assert mine.evidence == at_once.evidence
    assert mine.parameters["constant_power"] == 120
    assert mine.parameters["energy_per_flop"] == pytest.approx(4e-12)
    assert mine.intervals["constant_power"] == (40, 200)
    assert "roofline" in serving.serves(mine)
