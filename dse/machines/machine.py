"""What a machine of the catalogue is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dse.machines.values import Value


@dataclass(frozen=True, slots=True)
class Machine:
    """A named record of machine parameters with its source.

    ``parameters`` are SI floats by name (without "machine."); what the source does not give is absent.
    ``provenance`` says where each value comes from, ``doubts`` what is doubtful about it, if anything;
    ``evidence`` of which kind the source is (``dse.machines.values.EVIDENCE``), ``intervals`` between which ends
    (SI) a value lies whose source leaves it open. ``figures``: what data sheets print and no model takes as it
    is, by the names of ``dse.machines.figures``; of a file without parameters they follow from its figures
    (``dse.machines.derivation``), with flops at the ``rate`` that it names. ``year``: when the machine came on the
    market, if stated. A price and an embodied carbon among the figures are parameters too.
    ``settings``: the menu of a machine that can be set (frequencies, voltages), each a mapping of texts
    ("name", "source", ...) and SI floats under the names of ``dse.machines.settings``; what is unknown is
    absent, and "doubts" maps a value's name to what is doubtful about it.
    """

    name: str
    title: str
    source: str
    parameters: Mapping[str, float]
    provenance: Mapping[str, str]
    doubts: Mapping[str, str]
    notes: str = ""
    settings: tuple[Mapping[str, Any], ...] = ()
    evidence: Mapping[str, str] = field(default_factory=dict)
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    figures: Mapping[str, Value] = field(default_factory=dict)
    year: int | None = None
    rate: str = ""
