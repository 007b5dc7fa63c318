"""The DVFS fit finds the constants behind runs, says how sure it is, and what runs are missing."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls

import dse
from dse import machines
from dse.fitting import FittingError
from dse.fitting.machine_fits.counters import counters
from dse.models.platforms.dvfs_energy import OPERATIONS, energy

Make = Callable[..., dict[str, list]]
KINDS = {o.count: o.energy for o in OPERATIONS}


@pytest.mark.parametrize("other_power", [0.0, 0.5])
def test_constants_come_back_within_their_intervals(
    other_power: float, circuit: dict[str, float], dvfs_runs: Make
):
    """Each constant at least 8 times in 10, 92 in 100 over all (95 % intervals, 3 % noise)."""
    circuit["other_power"] = other_power
    held = dict.fromkeys(circuit, 0)
    for seed in range(10):
        found = dse.fit(dvfs_runs(circuit, seed), "dvfs", folds=2)
        for p in found.parameters:
            held[p.name] += p.holds(circuit[p.name])
    assert min(held.values()) >= 8, held
    assert sum(held.values()) >= 0.92 * 10 * len(held), held


def test_estimates_are_correlated_as_those_of_repeated_runs_are(circuit: dict[str, float], dvfs_runs: Make):
    circuit["other_power"] = 0.5
    fits = [dse.fit(dvfs_runs(circuit, seed, noise=0.003), "dvfs", folds=2) for seed in range(24)]
    told = {frozenset(pair[:2]): pair[2] for pair in fits[0].correlation}
    # what the runs do not show (0) moves with none
    shown = sum(p.value > 0 for p in fits[0].parameters)
    assert len(told) == shown * (shown - 1) // 2
    values = np.array([[f[n].value for n in circuit] for f in fits])
    drawn = np.corrcoef(values.T)
    names = list(circuit)
    strong = [(i, j) for i in range(len(names)) for j in range(i) if abs(drawn[i, j]) > 0.6]
    strong = [(i, j) for i, j in strong if frozenset((names[i], names[j])) in told]
    assert strong
    for i, j in strong:
        assert told[frozenset((names[i], names[j]))] == pytest.approx(drawn[i, j], abs=0.35)
    assert 'correlation = [["' in fits[0].machine()


def test_exact_runs_give_the_constants_exactly(circuit: dict[str, float], dvfs_runs: Make):
    circuit["other_power"] = 0.25
    found = dse.fit(dvfs_runs(circuit, 0, noise=0.0, per=1), "dvfs")
    assert found.values == pytest.approx(circuit, rel=1e-9)
    assert found.errors["energy"].greatest < 1e-12


def table_one(time: float, role: str = "") -> dict[str, list[Any]]:
    """One run for each printed cost of Table I: 1e11 operations in a short time, and idling for a second."""
    runs = []
    for s in machines.get("jetson-tk1-choi2016").settings:
        if role not in s["role"]:
            continue
        at = {k: s[k] for k in ("core_voltage", "memory_voltage", "core_frequency", "memory_frequency")}
        for kind in (None, *KINDS):
            counts = {k: 1e11 * (k == kind) for k in KINDS}
            lasts = time if kind else 1.0
            spent = sum(n * s[KINDS[k]] for k, n in counts.items()) + s["constant_power"] * lasts
            runs.append({**counts, **at, "role": s["role"], "time": lasts, "energy": spent})
    return {k: [r[k] for r in runs] for k in runs[0]}


def test_the_derived_costs_of_the_jetson_are_refitted():
    """Choi 2016, Table I: within 0.07 pJ and 0.07 W, with other_power held at zero by its sign."""
    found = dse.fit(table_one(1e-3), "dvfs", relative=False)
    printed = machines.get("jetson-tk1-choi2016").settings
    assert [s.name for s in found.settings] == [p["name"] for p in printed]
    for ours, theirs in zip(found.settings, printed, strict=True):
        for name in KINDS.values():
            assert ours.derived[name] == pytest.approx(theirs[name], abs=0.07e-12)
        assert ours.derived["constant_power"] == pytest.approx(theirs["constant_power"], abs=0.07)
    assert found.values["other_power"] == 0
    assert "not visible in these runs" in found["other_power"].doubt
    assert found.values["core_leakage_current"] == pytest.approx(2.86813, abs=2e-5)
    assert found.values["memory_leakage_current"] == pytest.approx(3.80976, abs=2e-5)


def test_the_training_rows_alone_give_the_validation_rows():
    found = dse.fit(table_one(1e-3, "training"), "dvfs", relative=False)
    assert found.values["other_power"] == 0
    assert found.values["core_leakage_current"] == pytest.approx(2.77182, abs=2e-5)
    assert found.values["memory_leakage_current"] == pytest.approx(3.90989, abs=2e-5)
    held_out = dse.fit(table_one(1e-3), "dvfs", relative=False).validation["hold-out, the runs marked so"]
    # rounding of the table alone: 0.05 W of 5 W
    assert held_out.runs == 56
    assert held_out.greatest < 0.011


def test_absolute_errors_are_the_least_squares_of_the_paper(circuit: dict[str, float], dvfs_runs: Make):
    runs = {k: np.array(v) for k, v in dvfs_runs(circuit, 5).items()}
    core, memory, time = runs["core_voltage"], runs["memory_voltage"], runs["time"]
    columns = [runs[o.count] * (memory if o.memory else core) ** 2 for o in OPERATIONS]
    rows = np.column_stack([*columns, core * time, memory * time, time])
    scale = np.linalg.norm(rows, axis=0)
    expected = nnls(rows / scale, runs["energy"])[0] / scale
    found = dse.fit(runs, "dvfs", relative=False)
    assert list(found.values.values()) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_validation_is_on_settings_that_were_left_out(circuit: dict[str, float], dvfs_runs: Make):
    runs = dvfs_runs(circuit, 1)
    found = dse.fit(runs, "dvfs")
    names = [n.split(",")[0] for n in found.validation]
    assert names == ["hold-out", "16-fold over settings", "16-fold over settings"]
    for e in found.validation.values():
        assert 0 <= e.least <= e.mean <= e.greatest
        # noise of 3 % has a mean size of 2.4 %
        assert e.mean == pytest.approx(0.024, abs=0.006)
    # by hand: one setting left out
    of_first = np.array(found.runs.groups) == found.settings[0].name
    rest = dse.fit({k: np.array(v)[~of_first] for k, v in runs.items()}, "dvfs")
    left = {k: np.array(v)[of_first] for k, v in runs.items()}
    counts = {k: left[k] for k in KINDS}
    model = energy(rest.values, counts, left["core_voltage"], left["memory_voltage"], left["time"])
    mean = np.abs(model / left["energy"] - 1).mean()
    folds = found.validation["16-fold over settings, means of the folds"]
    assert folds.least <= mean * (1 + 1e-12)
    assert mean <= folds.greatest * (1 + 1e-12)
    del runs["role"]
    four = dse.fit(runs, "dvfs", folds=4).validation
    assert next(iter(four)) == "hold-out, every other setting"
    assert four["4-fold over settings, means of the folds"].runs == 4


def changed(runs: Mapping[str, list], **columns: Any) -> dict[str, Any]:
    return {k: v for k, v in {**runs, **columns}.items() if v is not None}


def refusal(runs: Any, **options: Any) -> str:
    with pytest.raises(FittingError) as caught:
        dse.fit(runs, "dvfs", **options)
    return str(caught.value)


def test_runs_that_cannot_tell_constants_apart_are_refused(circuit: dict[str, float], dvfs_runs: Make):
    runs = dvfs_runs(circuit, 0)
    many = len(runs["time"])
    told = refusal(changed(runs, core_voltage=[0.9] * many))
    assert "core_leakage_current, other_power cannot be separated" in told
    assert "the core has only 1 voltage (0.9 V)" in told
    told = refusal(changed(runs, memory_voltage=runs["core_voltage"]))
    assert "core_leakage_current, memory_leakage_current cannot" in told
    assert "change together" in told
    told = refusal(changed(runs, flops_double=[2 * x for x in runs["flops"]]))
    assert "capacitance_per_flop, capacitance_per_flop_double cannot be separated" in told
    assert "in proportion in all runs" in told
    steady = changed(
        runs, flops=[t * 1e11 / v**2 for t, v in zip(runs["time"], runs["core_voltage"], strict=True)]
    )
    told = refusal(steady)
    assert "capacitance_per_flop, other_power cannot be separated: time is in proportion" in told
    few = {k: v[:9] for k, v in runs.items()}
    assert "9 runs are too few for 9 constants" in refusal(few)


def test_missing_columns_are_named(circuit: dict[str, float], dvfs_runs: Make):
    runs = dvfs_runs(circuit, 0)
    assert "column energy [J] is missing" in refusal(changed(runs, energy=None))
    assert "no operations are counted" in refusal(changed(runs, **dict.fromkeys(KINDS)))
    assert "'role' of run 3 is x, not one of training, validation, T, V" in refusal(
        changed(runs, role=["x"] * len(runs["time"]))
    )
    assert "17 folds of 16 settings" in refusal(runs, folds=17)
    assert "the runs of setting 'a' differ in core_frequency, core_voltage" in refusal(
        changed(runs, setting=["a"] * len(runs["time"]))
    )


def test_measured_voltages_of_a_setting_may_differ_a_little(circuit: dict[str, float], dvfs_runs: Make):
    runs = dvfs_runs(circuit, 0, noise=0.0)
    nominal = dse.fit(runs, "dvfs")
    drift = 1 + 0.005 * np.random.default_rng(0).standard_normal(len(runs["time"]))
    measured = changed(runs, core_voltage=np.array(runs["core_voltage"]) * np.clip(drift, 0.99, 1.01))
    found = dse.fit(measured, "dvfs")
    assert [s.name for s in found.settings] == [s.name for s in nominal.settings]
    for ours, theirs in zip(found.settings, nominal.settings, strict=True):
        assert ours.measured["core_voltage"] == pytest.approx(theirs.measured["core_voltage"], rel=0.01)
        assert ours.measured["memory_voltage"] == theirs.measured["memory_voltage"]
    without = {k: v for k, v in runs.items() if not k.endswith("_frequency")}
    assert "1030mV-1010mV" in [s.name for s in dse.fit(without, "dvfs").settings]


def test_what_no_run_does_stays_unknown(circuit: dict[str, float], dvfs_runs: Make):
    runs = dvfs_runs(circuit, 0)
    spent = np.array(runs["flops_double"]) * circuit["capacitance_per_flop_double"]
    without = np.array(runs["energy"]) - spent * np.array(runs["core_voltage"]) ** 2
    found = dse.fit(changed(runs, flops_double=[0.0] * len(spent), energy=without), "dvfs")
    assert "capacitance_per_flop_double" not in found.values
    assert any("no run has any flops_double" in n for n in found.notes)
    assert "energy_per_flop_double" not in found.machine()


def test_counters_of_a_profiler_are_counts(circuit: dict[str, float], dvfs_runs: Make):
    """Choi 2016, Table III: the documented mapping, in numbers written out here."""
    runs = {k: np.array(v) for k, v in dvfs_runs(circuit, 2).items()}
    direct = dse.fit(runs, "dvfs").values
    counted = dict(runs)
    double, integer, shared, level2, memory = (counted.pop(k) for k in list(KINDS)[1:])
    counted |= {"flops_dp_fma": double / 4, "flops_dp_add": double / 3, "flops_dp_mul": double / 6}
    counted |= {"inst_integer": integer}
    counted |= {"l1_shared_load_transactions": shared / 256, "l1_shared_store_transactions": shared / 512}
    counted |= {"l1_global_load_hit": shared / 512}
    counted |= {f"l2_subp{i}_read_l1_hit_sectors": level2 / 32 / 5 for i in range(4)}
    counted |= {"l2_subp0_total_write_sector_queries": level2 / 32 / 5}
    counted |= {f"fb_subp{i}_read_sectors": memory / 64 for i in range(2)}
    assert dse.fit(counted, "dvfs").values == pytest.approx(direct, rel=1e-9)
    del counted["fb_subp1_read_sectors"]
    assert "bytes needs the counters fb_subp1_read_sectors as well" in refusal(counted)
    assert all(c.why and c.weight > 0 for c in counters())
    assert {c.count for c in counters()} <= set(KINDS)


def test_what_a_fitted_machine_costs_follows_from_its_constants(
    circuit: dict[str, float], dvfs_runs: Make, tmp_path: Path
):
    """A constant that is changed, or drawn from its interval, changes the energy by what it adds by hand."""
    fit = dse.fit(dvfs_runs(circuit, 0), "dvfs", folds=2)
    file = str(fit.save(tmp_path / "board.toml"))
    first = fit.settings[0]
    question = {
        "model": "dvfs",
        "machine": file,
        "given": {
            "phases": [{"name": "a", "flops": 1e11, "times": [1.0] * len(fit.settings)}],
            "setting.a": 1,
        },
    }
    nominal = dse.solve(question).metrics["energy"]
    assert nominal == pytest.approx(
        1e11 * first.derived["energy_per_flop"] + first.derived["constant_power"], rel=1e-9
    )
    changed = dse.solve({**question, "machine": {"base": file, "capacitance_per_flop": 1e-10}})
    more = 1e11 * (1e-10 - fit.values["capacitance_per_flop"]) * first.measured["core_voltage"] ** 2
    assert changed.metrics["energy"] == pytest.approx(nominal + more, rel=1e-9)
    name = "machine.capacitance_per_flop"
    worlds = dse.uncertainty({**question, "uncertain": {name: {"from": "machine"}}}, samples=64)
    spread = float(worlds.samples["energy"].std())
    p = fit["capacitance_per_flop"]
    wanted = 1e11 * (p.high - p.low) / 2 / 1.96 * first.measured["core_voltage"] ** 2
    assert spread == pytest.approx(wanted, rel=0.1)


def test_all_marks_of_the_energies_have_a_unit(circuit: dict[str, float], dvfs_runs: Make):
    """Energies within a factor of three: marks between powers of ten stood beside others without a unit."""
    runs = {k: np.array(v)[:60] for k, v in dvfs_runs(circuit, 0).items()}
    figure = dse.fit(runs, "dvfs", folds=2).plot()
    figure.canvas.draw()
    left = figure.axes[0]
    for axis in (left.xaxis, left.yaxis):
        low, high = axis.get_view_interval()
        inside = (t for t in axis.get_ticklabels(which="both") if low <= max(t.get_position()) <= high)
        told = [t.get_text() for t in inside if t.get_text()]
        assert len(told) >= 3
        assert all(t.endswith("J") for t in told), told
