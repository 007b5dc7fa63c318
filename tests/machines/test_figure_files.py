"""Machine files of figures: what is refused, what follows from figures, and files to start from."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse import machines
from dse.machines import catalogue, derivation, serving, starters, writing
from dse.machines.figures import FIGURES
from dse.machines.values import EVIDENCE, Value

FOLDER = Path(str(files("dse.machines")))
RATE, WATTS = st.floats(1e6, 1e18), st.floats(1.0, 1e5)
SOURCES = FOLDER / "sources"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[figures]\npeak_fp33 = { value = "1 TFLOPS" }', "no figure 'peak_fp33'; did you mean 'peak_fp32'"),
        ('[figures]\npeak_fp32 = { value = "1 W" }', "peak_fp32: '1 W' is a power"),
        ('[figures]\npeak_fp32 = "1 TB"', "peak_fp32: '1 TB' is an amount of data"),
        ('[figures]\nprice = { value = "-1 USD" }', "price = -1 USD lies outside its domain"),
        ("[figures]\nprocess = { value = 7 }", "process = 7 is not text"),
        ('[figures]\nprocess = { value = " " }', "process is empty"),
        ('[figures]\npeak_fp32 = { evidence = "derived" }', "peak_fp32 has no value"),
        ('[figures]\npeak_fp32 = "0 TFLOPS"', "peak_fp32 = 0 flop/s lies outside its domain 1 to 1e"),
        ('[figures]\nmemory_size = "0 GB"', "memory_size = 0 byte lies outside"),
        ('[figures]\nnode_power = "1e200 W"', "node_power = 1e"),
        (
            '[figures]\nidle_power = "3 W"\nthermal_design_power = "2 W"',
            "idle_power = 3 W is above thermal_design_power = 2 W",
        ),
        ('[figures]\nthermal_design_power = "0 W"', "thermal_design_power = 0 W: nothing runs without power"),
        (
            '[figures]\nidle_power = "3 W"\nnode_power = "4 W"\nprocessors_per_node = 2',
            "idle_power = 3 W is above node_power/processors_per_node = 2 W",
        ),
        ("figures = 3", "write \\[figures\\]"),
        ('figures_of = "h101"', "figures_of = 'h101' is not a machine"),
        ("figures_of = 3", "figures_of = 3 is not a machine"),
        ('year = "soon"\n[figures]\ncores = 3', "year = 'soon' is not a year"),
        ('evidence = "rumour"\n[figures]\ncores = 3', "evidence = 'rumour' is not a kind of evidence"),
        ('[figures]\ncores = { value = 3, evidence = "data-sheet" }', "did you mean 'data sheet'"),
        ("[figures]\ncores = { value = 3, interval = [4, 5] }", "3  lies outside 4 to 5|lies outside 4 to 5"),
        ("[figures]\ncores = { value = 3, interval = [4] }", "is not \\[least, greatest\\]"),
        ('[figures]\nprocess = { value = "N7", interval = [4, 5] }', "is a text and has no interval"),
        ('[parameters]\nconstant_power = { value = "3 W", interval = ["4 W", "5 W"] }', "outside 4 to 5 W"),
        (
            '[parameters]\ntime_per_flop = { value = "1 TFLOPS", interval = ["2 TFLOPS", "0.5 TFLOPS"] }',
            "has its greatest end first; write \\['0.5 TFLOPS', '2 TFLOPS'\\]",
        ),
        (
            '[parameters]\nconstant_power = { value = "3 W", interval = ["4 W", "2 W"] }',
            "has its greatest end first; write \\['2 W', '4 W'\\]",
        ),
        ('[parameters]\ntime_per_flop = "0 TFLOPS"', "'0 TFLOPS' is not above 0, so that a time per flop"),
    ],
)
def test_a_file_with_a_mistake_is_told_so(text: str, words: str, tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(machines.MachineError, match=words):
        machines.get(str(file))


def test_a_rate_and_its_reciprocal_say_the_same():
    sheet = catalogue.parse("sheet", '[figures]\npeak_fp32 = "0.5 ps/flop"\nmemory_bandwidth = "2 TB/s"')
    assert sheet.figures["peak_fp32"].value == pytest.approx(2e12)
    rates = """word_size = 8
    time_per_flop = { value = "1 GFLOPS", interval = ["0.5 GFLOPS", "2 GFLOPS"] }
    energy_per_flop = "5 GFLOPS/W"
    time_per_word = "200 MB/s\""""
    found = catalogue.parse("own", f"[parameters]\n{rates}")
    times = {"time_per_flop": 1e-9, "energy_per_flop": 2e-10, "time_per_word": 4e-8, "word_size": 8.0}
    assert found.parameters == pytest.approx(times)
    assert found.intervals["time_per_flop"] == pytest.approx((5e-10, 2e-9))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('rate = "peak_fp33"\n[figures]\npeak_fp32 = "1 TFLOPS"', "not a peak rate of flops; did you mean"),
        ('rate = "peak_int8"\n[figures]\npeak_fp32 = "1 TFLOPS"', "not a peak rate of flops"),
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


@given(peak=RATE, bandwidth=RATE, link=RATE, size=st.floats(1e3, 1e15), design=WATTS, node=WATTS, idle=WATTS)
def test_whatever_the_figures_values_lie_between_their_ends_and_add_up(**drawn: float):
    """The split keeps to the design power for every device, and no end is left."""
    printed = {
        "peak_fp32": drawn["peak"],
        "memory_bandwidth": drawn["bandwidth"],
        "memory_size": drawn["size"],
        "network_bandwidth": drawn["link"],
        "network_latency": 1e-6,
        "thermal_design_power": drawn["design"],
        "node_power": drawn["node"],
        "processors_per_node": 4.0,
        "idle_power": drawn["idle"],
    }
    figures = {name: Value(value, FIGURES[name].unit) for name, value in printed.items()}
    if drawn["idle"] > drawn["design"]:
        with pytest.raises(ValueError, match="above thermal_design_power"):
            derivation.parameters(figures)
        return
    made = derivation.parameters(figures)
    for name, v in made.items():
        if v.interval is not None:
            low, high = v.interval
            assert low <= v.value <= high * (1 + 1e-12), name
    p = {name: float(v.value) for name, v in made.items()}
    drawn_at_peak = p["energy_per_flop"] * drawn["peak"] + p["energy_per_byte"] * drawn["bandwidth"]
    assert p["constant_power"] + drawn_at_peak == pytest.approx(drawn["design"])
    overhead = max(drawn["node"] / 4 - drawn["design"], 0.0)
    held = p["memory_power_per_word"] * p["memory_capacity"] + p["leakage_power"]
    assert held == pytest.approx(p["constant_power"] + overhead / 2)


def test_a_file_of_its_own_parameters_stays_as_it_is():
    for name in ("jaketown", "h100-sxm"):
        text = (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
        assert writing.completed(text, name) == text
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


def test_a_started_machine_states_only_what_does_not_follow(tmp_path: Path):
    """So that a changed figure changes all that follows from it."""
    assert "[parameters]" not in starters.starter("epyc-9654")
    measured = starters.starter("h100-sxm-measured").partition("\n[parameters]\n")[2]
    assert re.findall(r"(?m)^(\w+) = ", measured) == ["time_per_flop", "time_per_byte", "launch_time"]
    file = tmp_path / "mine.toml"
    file.write_text(starters.starter("dgx-a100-measured").replace('"400 W"', '"500 W"'), encoding="utf-8")
    mine, theirs = machines.get(str(file)), machines.get("dgx-a100-measured")
    assert mine.parameters["constant_power"] == theirs.parameters["constant_power"] + 50
    assert mine.parameters["time_per_flop"] == pytest.approx(theirs.parameters["time_per_flop"], rel=1e-9)


def test_the_example_of_the_page_is_a_machine_file(tmp_path: Path):
    page = (Path(__file__).parents[2] / "docs" / "machine_files.md").read_text(encoding="utf-8")
    file = tmp_path / "example.toml"
    file.write_text(page.split("```text\n")[1].split("```")[0], encoding="utf-8")
    example = machines.get(str(file))
    assert example.figures["memory_bandwidth"].value == 3e12
    assert example.intervals["constant_power"] == (0, 600)
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


def test_what_a_file_does_not_state_follows_from_its_figures_and_from_what_it_states(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    figures = '[figures]\npeak_fp32 = "60 TFLOPS"\nmemory_size = "80 GB"\nthermal_design_power = "600 W"\n'
    file.write_text(figures)
    plain = machines.get(str(file))
    file.write_text(figures + '[parameters]\nword_size = "8 byte"\nenergy_per_flop = "20 pJ/flop"\n')
    found = machines.get(str(file))
    assert found.parameters.keys() == plain.parameters.keys()
    assert found.parameters["energy_per_flop"] == 20e-12
    assert found.parameters["memory_capacity"] == 80e9 / 8
    assert plain.parameters["memory_capacity"] == 80e9 / 4
    assert found.evidence["energy_per_flop"] != "derived" == found.evidence["memory_capacity"]
