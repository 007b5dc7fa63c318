"""Carbon of making a machine: ACT's tables as copied, its Dell R740, and an H100 by hand."""

from __future__ import annotations

import csv
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
    for file in ("dram_hynix", "ssd_hynix"):
        held = yaml.safe_load((SOURCES / "act" / f"{file}.yaml").read_text())
        for kind, text in held.items():
            assert carbon.per_byte(kind) * 1e12 == pytest.approx(float(text.split()[0]))


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


def test_bills_of_materials_are_those_of_acts_files():
    """The table that ``dse reproduce act`` adds up has every part of both files, as they have it."""
    with (FOLDER.parent / "papers" / "data" / "act" / "parts.csv").open(encoding="utf-8") as file:
        rows = {(row["product"], row["part"]): row for row in csv.DictReader(file)}
    for product, name in (("Dell R740", "dellr740"), ("Fairphone 3", "fairphone3")):
        parts = yaml.safe_load((SOURCES / "act" / f"{name}.yaml").read_text())["silicon"]
        assert {part for p, part in rows if p == product} == set(parts)
        for part, stated in parts.items():
            row = rows[product, part]
            assert int(row["packages"]) == stated["n_ics"]
            assert float(row["yield"]) == stated.get("fab_yield", carbon.YIELD)
            if "area" in stated:
                number, unit = stated["area"].split()
                assert float(row["area_cm2"]) == pytest.approx(float(number) * {"cm2": 1, "mm2": 0.01}[unit])
                told = (row["process"], int(row["gases"]), row["electricity"])
                assert told == (stated["process"], stated["gpa"], stated["fab_ci"])
            else:
                assert f"{row['capacity_GB']} GB" == stated["capacity"]
                assert row["memory"] == stated["process"]
