"""The radio telescope of section 3: what a station and the central processor have to compute, counted.

The catalogue ``dse.workloads`` has both as records. Beamforming is counted for one second of samples, so that a
station keeps up with its antennas where ``performance`` is at least as many instructions per second; correlation for
one group of samples, one of every antenna, channel and polarisation, of which 1e9 arrive each second.

The report calls 112 M "correlations per sample group", but those are the samples of a group, 3300 * 17 000 * 2.
Each pair of antennas, each antenna with itself included, is correlated in every channel for each of the four
products of two polarisations: 3.70e11 correlations.
"""

from __future__ import annotations

MULTIPLIES_PER_SECOND = 36e12
INPUT_BITS_PER_SECOND = 230e9
BITS_PER_SAMPLE = 16
ANTENNAS, CHANNELS, POLARISATIONS = 3300, 17_000, 2
GROUPS_PER_SECOND = 1e9


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
