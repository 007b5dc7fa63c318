"""Settings per phase against a second derivation, full enumeration, race-to-halt by hand, and units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from dse import machines, models
from dse.models.model import Model
from dse.models.platforms.dvfs import DVFS
from dse.models.shared.structure import Parts, Row
from dse.quantities import registry

JETSON = machines.get("jetson-tk1")
MENU = [str(s["name"]) for s in JETSON.settings]
# kinds of operations, and what they cost: count, energy, operations per cycle, of which clock
KINDS = [
    ("flops", "energy_per_flop", 384.0, "core_frequency"),
    ("flops_double", "energy_per_flop_double", 16.0, "core_frequency"),
    ("integer_operations", "energy_per_integer_operation", 192.0, "core_frequency"),
    ("bytes", "energy_per_byte", 16.0, "memory_frequency"),
]
# the six phases of the cases: flops, double flops, integer operations, bytes
SIX = {
    "U": (6e11, 0.0, 3e11, 2e9),
    "V": (4e10, 0.0, 6e10, 6e10),
    "W": (5e10, 0.0, 2e10, 1e10),
    "X": (2e10, 1e9, 3e10, 1.2e10),
    "UP": (0.0, 8e9, 2e10, 4e9),
    "DOWN": (0.0, 6e9, 4e10, 1e10),
}
CLOSE = 1e-12
# what the cases' answers are printed to
CASE = 1e-6
Counts = Mapping[str, Sequence[float]]


def rows(phases: Counts) -> tuple[Row, ...]:
    return tuple(Row(name, stated=frozenset(k[0] for k in KINDS)) for name in phases)


def expanded(
    phases: Sequence[Row],
    menu: Sequence[Mapping[str, Any]] = JETSON.settings,
    asked: tuple[str, ...] = (),
) -> Model:
    assert DVFS.expand is not None
    return DVFS.expand(
        Parts(rows={"phases": tuple(phases)}, settings=tuple(menu), asked=dict.fromkeys(asked))
    )


def values(plain: Model, machine: machines.Machine = JETSON) -> dict[str, Any]:
    """What the plain model takes of a machine, and nothing else."""
    menu = {f"machine.{s['name']}.{k}": v for s in machine.settings for k, v in s.items()}
    menu |= {f"machine.{k}": v for k, v in machine.parameters.items()}
    own = {k for k in plain.parameters() if k.startswith("machine.")}
    return {k: menu[k] for k in own & set(menu)} | {"switch_time": 0.0, "switch_energy": 0.0}


def run(phases: Counts, setting: Any, **given_: Any) -> dict[str, Any]:
    """All metrics at ``setting``: one number for all phases, or one per phase."""
    plain = expanded(rows(phases))
    counts = {f"phases.{p}.{k[0]}": n for p, of in phases.items() for k, n in zip(KINDS, of, strict=True)}
    each = (
        {f"setting.{p}": s for p, s in setting.items()} if isinstance(setting, dict) else {"setting": setting}
    )
    return dict(models.evaluate(plain, values(plain) | counts | each | given_))


def by_hand(counts: Sequence[float], s: Mapping[str, Any]) -> tuple[float, float]:
    """Time and energy of a phase at a setting: rates per cycle, then (9)."""
    time = max(n / (rate * s[clock]) for n, (_, _, rate, clock) in zip(counts, KINDS, strict=True))
    energy = sum(n * s[cost] for n, (_, cost, _, _) in zip(counts, KINDS, strict=True))
    return time, energy + s["constant_power"] * time


amounts = st.tuples(*(st.just(0.0) | st.floats(1e6, 1e11) for _ in KINDS)).filter(any)
phase_lists = st.lists(st.tuples(amounts, st.integers(1, 16)), min_size=1, max_size=5)


@settings(max_examples=30, deadline=None)
@given(asked=phase_lists, switch=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 5.0)))
def test_a_second_derivation_gives_the_same(
    asked: list[tuple[tuple[float, ...], int]], switch: tuple[float, float]
):
    """Phase after phase at its setting, with every switch between neighbours paid once."""
    phases = {f"p{i}": counts for i, (counts, _) in enumerate(asked)}
    chosen = {f"p{i}": s for i, (_, s) in enumerate(asked)}
    found = run(phases, chosen, switch_time=switch[0], switch_energy=switch[1])
    each = [by_hand(counts, JETSON.settings[s - 1]) for counts, s in asked]
    switches = sum(a != b for (_, a), (_, b) in pairwise(asked))
    time = sum(t for t, _ in each) + switches * switch[0]
    energy = sum(e for _, e in each) + switches * switch[1]
    flops = sum(counts[0] + counts[1] for counts, _ in asked)
    wanted = {
        "time": time,
        "energy": energy,
        "power": energy / time,
        "performance": flops / time,
        "efficiency": flops / energy,
        "energy_delay": energy * time,
        "switches": switches,
        "energy_switching": switches * switch[1],
        "phase_power": max(e / t for t, e in each),
    }
    for i, (t, e) in enumerate(each):
        wanted |= {f"time.p{i}": t, f"energy.p{i}": e, f"power.p{i}": e / t}
    for name, value in wanted.items():
        assert found[name] == pytest.approx(value, rel=CLOSE), name
    parts = ("energy_compute", "energy_data", "energy_constant", "energy_switching")
    assert sum(found[name] for name in parts) == pytest.approx(energy, rel=CLOSE)
    data = sum(c[3] * JETSON.settings[s - 1]["energy_per_byte"] for c, s in asked)
    assert found["energy_data"] == pytest.approx(data, rel=CLOSE)


@settings(max_examples=30, deadline=None)
@given(asked=phase_lists, switch=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 5.0)))
def test_race_to_halt_takes_the_fastest_settings(
    asked: list[tuple[tuple[float, ...], int]], switch: tuple[float, float]
):
    """Per phase, or of all settings the one of least total time; ties go to the least energy, then to the first."""
    phases = {f"p{i}": counts for i, (counts, _) in enumerate(asked)}
    tables = [[by_hand(counts, s) for s in JETSON.settings] for counts, _ in asked]

    def fastest(table: Sequence[tuple[float, float]]) -> int:
        least = min(t for t, _ in table)
        fast = [i for i, (t, _) in enumerate(table) if t <= least * (1 + 1e-12)]
        frugal = min(table[i][1] for i in fast)
        return next(i for i in fast if table[i][1] <= frugal * (1 + 1e-12))

    found = run(
        phases,
        {f"p{i}": s for i, (_, s) in enumerate(asked)},
        switch_time=switch[0],
        switch_energy=switch[1],
    )
    places = [fastest(table) for table in tables]
    switches = sum(a != b for a, b in pairwise(places))
    time = sum(table[i][0] for table, i in zip(tables, places, strict=True)) + switches * switch[0]
    energy = sum(table[i][1] for table, i in zip(tables, places, strict=True)) + switches * switch[1]
    assert [found[f"race_setting.{p}"] for p in phases] == [i + 1 for i in places]
    assert found["race_time"] == pytest.approx(time, rel=CLOSE)
    assert found["race_energy"] == pytest.approx(energy, rel=CLOSE)
    assert found["race_saving"] == pytest.approx(1 - found["energy"] / energy, rel=1e-9, abs=1e-12)

    together = run(phases, 5, switch_time=switch[0], switch_energy=switch[1])
    totals = [tuple(map(sum, zip(*of_setting, strict=True))) for of_setting in zip(*tables, strict=True)]
    one = fastest(totals)
    assert {together[f"race_setting.{p}"] for p in phases} == {one + 1.0}
    assert (together["race_time"], together["race_energy"]) == pytest.approx(totals[one], rel=CLOSE)
    assert together["switches"] == 0.0


def test_ties_of_race_to_halt_go_to_the_frugal_setting():
    """A phase bound by the core takes as long with any memory clock; 852-204 draws least."""
    found = run({"p": (1e12, 0.0, 0.0, 0.0)}, {"p": 1})
    tied = [i for i, s in enumerate(JETSON.settings) if s["core_frequency"] == 852e6]
    assert len(tied) == 3
    assert MENU[int(found["race_setting.p"]) - 1] == "852-204"


@settings(max_examples=15, deadline=None)
@given(a=st.integers(1, 16), b=st.integers(1, 16), c=st.integers(1, 16))
def test_one_setting_for_all_but_one(a: int, b: int, c: int):
    """``setting`` is that of every phase without its own."""
    phases = {"x": SIX["U"], "y": SIX["V"], "z": SIX["X"]}
    mixed = run(phases, a, **{"setting.y": b})
    assert mixed == run(phases, {"x": a, "y": b, "z": a})
    assert run(phases, c)["time"] == run(phases, {"x": c, "y": c, "z": c})["time"]


def test_settings_counts_and_prices_may_be_arrays():
    """Every point of a grid of settings, counts and machine parameters is what it is alone."""
    flops, prices = np.array([1e10, 1e12])[:, None, None], np.array([1e-11, 5e-11, 9e-11])[:, None]
    chosen = np.arange(1, 17)
    phases = {"x": (0.0, 0.0, 1e10, 1e10), "y": SIX["V"]}
    name, price = "phases.x.flops", "machine.852-924.energy_per_flop"
    grid = run(phases, {"x": chosen, "y": 3}, **{name: flops, price: prices}, switch_energy=1.0)
    for i, j, k in product(range(2), range(3), range(16)):
        alone = run(
            phases, {"x": k + 1, "y": 3}, **{name: flops.flat[i], price: prices.flat[j]}, switch_energy=1.0
        )
        for metric, value in alone.items():
            got = np.broadcast_to(grid[metric], (2, 3, 16))[i, j, k]
            assert got == pytest.approx(value, rel=CLOSE, abs=1e-12), metric


def test_times_may_be_given_per_setting():
    """No rates then, and no clocks: energies from counts, the constant power over the times given."""
    stated = [Row("a", stated=frozenset({"bytes_L2", "times"})), Row("b", stated=frozenset({"times"}))]
    plain = expanded(stated)
    needed = {q.name for q in plain.machine if not q.optional}
    assert not any("per_cycle" in name or "frequency" in name for name in needed)
    given_ = {"phases.a.bytes_L2": 1e10, "setting.a": 1, "setting.b": 14}
    given_ |= {f"phases.{p}.times.{s}": 0.5 + i for p in "ab" for i, s in enumerate(MENU)}
    found = models.evaluate(plain, values(plain) | given_)
    assert found["time"] == 0.5 + 13.5
    assert found["energy"] == pytest.approx(1e10 * 90.2e-12 + 6.8 * 0.5 + 5.2 * 13.5, rel=CLOSE)
    assert found["performance"] == found["efficiency"] == 0.0


def test_costs_follow_from_voltages_where_a_setting_states_no_more():
    """The circuit constants that the notes fit to Table I give its energies back within their rounding."""
    volts = [
        {k: v for k, v in s.items() if "energy" not in k and k != "constant_power"} for s in JETSON.settings
    ]
    plain = expanded(rows(SIX), volts)
    circuit = {
        "capacitance_per_flop": 27.353e-12,
        "capacitance_per_flop_double": 131.084e-12,
        "capacitance_per_integer_operation": 56.544e-12,
        "capacitance_per_byte": 369.562e-12,
        "core_leakage_current": 2.86813,
        "memory_leakage_current": 3.80976,
        "other_power": 0.0,
    }
    needed = {q.name for q in plain.machine if not q.optional and "." not in q.name}
    assert {name for name in needed if "per_cycle" not in name} == set(circuit)
    known = {f"machine.{k}": v for k, v in circuit.items()}
    known |= {f"machine.{s['name']}.{k}": v for s in volts for k, v in s.items()}
    known |= {f"machine.{k}": v for k, v in JETSON.parameters.items()}
    own = {k: known[k] for k in plain.parameters() if k in known}
    counts = {f"phases.{p}.{k[0]}": n for p, of in SIX.items() for k, n in zip(KINDS, of, strict=True)}
    chosen = np.arange(1, 17)
    base = own | counts | {"switch_time": 0.0, "switch_energy": 0.0, "setting": chosen}
    found = models.evaluate(plain, base)
    for i, s in enumerate(volts):
        core, memory = s["core_voltage"] ** 2, s["memory_voltage"] ** 2
        flops, doubles, integers, data = (sum(of[k] for of in SIX.values()) for k in range(4))
        switched = core * (flops * 27.353e-12 + doubles * 131.084e-12 + integers * 56.544e-12)
        leaking = 2.86813 * s["core_voltage"] + 3.80976 * s["memory_voltage"]
        wanted = switched + data * memory * 369.562e-12 + leaking * found["time"][i]
        assert found["energy"][i] == pytest.approx(wanted, rel=CLOSE)
    printed = run(SIX, chosen)
    np.testing.assert_allclose(found["energy"], printed["energy"], rtol=0.012)


def test_a_setting_that_lacks_what_a_phase_needs_is_named():
    menu = machines.get("fmm-settings").settings
    with pytest.raises(ValueError, match=r"setting S5 has no energy_per_flop and no core_voltage") as error:
        expanded([Row("a", stated=frozenset({"flops"}))], menu)
    text = str(error.value)
    assert "setting S4 has no constant_power and no memory_voltage" in text
    assert "setting S7 has no constant_power and no core_voltage or no memory_voltage" in text
    assert "setting S1" not in text
    unclocked = [{k: v for k, v in JETSON.settings[0].items() if k != "memory_frequency"}]
    with pytest.raises(ValueError, match="setting 852-924 has no memory_frequency, and a phase has no times"):
        expanded([Row("a", stated=frozenset({"bytes"}))], unclocked)
    expanded([Row("a", stated=frozenset({"flops"}))], unclocked)


def test_a_phase_without_work_and_a_machine_without_settings_are_refused():
    with pytest.raises(ValueError, match=r"phase b has nothing to run: give counts .* or times"):
        expanded([Row("a", stated=frozenset({"flops"})), Row("b")])
    with pytest.raises(ValueError, match="at least one under phases"):
        expanded([])
    with pytest.raises(ValueError, match="the machine has none"):
        expanded([Row("a", stated=frozenset({"flops"}))], [])
    with pytest.raises(ValueError, match="expand"):
        models.evaluate(DVFS, {})


def test_only_what_the_phases_need_is_asked_of_the_machine():
    plain = expanded([Row("a", stated=frozenset({"flops", "bytes_shared"}))], JETSON.settings[:2])
    needed = {"flops_per_cycle", "bytes_shared_per_cycle"}
    own = {"energy_per_flop", "energy_per_byte_shared", "constant_power", "core_frequency"}
    wanted = needed | {f"{s}.{k}" for s in MENU[:2] for k in own}
    assert {q.name for q in plain.machine if not q.optional} == wanted
    # what a machine states beyond that is no mistake
    assert {"flops_double_per_cycle", "capacitance_per_flop"} <= {q.name for q in plain.machine}
    assert [u.name for u in plain.unknowns] == ["setting.a"]
    assert next(q for q in plain.inputs if q.name == "setting.a").menu == tuple(MENU[:2])


def test_every_metric_of_phases_is_proven_by_its_units():
    units = registry()
    stated = [
        Row("a", stated=frozenset({"flops", "bytes_L2", "bytes"})),
        Row("b", stated=frozenset({"flops_double", "integer_operations", "bytes_shared"})),
        Row("c", stated=frozenset({"times"})),
    ]
    volts = {"core_frequency": 1e9, "memory_frequency": 2e9, "core_voltage": 1.0, "memory_voltage": 1.1}
    menu = (*JETSON.settings[:2], {"name": "derived", **volts})
    plain = expanded(stated, menu, ("period",))
    quantities = plain.parameters()
    x = {k: 1.0 + i / 7 for i, k in enumerate(quantities) if not k.startswith("setting")}
    chosen = {"setting.a": 1.0, "setting.b": 3.0, "setting.c": 2.0}
    dressed = {k: units.Quantity(v, quantities[k].unit) for k, v in x.items()} | chosen
    found = models.evaluate(plain, dressed, flop=units.Quantity(1.0, "flop"))
    wanted = models.evaluate(plain, x | chosen)
    assert set(found) == {q.name for q in plain.metrics} | {"in_period"}
    for q in plain.metrics:
        value = units.Quantity(1.0, "") * found[q.name]
        assert value.m_as(q.unit) == pytest.approx(wanted[q.name], rel=CLOSE), q.name


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
