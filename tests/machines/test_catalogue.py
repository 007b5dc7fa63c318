"""The machine catalogue: every value has a source, printed and corrected values stay apart."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from dse import machines, models
from dse.cli import main

PROCESSORS = {
    "intel-sandy-bridge-2687w": (150.0, 396.80, 2.645),
    "intel-ivy-bridge-3770k": (77.0, 307.20, 3.990),
    "intel-ivy-bridge-3770t": (45.0, 243.20, 5.404),
    "intel-westmere-ex-e7-8870": (130.0, 192.00, 1.477),
    "intel-beckton-x7560": (130.0, 144.64, 1.113),
    "intel-atom-d2500": (10.0, 29.76, 2.976),
    "intel-atom-n2800": (6.5, 29.76, 4.578),
    "nvidia-gtx480": (250.0, 1344.96, 5.380),
    "nvidia-gtx590": (365.0, 2488.32, 6.817),
    "arm-cortex-a9-2.0ghz": (1.9, 8.00, 4.211),
    "arm-cortex-a9-0.8ghz": (0.5, 3.20, 6.400),
}


@pytest.mark.parametrize("name", machines.names())
def test_every_value_has_a_source_and_lies_in_its_domain(name: str):
    machine, known = machines.get(name), models.machine_parameters()
    assert machine.name == name
    assert machine.title
    assert machine.source
    assert set(machine.provenance) == set(machine.parameters)
    assert all(machine.provenance.values())
    assert set(machine.doubts) <= set(machine.parameters)
    for parameter, value in machine.parameters.items():
        assert known[parameter].minimum <= value <= known[parameter].maximum


@pytest.mark.parametrize("name", PROCESSORS)
def test_table_ii_holds_what_power_and_peak_rate_give(name: str):
    """Three digits are printed; nothing beyond flops is given."""
    watts, gflops, efficiency = PROCESSORS[name]
    parameters = machines.get(name).parameters
    assert set(parameters) == {"time_per_flop", "energy_per_flop"}
    assert parameters["time_per_flop"] == pytest.approx(1e-9 / gflops, rel=5e-3)
    assert parameters["energy_per_flop"] == pytest.approx(1e-9 * watts / gflops, rel=5e-3)
    assert 1e-9 / parameters["energy_per_flop"] == pytest.approx(efficiency, rel=5e-3)


def test_jaketown_is_corrected_in_two_values_only():
    corrected, printed = machines.get("jaketown").parameters, machines.get("jaketown-printed").parameters
    differing = {k for k in printed if corrected[k] != printed[k]}
    assert differing == {"energy_per_word", "memory_power_per_word"}
    assert corrected["memory_power_per_word"] == 8 * 3.1 / 2**34
    assert printed["memory_power_per_word"] == pytest.approx(4 * corrected["memory_power_per_word"], rel=1e-4)
    assert corrected["energy_per_word"] == pytest.approx(4 / 25.6e9 * 2.15, rel=1e-15)
    assert printed["energy_per_word"] == printed["energy_per_flop"]


def test_doubtful_values_say_why():
    assert "4 times" in machines.get("jaketown-printed").doubts["memory_power_per_word"]
    assert "max_message" in machines.get("jaketown").doubts


@pytest.mark.parametrize("name", ["jaketown", "jaketown-printed", "balanced", "contrived"])
@pytest.mark.parametrize("model", ["nbody", "matmul", "strassen", "lu", "fft"])
def test_whole_machines_answer_every_single_level_model(name: str, model: str):
    needed = {q.name for q in models.get(model).machine if not q.optional and q.default is None}
    assert needed <= set(machines.get(name).parameters)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("gtx480", "nvidia-gtx480"),
        ("Nvidia GTX480", "nvidia-gtx480"),
        ("2687w", "intel-sandy-bridge-2687w"),
        ("sandy_bridge", "intel-sandy-bridge-2687w"),
        ("jaketown", "jaketown"),
    ],
)
def test_an_alias_is_any_run_of_parts_that_one_machine_has(alias: str, name: str):
    assert machines.get(alias).name == name


def test_an_ambiguous_alias_lists_its_candidates():
    with pytest.raises(models.UnknownName, match=r"arm-cortex-a9-0\.8ghz, arm-cortex-a9-2\.0ghz"):
        machines.get("cortex-a9")


@pytest.mark.parametrize("name", ["jaketwon", "Jaketon", "../jaketown"])
def test_an_unknown_machine_is_told_what_was_meant(name: str):
    with pytest.raises(KeyError, match=r"no machine is called .*did you mean 'jaketown"):
        machines.get(name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("h101", "'h100-sxm' or 'h100-pcie' or"), ("epic", "'epyc-7742' or"), ("mi301", "'mi300x' or")],
)
def test_a_typing_error_in_a_part_of_a_name_is_told_the_nearest_names_only(name: str, meant: str):
    with pytest.raises(KeyError, match=f"did you mean {meant}") as told:
        machines.get(name)
    assert "there are" not in str(told.value)


@pytest.mark.parametrize("name", ["", "  ", "-", "zzz"])
def test_nonsense_is_shown_what_there_is(name: str):
    with pytest.raises(KeyError, match=r"there are a100-pcie-40gb, .*balanced"):
        machines.get(name)


OWN = """
title = "a node"
[parameters]
memory_capacity = "384 GiB"
word_size = "8 bytes"
"""


def written(folder: Path, text: str) -> str:
    file = folder / "node.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_a_file_that_gives_its_word_size_may_give_its_memory_in_bytes(tmp_path: Path):
    found = machines.get(written(tmp_path, OWN)).parameters
    assert found["memory_capacity"] == 384 * 2**30 / 8


def test_a_file_without_a_word_size_is_told_to_give_one(tmp_path: Path):
    with pytest.raises(machines.MachineError, match=r"give machine\.word_size"):
        machines.get(written(tmp_path, OWN.replace("word_size", "# word_size")))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("titel = 'a node'\n" + OWN, r"has no 'titel'; did you mean 'title'"),
        ("base = 'h100-sxm'\n" + OWN, r"has no 'base': write figures_of = \"NAME\" to share the figures"),
        (
            "time_per_flop = '1 ns/flop'\n" + OWN,
            r"time_per_flop is a machine parameter: write it under \[parameters\]",
        ),
        ("thermal_design_power = '9 W'\n" + OWN, r"is a figure of a data sheet: write it under \[figures\]"),
        (
            OWN + "leakage_power = { value = '9 W', sauce = 'a guess' }",
            r"leakage_power: there is no 'sauce'; did you mean 'source'",
        ),
    ],
)
def test_a_key_of_a_file_that_nobody_reads_is_a_mistake(text: str, said: str, tmp_path: Path):
    with pytest.raises(machines.MachineError, match=said):
        machines.get(written(tmp_path, text))


def test_all_mistakes_of_a_machine_file_are_told_together(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text(
        'titel = "mine"\nevidence = "guess"\nyear = 20\n[parameters]\nword_size = "9 kg"\nline_size = "64 byte"\n'
        'time_per_flop = "1 W"\nenergy = 3\n[figures]\nmemorysize = "3 GB"\n[[settings]]\ncore_frequency = "1 kg"\n'
    )
    with pytest.raises(machines.MachineError) as told:
        machines.get(str(file))
    lines = str(told.value).splitlines()
    assert lines[0].endswith("8 mistakes")
    parts = (
        "titel",
        "evidence",
        "year",
        "memorysize",
        "word_size",
        "time_per_flop",
        "'energy'",
        "settings[0]",
    )
    assert len(lines) == 9
    assert all(any(part in line for line in lines[1:]) for part in parts)


def test_a_misspelt_number_of_a_setting_is_a_mistake(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text('title = "mine"\n[[settings]]\nname = "slow"\nrole = "test"\ncore_freqency = "1 GHz"\n')
    with pytest.raises(machines.MachineError, match=r"settings\[0\] has no 'core_freqency'.*core_frequency"):
        machines.get(str(file))


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("foo = 1", r"settings\[0\] has no 'foo'; a setting has name, core_frequency, .*, source, doubts"),
        ("sauce = 'a guess'", r"settings\[0\] has no 'sauce'; did you mean 'source'"),
        ("name = 3", r"settings\[0\]: name = 3 is no name; write a text, such as \"1\""),
        ("name = ' '", r"settings\[0\]: name = ' ' is no name"),
        ("doubts = 'many'", r"settings\[0\]: doubts are a table"),
        ("name = '2'\n[[settings]]\ncore_frequency = '1 GHz'", "two settings are called '2'"),
    ],
)
def test_what_nothing_reads_of_a_setting_is_a_mistake(setting: str, said: str, tmp_path: Path):
    with pytest.raises(machines.MachineError, match=said):
        machines.get(written(tmp_path, f"[[settings]]\n{setting}\n"))


def test_a_setting_without_a_name_is_called_by_its_number(tmp_path: Path):
    file = written(tmp_path, "[[settings]]\ncore_frequency = '1 GHz'\n[[settings]]\nname = 'fast'\n")
    assert [s["name"] for s in machines.get(file).settings] == ["1", "fast"]
    told = CliRunner().invoke(main, ["machines", file])
    assert told.exit_code == 0
    assert "1 GHz" in told.output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("parameters = 'x'\n", r"parameters are a table: write \[parameters\]"),
        ("settings = 'x'\n", r"settings are tables: write \[\[settings\]\]"),
        ("parameters = ''\nsettings = {}\n", "2 mistakes"),
        ("figures = 'x'\nparameters = 'x'\n", "2 mistakes"),
    ],
)
def test_a_part_that_is_no_table_is_told_as_that(text: str, said: str, tmp_path: Path):
    figures = "" if "figures" in text else "[figures]\npeak_fp32 = '1 TFLOPS'\n"
    with pytest.raises(machines.MachineError, match=said) as told:
        machines.get(written(tmp_path, text + figures))
    assert "it has no" not in str(told.value)


def test_a_file_with_the_figures_of_another_machine_and_a_price_is_that_machine(tmp_path: Path):
    """As docs/machine_files.md shows; what the scenario's own way says is the same."""
    page = (Path(__file__).parents[2] / "docs" / "machine_files.md").read_text(encoding="utf-8")
    (block,) = [b for b in page.split("```") if "purchase_price = " in b and "figures_of" in b]
    (tmp_path / "mine.toml").write_text(block.removeprefix("text\n"), encoding="utf-8")
    mine, theirs = machines.get(str(tmp_path / "mine.toml")), machines.get("h100-sxm-bf16")
    assert mine.parameters == pytest.approx({**theirs.parameters, "purchase_price": 40_000.0}, rel=1e-9)
    assert mine.figures.keys() == theirs.figures.keys()
