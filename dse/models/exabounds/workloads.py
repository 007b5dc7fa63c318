"""The radio telescope of section 3: what a station and the central processor have to compute, counted.

A record's ``given`` are inputs of the model, which a question takes over under [given]. Beamforming is
counted for one second of samples, so that a station keeps up with its antennas where ``performance`` is at
least as many instructions per second; correlation for one group of samples, one of every antenna, channel
and polarisation, of which 1e9 arrive each second.

The report calls 112 M "correlations per sample group", but those are the samples of a group, 3300 * 17 000 * 2.
Each pair of antennas, each antenna with itself included, is correlated in every channel for each of the four
products of two polarisations: 3.70e11 correlations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dse.models.exabounds.levels import SOURCE
from dse.names import unknown

MULTIPLIES_PER_SECOND = 36e12
INPUT_BITS_PER_SECOND = 230e9
BITS_PER_SAMPLE = 16
ANTENNAS, CHANNELS, POLARISATIONS = 3300, 17_000, 2
GROUPS_PER_SECOND = 1e9


@dataclass(frozen=True, slots=True)
class Workload:
    """A named piece of work: ``given`` are inputs of the model in SI, ``doubts`` what is doubtful about them."""

    name: str
    title: str
    source: str
    given: Mapping[str, float]
    doubts: Mapping[str, str] = field(default_factory=dict)


def pairs(antennas: int) -> int:
    """Return how many pairs of antennas there are, each antenna with itself included."""
    return antennas * (antennas + 1) // 2


def samples(antennas: int, channels: int, polarisations: int) -> int:
    """Return the samples of one group: one of every antenna, channel and polarisation."""
    return antennas * channels * polarisations


def correlations(antennas: int, channels: int, polarisations: int) -> int:
    """Return the correlations of one group of samples: of all pairs, channels and products of polarisations."""
    return pairs(antennas) * channels * polarisations**2


def multiplies_per_sample() -> float:
    """Return how often a station uses each of its samples."""
    return MULTIPLIES_PER_SECOND / (INPUT_BITS_PER_SECOND / BITS_PER_SAMPLE)


_WORKLOADS = (
    Workload(
        "station-beamformer",
        "Beamforming of one second of a LOFAR station's samples, an instruction each multiply",
        f"{SOURCE}, section 3: 36e12 multiplies per second on 230 Gb/s",
        {"instructions": MULTIPLIES_PER_SECOND},
        {"instructions": "printed as approximate"},
    ),
    Workload(
        "central-correlator",
        "Correlation of one group of samples of the Square Kilometre Array, an instruction each correlation",
        f"{SOURCE}, section 3 and Figure 3: 3300 antennas, 17 000 channels, 2 polarisations",
        {"instructions": float(correlations(ANTENNAS, CHANNELS, POLARISATIONS))},
        {"instructions": "the report's 112 M correlations per sample group are its samples"},
    ),
)


def names() -> tuple[str, ...]:
    """Return the names of all workloads."""
    return tuple(w.name for w in _WORKLOADS)


def get(name: str) -> Workload:
    """Return the workload of that name; raises UnknownName (a KeyError) with a suggestion."""
    found = {w.name: w for w in _WORKLOADS}
    if name not in found:
        raise unknown("workload", name, names())
    return found[name]
