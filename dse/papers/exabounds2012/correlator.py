"""Section 3 and Figures 3 and 6: the work of a radio telescope, counted, and divided level by level."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from dse.models.exabounds import workloads
from dse.models.exabounds.levels import ABOVE_CORE, LEVELS, below
from dse.papers.comparer import Found
from dse.papers.exabounds2012.rows import answers, printed
from dse.papers.exabounds2012.systems import BLUE_GENE_P, PLAIN, SUPPLIED, catalogue, of, plain

STATIONS, CHANNELS, POLARISATIONS = workloads.ANTENNAS, workloads.CHANNELS, workloads.POLARISATIONS
SAMPLING, STATION_RATE = workloads.GROUPS_PER_SECOND, workloads.MULTIPLIES_PER_SECOND
WORKLOAD = printed("table2_app")["L_sys"]


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


@cache
def blue_gene() -> Mapping[str, float]:
    """Return all metrics of the correlator, an instruction each correlation, on a rack of Blue Gene/P."""
    return of(None, dict(PLAIN) | dict(BLUE_GENE_P), {"instructions": correlations()})


@answers("s3_samples")
def _samples(least: str) -> Found:
    rate = workloads.samples(STATIONS, CHANNELS, POLARISATIONS) * SAMPLING
    return Found(rate > float(least), told={"rate": rate})


@answers("s3_corr")
def _correlations() -> Found:
    whole = STATIONS * (STATIONS + 1) // 2 * CHANNELS * POLARISATIONS**2
    return Found(correlations(), corrected=whole)


answers("s3_group")(lambda: workloads.samples(STATIONS, CHANNELS, POLARISATIONS))


@answers("s3_station")
def _station(cores: str) -> Found:
    second = plain({"frequency": 1e9, "count.system": float(cores)}, instructions=STATION_RATE)
    return Found(second["performance"], STATION_RATE)


@answers("f3_bl")
def _baselines() -> Found:
    chans, stations = (float((n**2 - n) // 2 + n) for n in (CHANNELS, STATIONS))
    return Found(workloads.pairs(STATIONS), chans, corrected=stations)


@answers("f3_index")
def _index(few: str) -> Found:
    n = int(few)
    as_printed = {a * (2 * n - a - 1) // 2 for a, _ in listed(n)}
    numbered = {a * (2 * n - a - 1) // 2 + b for a, b in listed(n)}
    return Found(len(numbered), len(as_printed), corrected=n * (n + 1) / 2)


@answers("f3_loop")
def _loop(samples: str) -> Found:
    return Found(defined(int(samples)), POLARISATIONS, corrected=float(samples))


answers("s4_levels")(lambda right: Found(len(LEVELS), corrected=float(right)))


def recursion(size: float, counts: Mapping[str, float]) -> Mapping[str, float]:
    """Return L of one unit of every level by the printed recursion of 4.2.1, without bounds on parallelism."""
    found, left = {}, size
    for level in reversed(ABOVE_CORE):
        left /= counts.get(f"count.{level}", 1.0)
        found[below(level)] = left
    return found


@cache
def table_3() -> Mapping[str, float]:
    """Return all metrics of Table 2's work on Table 3's system."""
    return of("table3", SUPPLIED, {"instructions": WORKLOAD})


@answers("work")
def _work(level: str) -> Found:
    return Found(table_3()[f"work.{level}"], recursion(WORKLOAD, catalogue("table3"))[level])


@answers("work:few")
def _work_of_aisles_found(parallelism: str) -> Found:
    limited = {"instructions": WORKLOAD, "parallelism.system": float(parallelism)}
    aisles = catalogue("table3")["count.system"]
    return Found(of("table3", SUPPLIED, limited)["work.aisle"], WORKLOAD / min(aisles, float(parallelism)))


@answers("f6_work")
def _of_blue_gene(level: str) -> Found:
    return Found(blue_gene()[f"work.{level}"], recursion(correlations(), BLUE_GENE_P)[level])
