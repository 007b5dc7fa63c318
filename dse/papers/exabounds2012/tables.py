"""Tables 2 to 5 and Figure 20: every cell beside the catalogue or what the model makes of it."""

from __future__ import annotations

from math import prod

from dse.models.exabounds import EXABOUNDS
from dse.papers.comparer import Found
from dse.papers.exabounds2012.correlator import table_3
from dse.papers.exabounds2012.rows import answers, printed
from dse.papers.exabounds2012.systems import catalogue, of, plain
from dse.papers.sources import table

TERABIT = 1e12 / 8
# a core of 1 GHz that may take 1 GB/s
GIGA = 1e9


@answers("t2")
def _table_3_work() -> float:
    return table_3()["performance"] * table_3()["time"]


@answers("t2:moved", "t2:parallelism", "t2:control")
def _input(input: str) -> float:
    default = next(q.default for q in EXABOUNDS.inputs if q.name == input)
    return float(str(default))


@answers("t2:demand")
def _demand(value_SI: str) -> float:
    asked = plain(**{"demand.core": float(value_SI)}, hardware={"bandwidth.core": GIGA})
    return 1.0 / asked["core_limit.core"]


@answers("t2_li")
def _of_a_socket() -> Found:
    above = prod(
        catalogue("table3")[f"count.{level}"] for level in ("card", "unit", "rack", "aisle", "system")
    )
    return Found(table_3()["work.socket"], corrected=printed("table2_app")["L_sys"] / above)


@answers("t3", "t4")
def _catalogue_cell(machine: str, parameter: str, scale: str, note: str) -> Found:
    """Beside the catalogue: ``scale`` is how many of the file's unit ours has."""
    remark = f"{parameter}; {note}" if note else parameter
    return Found(catalogue(machine)[parameter] * float(scale), remark=remark)


def _area() -> tuple[float, float]:
    """Transistors of a die of Table 3 and its area, by the model, which without a density takes that of the die."""
    stated = {k: v for k, v in catalogue("table3").items() if k != "transistor_density"}
    ours = of(None, stated | {"dynamic_capacitance": 1e-9}, {}, "area")
    return ours["transistors_per_core"] * catalogue("table3")["count.die"], ours["area_needed"]


@answers("t3_density")
def _density() -> Found:
    counted, area = _area()
    cells = printed("table3_hw")
    return Found(counted / area, corrected=cells["n_0_xpc"] / cells["n_1_apd"])


@answers("t3_die")
def _transistors() -> Found:
    return Found(_area()[0], corrected=8 * printed("table3_hw")["n_0_xcore"])


def _loss(ohm: float, pins: str, ampere: str) -> float:
    """Loss of supply pins; a plain core draws an ampere for every gigahertz."""
    supply = {"supply_resistance.socket": ohm, "supply_pins.socket": float(pins)}
    return plain(hardware=supply | {"frequency": float(ampere) * 1e9})["power_ohmic"]


@answers("t3_ohm")
def _ohm(ohm: str, pins: str, ampere: str) -> Found:
    printed_loss = _loss(printed("table3_hw")["R_2_supply"], pins, ampere)
    right = (float(ampere) / float(pins)) ** 2 * float(ohm) * float(pins)
    return Found(_loss(float(ohm), pins, ampere), printed_loss, corrected=right)


@answers("t4_pipe")
def _pipeline(stages: str) -> Found:
    cells = printed("table4_power7")
    width = cells["n_0_front"] / float(stages)
    return Found(catalogue("power7")["pipeline_length"], corrected=cells["n_0_pipe"] / width)


@answers("t5_bits", "t5_bits:board", "t5_bits:optical", "t5_bits:wire")
def _bits(energy: str) -> Found:
    """Energies of a bit, as the power of moving 1 Tb/s: a picojoule a bit is a watt."""
    moved = {"data_energy.socket": 8 * float(energy), "bandwidth.socket": TERABIT}
    return Found(plain(hardware=moved)["power_data"], float(energy) * 1e12)


@answers("f20")
def _count_of_level(system: str, level: str) -> float:
    return catalogue(system)[f"count.{level}"]


@answers("f20:cores")
def _cores(system: str) -> Found:
    cores = of(system, {"frequency": 1e9, "voltage": 1.0, "dynamic_capacitance": 1e-9}, {})["cores"]
    # n of a core are the instructions that it issues per cycle
    figure = (row for row in table("exabounds2012/figure20") if row["system"] == system)
    return Found(cores, prod(float(row["count"]) for row in figure if row["level"] != "core"))
