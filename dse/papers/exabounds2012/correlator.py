"""Section 3 and Figures 3 and 6: the work of a radio telescope, counted, and divided level by level."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dse.models.exabounds import workloads
from dse.models.exabounds.levels import ABOVE_CORE, LEVELS, below
from dse.papers.exabounds2012.rows import derived, holds, printed
from dse.papers.exabounds2012.systems import BLUE_GENE_P, PLAIN, SUPPLIED, catalogue, of, plain
from dse.papers.report import Row

STATIONS, CHANNELS, POLARISATIONS = workloads.ANTENNAS, workloads.CHANNELS, workloads.POLARISATIONS
SAMPLING, STATION_RATE = workloads.GROUPS_PER_SECOND, workloads.MULTIPLIES_PER_SECOND
WORKLOAD = 120e12


def rows() -> list[Row]:
    """Counts of section 3, faults of Figure 3, and the division of work."""
    return [*_counts(), *_listing(), *_work()]


def correlations() -> float:
    """Return the correlations of one sample group."""
    return float(workloads.correlations(STATIONS, CHANNELS, POLARISATIONS))


def listed(stations: int) -> list[tuple[int, int]]:
    """Return the pairs of stations in the order of the listing."""
    return [(a, b) for a in range(stations) for b in range(a, stations)]


def defined(samples: int) -> float:
    """Return how many terms a visibility has by the definition (line 11): its value for samples that are all 1."""
    ones = np.ones((samples, POLARISATIONS))
    return float(np.einsum("tp,tq->pq", ones, ones).max())


def blue_gene() -> Mapping[str, float]:
    """Return all metrics of the correlator, an instruction each correlation, on a rack of Blue Gene/P."""
    return of(None, dict(PLAIN) | dict(BLUE_GENE_P), {"instructions": correlations()})


def _counts() -> list[Row]:
    group = workloads.samples(STATIONS, CHANNELS, POLARISATIONS)
    whole = STATIONS * (STATIONS + 1) // 2 * CHANNELS * POLARISATIONS**2
    cores = 36_000
    second = plain({"frequency": 1e9, "count.system": float(cores)}, instructions=STATION_RATE)
    return [
        holds(
            "s3_samples",
            "",
            ours=group * SAMPLING > 1e17,
            remark=f"{group * SAMPLING:.4g} samples per second",
        ),
        derived("s3_corr", "", 112e6, correlations(), "correlation", corrected=float(whole)),
        printed("s3_group", "", "112e6", float(group), "sample"),
        derived(
            "s3_station",
            f"{cores} cores of 1 GHz, one each cycle",
            STATION_RATE,
            second["performance"],
            "op/s",
            remark="one instruction each multiply",
        ),
    ]


def _listing() -> list[Row]:
    few, samples = 10, 1000
    order = listed(few)
    as_printed = {a * (2 * few - a - 1) // 2 for a, _ in order}
    numbered = {a * (2 * few - a - 1) // 2 + b for a, b in order}
    chans = float((CHANNELS**2 - CHANNELS) // 2 + CHANNELS)
    stations = float((STATIONS**2 - STATIONS) // 2 + STATIONS)
    return [
        derived(
            "f3_bl", "3300 stations", chans, float(workloads.pairs(STATIONS)), "baseline", corrected=stations
        ),
        derived(
            "f3_index",
            "numbers for 10 stations",
            float(len(as_printed)),
            float(len(numbered)),
            corrected=few * (few + 1) / 2,
        ),
        derived(
            "f3_loop",
            "terms of a visibility of 1000 samples",
            float(POLARISATIONS),
            defined(samples),
            corrected=float(samples),
        ),
        derived("s4_levels", "", 7.0, float(len(LEVELS)), corrected=8.0),
    ]


def recursion(size: float, counts: Mapping[str, float]) -> Mapping[str, float]:
    """Return L of one unit of every level by the printed recursion of 4.2.1, without bounds on parallelism."""
    found, left = {}, size
    for level in reversed(ABOVE_CORE):
        left /= counts.get(f"count.{level}", 1.0)
        found[below(level)] = left
    return found


def _work() -> list[Row]:
    table3 = of("table3", SUPPLIED, {"instructions": WORKLOAD})
    spread = recursion(WORKLOAD, catalogue("table3"))
    rack, divided = blue_gene(), recursion(correlations(), BLUE_GENE_P)
    few = of("table3", SUPPLIED, {"instructions": WORKLOAD, "parallelism.system": 3.0})
    unit = "instruction"
    found = [derived("work", f"one {at}", spread[at], table3[f"work.{at}"], unit) for at in LEVELS[:-1]]
    found.append(
        derived(
            "work",
            "one aisle, parallelism of 3 among 8",
            WORKLOAD / min(8, 3),
            few["work.aisle"],
            unit,
            remark="min(n, ALP)",
        )
    )
    remark = "counts of the rack are not in the text: 4 cores, 32 cards, 32 node cards"
    return found + [
        derived("f6_work", f"one {at}", divided[at], rack[f"work.{at}"], unit, remark=remark)
        for at in LEVELS[:-1]
    ]
