"""Settings per phase against a second derivation, full enumeration, race-to-halt by hand, and units."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np
import pytest
from dvfs_phases import CLOSE, JETSON, KINDS, MENU, SIX, by_hand, expanded, rows, run, values
from hypothesis import given, settings
from hypothesis import strategies as st

from dse import machines, models
from dse.models.platforms.dvfs import DVFS
from dse.models.shared.structure import Row
from dse.quantities import registry

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
    # what a machine states beyond that is not a mistake
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
