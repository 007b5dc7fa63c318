"""Carbon of making a machine, by the method of ACT (Gupta et al., ISCA 2022; facebookresearch/ACT, MIT licence).

A die of area A, made with a yield y, costs

    C = (CI EPA + GPA + MPA)/y A

with the energy EPA, the gases GPA and the materials MPA that a square metre of the process takes, and the carbon
intensity CI of the fab's electricity. Memory costs carbon per byte, every package 150 g. All numbers are SI:
kg, m², J, byte; the tables are ACT's (``sources/act``).
"""

from __future__ import annotations

from dse.models.shared.grids import GRIDS
from dse.system.records import dataclass

_PER_CM2 = 1e4
_KWH = 3.6e6
_GRAM = 1e-3

# ACT's tables by process: kWh/cm2, g/cm2 with 95 and 99 % of the gases abated
_EPA = {
    "28nm": 0.9,
    "20nm": 1.2,
    "14nm": 1.2,
    "10nm": 1.475,
    "8nm": 1.52,
    "7nm": 2.15,
    "5nm": 2.75,
    "3nm": 3.25,
}
_GPA = {
    95: {
        "28nm": 175,
        "20nm": 190,
        "14nm": 200,
        "10nm": 240,
        "8nm": 240,
        "7nm": 350,
        "5nm": 430,
        "3nm": 470,
    },
    99: {
        "28nm": 100,
        "20nm": 110,
        "14nm": 125,
        "10nm": 150,
        "8nm": 150,
        "7nm": 200,
        "5nm": 225,
        "3nm": 275,
    },
}
_MPA = 500
# g per 1e9 byte: DRAM, then flash
_MEMORY = {
    "ddr3_50nm": 600,
    "ddr3_40nm": 315,
    "ddr3_30nm": 230,
    "lpddr3_30nm": 201,
    "lpddr3_20nm": 184,
    "lpddr2_20nm": 159,
    "lpddr4": 48,
    "ddr4_10nm": 65,
    "nand_30nm": 31,
    "nand_20nm": 15,
    "nand_10nm": 10,
    "nand_tlc_1z": 5.6,
    "nand_tlc_v3": 6.3,
}

PACKAGE = 0.15
YIELD = 0.875


@dataclass(frozen=True, slots=True)
class Process:
    """What a square metre of dies takes: energy (J/m²), gases and materials (kg/m²)."""

    energy: float
    gases: float
    materials: float


def process(node: str, abated: int = 95) -> Process:
    """Return ACT's figures of a process such as "7nm", with 95 or 99 % of the gases abated; KeyError for others."""
    grams = _GRAM * _PER_CM2
    return Process(_EPA[node] * _KWH * _PER_CM2, _GPA[abated][node] * grams, _MPA * grams)


def intensity(place: str) -> float:
    """Return ACT's carbon intensity of a place's or source's electricity, kg/J; KeyError for others."""
    return GRIDS[place]


def per_byte(memory: str) -> float:
    """Return ACT's carbon of making a kind of memory or flash, kg/byte; KeyError for others."""
    return _MEMORY[memory] * _GRAM / 1e9


def of_die(area: float, made_in: Process, electricity: float, good: float = YIELD) -> float:
    """Return the carbon of making a die, kg, by the formula above.

    ``area`` in m²; ``electricity``: carbon intensity, kg/J; ``good``: the share of dies that are good. Raises
    ValueError for a yield outside (0, 1].
    """
    if not 0.0 < good <= 1.0:
        raise ValueError(f"a yield of {good:g} is not above 0 and at most 1")
    return (electricity * made_in.energy + made_in.gases + made_in.materials) / good * area


def of_package(dies: float, memory: float = 0.0, kind: str = "ddr4_10nm", packages: int = 1) -> float:
    """Return the carbon of a packaged processor, kg: its dies (kg), its memory (byte) and its packages."""
    return dies + memory * per_byte(kind) + packages * PACKAGE
