"""The telescope's work beside the numbers that section 3 prints, and in the ready questions that carry it."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from itertools import product

import pytest

import dse
from dse import workloads as catalogue
from dse.models.exabounds import workloads

LIBRARY = files("scenarios").joinpath("library")


def carried(prefix: str) -> list[float]:
    """The counts of ready questions that give one, but for one whose run is long enough to be checkpointed."""
    found = [
        tomllib.loads(p.read_text(encoding="utf-8"))
        for p in LIBRARY.iterdir()
        if p.name.startswith(prefix) and "checkpoint" not in p.name
    ]
    return [
        float(scenario["given"]["instructions"]) for scenario in found if "instructions" in scenario["given"]
    ]


def test_section_3_in_numbers():
    """112 M per group are samples; over 1e17 of them arrive each second; a pair is counted once."""
    group = workloads.samples(workloads.ANTENNAS, workloads.CHANNELS, workloads.POLARISATIONS)
    # printed to three digits
    assert group == pytest.approx(112e6, rel=5e-3)
    assert 1e17 < group * workloads.GROUPS_PER_SECOND < 1.2e17
    station, correlator = catalogue.get("station-beamformer"), catalogue.get("central-correlator")
    assert station.given["exabounds"] == {"instructions": 36e12}
    every = workloads.correlations(workloads.ANTENNAS, workloads.CHANNELS, workloads.POLARISATIONS)
    assert correlator.given["exabounds"] == {"instructions": every}
    assert every == pytest.approx(3.70e11, rel=5e-3)
    assert "112 M" in correlator.doubts["exabounds.instructions"]
    # 8 flops of a complex multiplication and addition, 16 bits a sample
    assert correlator.given["roofline"] == {"flops": 8.0 * every, "bytes": 2.0 * group}
    assert station.given["roofline"] == {"flops": 36e12, "bytes": workloads.INPUT_BITS_PER_SECOND / 8}


def test_the_correlator_counts_what_its_loops_visit():
    """Figure 3's loops over channels, pairs of stations and polarisations, walked through."""
    antennas, channels, polarisations = 5, 3, 2
    visited = sum(
        1
        for _ in product(range(channels), range(polarisations), range(polarisations))
        for first in range(antennas)
        for _ in range(first, antennas)
    )
    assert workloads.correlations(antennas, channels, polarisations) == visited


def test_each_sample_of_a_station_is_used_2504_times():
    """So that of two accesses per multiply one in 1250 finds a sample that is new, as the ready histogram has it."""
    assert workloads.multiplies_per_sample() == pytest.approx(2504.3, abs=0.1)
    text = LIBRARY.joinpath("platforms_least_power.toml").read_text(encoding="utf-8")
    new = next(r for r in tomllib.loads(text)["given"]["data_reuse"] if "distance" not in r)
    # an access every other instruction (Table 2)
    assert new["share"] * 0.5 == pytest.approx(1 / workloads.multiplies_per_sample(), rel=2e-3)


def test_ready_questions_carry_the_counts():
    station = catalogue.get("station-beamformer").given["exabounds"]["instructions"]
    assert set(carried("platforms_") + carried("hardware_")) == {station}
    assert set(carried("correlator_")) == {
        catalogue.get("central-correlator").given["exabounds"]["instructions"]
    }


def test_a_record_is_taken_over_by_a_question():
    answer = dse.solve(
        {
            "model": "exabounds",
            "machine": "contrived-exabounds",
            "given": dict(catalogue.get("station-beamformer").given["exabounds"]),
            "decide": {"machine.count.system": {"integer": True, "max": 100}},
            "objective": {"minimize": "power"},
            "limits": {"performance": {"min": "36e12 instruction/s"}},
        }
    )
    # 640 cores of 4 instructions at 2 GHz are 5.12e12 a second
    assert answer.variables["machine.count.system"] == 8


def test_an_unknown_workload_is_told_with_what_was_meant():
    with pytest.raises(KeyError, match="central-correlator"):
        catalogue.get("central-corelator")
