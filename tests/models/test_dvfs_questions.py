"""Questions of energy and time over a menu of clocks: every choice of settings written out."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
from dvfs_phases import CASE, CLOSE, JETSON, KINDS, SIX, by_hand, run

import dse
import scenarios

# the questions


@pytest.fixture(scope="module")
def tables() -> dict[str, dict[str, Any]]:
    """Return every phase alone at every setting, from the expanded model."""
    return {p: run({p: counts}, {p: np.arange(1, 17)}) for p, counts in SIX.items()}


def test_case_d01_one_setting_for_all_phases():
    found = run(SIX, np.arange(1, 17))
    order = np.argsort(found["energy"])
    assert list(order[:2] + 1) == [2, 9]
    assert found["energy"][order[0]] == pytest.approx(136.7397229, rel=CASE)
    assert found["time"][order[0]] == pytest.approx(11.70183983, rel=CASE)
    assert found["energy"][order[1]] == pytest.approx(139.304881, rel=CASE)


def grid(fixed: Mapping[str, int]) -> dict[str, Any]:
    """A setting for every phase: all combinations of the phases that are not fixed, along axes of their own."""
    free = [p for p in SIX if p not in fixed]
    axes = np.meshgrid(*(np.arange(1, 17) for _ in free), indexing="ij", sparse=True)
    return dict(fixed) | dict(zip(free, axes, strict=True))


def enumerated(limit: str, most: float, least: str) -> list[tuple[float, float, tuple[int, ...]]]:
    """Best (metric, other metric, settings) of all 16^6 combinations, a first phase at a time, best first."""
    other = "time" if least == "energy" else "energy"
    best = []
    for first in range(1, 17):
        found = run(SIX, grid({"U": first}))
        value = np.where(found[limit] <= most, found[least], math.inf)
        for i in np.argpartition(value.ravel(), 40)[:40]:
            at = np.unravel_index(i, value.shape)
            best.append((float(value[at]), float(found[other][at]), (first, *(int(k) + 1 for k in at))))
    return sorted(best)


def test_case_d05_least_energy_within_a_deadline():
    best = enumerated("time", 8.816592738, "energy")
    energy, time, chosen = best[0]
    assert chosen == (6, 16, 2, 2, 3, 9)
    assert energy == pytest.approx(134.8381202, rel=CASE)
    assert time == pytest.approx(8.643718371, rel=CASE)
    assert best[1][0] == pytest.approx(135.0163158, rel=CASE)
    race = run(SIX, dict(zip(SIX, chosen, strict=True)))
    assert race["race_time"] * 1.02 == pytest.approx(8.816592738, rel=CASE)
    # nothing slower within 2 % is more frugal than racing
    assert race["race_energy"] == race["energy"]
    assert race["race_saving"] == 0.0


def test_case_d09_least_time_within_an_energy_budget(tables: Mapping[str, Mapping[str, Any]]):
    assert 1.02 * sum(t["energy"].min() for t in tables.values()) == pytest.approx(130.1617911, rel=CASE)
    best = enumerated("energy", 130.1617911, "time")
    least = [b for b in best if b[0] <= best[0][0] * (1 + 1e-9)]
    assert least[0][0] == pytest.approx(9.221063615, rel=CASE)
    energy, chosen = min((e, s) for _, e, s in least)
    assert energy == pytest.approx(128.3976855, rel=CASE)
    assert chosen == (7, 16, 2, 2, 3, 9)
    assert len(least) == 20


def test_case_d13_a_power_cap_on_every_phase():
    """Every phase by itself: least time, then least energy; all phases together have that as their greatest."""
    chosen = {}
    for p, counts in SIX.items():
        alone = run({p: counts}, {p: np.arange(1, 17)})
        allowed = [i for i in range(16) if alone["phase_power"][i] <= 12.0]
        least = min(alone["time"][i] for i in allowed)
        fast = [i for i in allowed if alone["time"][i] <= least * (1 + 1e-12)]
        chosen[p] = min(fast, key=lambda i: alone["energy"][i]) + 1
    assert list(chosen.values()) == [8, 10, 10, 10, 9, 2]
    found = run(SIX, chosen)
    assert found["time"] == pytest.approx(15.26049182, rel=CASE)
    assert found["energy"] == pytest.approx(142.217388, rel=CASE)
    assert found["phase_power"] == max(found[f"power.{p}"] for p in SIX) <= 12.0


def test_case_d17_what_race_to_halt_loses():
    found = run({"p": (64e10, 0.0, 0.0, 1e10)}, {"p": np.arange(1, 17)})
    frugal = int(found["energy"].argmin())
    assert frugal + 1 == 12
    assert found["race_setting.p"] == 3
    assert found["energy"][frugal] == pytest.approx(31.38366667, rel=CASE)
    loss = 1 / (1 - found["race_saving"][frugal]) - 1
    assert 100 * loss == pytest.approx(7.52709051, rel=CASE)


@pytest.mark.parametrize("idle", [None, 1.5])
def test_until_the_period_ends_the_chip_idles(idle: float | None):
    """At its idle power, or at the least constant power of Table I, 5.2 W; race-to-halt idles longer."""
    phases, setting = {"a": (1e11, 0.0, 1e11, 1e10), "b": (0.0, 1e9, 0.0, 5e10)}, {"a": 16.0, "b": 9.0}
    least = 5.2 if idle is None else idle
    stated = {} if idle is None else {"machine.idle_power": idle}
    plain, found = run(phases, setting), run(phases, setting, period=60.0, **stated)
    assert found["energy_idle"] == pytest.approx(least * (60.0 - plain["time"]), rel=CLOSE)
    assert found["energy"] == pytest.approx(plain["energy"] + found["energy_idle"], rel=CLOSE)
    assert found["race_energy"] == pytest.approx(
        plain["race_energy"] + least * (60.0 - plain["race_time"]), rel=CLOSE
    )
    assert found["power"] == pytest.approx(found["energy"] / 60.0, rel=CLOSE)
    assert found["performance"] == pytest.approx(1.01e11 / 60.0, rel=CLOSE)
    assert found["in_period"] == pytest.approx(plain["time"] / 60.0, rel=CLOSE)


def test_the_least_energy_of_a_period_with_a_stated_idle_power():
    """Two phases at every pair of settings, by hand."""
    phases = {"a": (1e11, 0.0, 1e11, 1e10), "b": (0.0, 1e9, 0.0, 5e10)}
    source = {
        "model": "dvfs",
        "machine": {"base": "jetson-tk1-choi2016", "idle_power": "1 W"},
        "given": {
            "phases": [
                {"name": p, **dict(zip((k[0] for k in KINDS), of, strict=True))} for p, of in phases.items()
            ],
            "period": "7 s",
        },
        "objective": {"minimize": "energy"},
    }
    designs = [
        [sum(x) for x in zip(by_hand(phases["a"], s), by_hand(phases["b"], r), strict=True)]
        for s, r in product(JETSON.settings, repeat=2)
    ]
    least = min(e + 1.0 * (7.0 - t) for t, e in designs if t <= 7.0)
    found = dse.solve(source)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (
            {"machine": {"base": "jetson-tk1-choi2016", "capacitance_per_byte": 1e-10}},
            "machine.capacitance_per_byte",
        ),
        ({"machine": {"base": "jetson-tk1-choi2016", "other_power": 1.0}}, "machine.other_power"),
        ({"uncertain": {"machine.other_power": {"uniform": [0, 1]}}}, "uncertain.machine.other_power"),
        ({"decide": {"machine.other_power": {"min": 0.1, "max": 1}}}, "decide.machine.other_power"),
        ({"define": {"machine.other_power": "2 W"}}, "define.machine.other_power"),
        (
            {"sweep": {"p": {"path": "machine.other_power", "values": [1.0, 2.0]}}},
            "sweep.p.path",
        ),
    ],
)
def test_a_constant_behind_costs_that_all_settings_state_is_refused(change: dict[str, Any], key: str):
    """It would change nothing."""
    question = {
        "model": "dvfs",
        "machine": "jetson-tk1-choi2016",
        "given": {"phases": [{"name": "a", "bytes": 1e9, "times": [1.0] * 16}], "setting.a": 1},
    }
    with pytest.raises(
        scenarios.ScenarioError, match="has no effect: every setting of the machine states"
    ) as caught:
        scenarios.load({**question, **change})
    assert {p.key for p in caught.value.problems} == {key}


def test_a_constant_counts_where_a_definition_reads_it_and_may_stand_for_what_no_phase_does():
    machine = {"base": "jetson-tk1-choi2016", "other_power": 2.0, "capacitance_per_flop": 1e-10}
    question = {
        "model": "dvfs",
        "machine": machine,
        "given": {"phases": [{"name": "a", "bytes": 1e9, "times": [1.0] * 16}], "setting.a": 1},
        "define": {"lost": "2 * machine.other_power"},
    }
    assert dse.solve(question).metrics["lost"] == 4.0


@pytest.mark.parametrize("asked", ["time", "energy", "power"])
def test_a_machine_of_times_alone_is_answered(asked: str):
    """No energy is spent on anything: efficiency has no value, and nobody asks for it."""
    phases = [
        {"name": "a", "times": {"low": 2.0, "high": 1.0}},
        {"name": "b", "times": {"low": 3.0, "high": 2.0}},
    ]
    question = {
        "model": "dvfs",
        "given": {"phases": phases},
        "machine": {"settings": [{"name": n, "constant_power": 0.0} for n in ("low", "high")]},
        "objective": {"minimize": asked},
    }
    found = dse.solve(question)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(3.0 if asked == "time" else 0.0)
    for more in ({"objective": {"maximize": "efficiency"}}, {"limits": {"efficiency": {"min": 1}}}):
        nothing = dse.solve(question | more)
        assert nothing.status == "error"
        assert "is divided by 0 at every design" in nothing.message


def test_the_least_product_over_a_million_settings_is_that_of_the_table():
    """Five phases at 16 settings each, all 16^5 combinations written out, with what a switch costs."""
    phases = {p: of for p, of in SIX.items() if p != "W"}
    axes = dict(zip(phases, np.meshgrid(*[np.arange(1, 17)] * 5, indexing="ij", sparse=True), strict=True))
    table = run(phases, axes, switch_time=0.05, switch_energy=1.0)
    asked = {
        "model": "dvfs",
        "machine": "jetson-tk1-choi2016",
        "given": {
            "phases": [
                {"name": p, **dict(zip((k[0] for k in KINDS), of, strict=True))} for p, of in phases.items()
            ],
            "switch_time": 0.05,
            "switch_energy": 1.0,
        },
        "objective": {"minimize": "energy_delay"},
    }
    found = dse.solve(asked)
    assert (found.status, found.gap) == ("optimal", 0.0)
    assert found.objective == pytest.approx((table["energy"] * table["time"]).min(), rel=1e-12)
    caps = [11.0, 20.0]
    swept = dse.sweep(
        {
            **asked,
            "limits": {"time": {"max": 20.0}},
            "sweep": {"cap": {"path": "limits.time.max", "values": caps}},
        }
    )
    for cap, value in zip(caps, swept["objective"].values, strict=True):
        within = np.where(table["time"] <= cap, table["energy"] * table["time"], math.inf)
        assert value == pytest.approx(within.min(), rel=1e-12)
    assert not json.loads(swept.attrs.get("left_over", "{}"))
