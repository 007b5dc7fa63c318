"""Carbon of making a machine: ACT's tables as copied, its Dell R740, and an H100 by hand."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
import yaml

from dse import machines
from dse.machines import carbon

FOLDER = Path(str(files("dse.machines")))
SOURCES = FOLDER / "sources"


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
