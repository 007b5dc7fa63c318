"""From a measurement to a machine file that answers questions, with energies and without; what noise forbids."""

import tomllib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dse
from dse.machines import get
from dse.measuring import asking, conditions, costs, writing
from dse.measuring.asking import Asked
from dse.measuring.energy.meters import Unavailable
from dse.measuring.energy.rapl import Rapl
from dse.measuring.errors import MeasuringError
from dse.measuring.loops import cpu
from dse.measuring.runs import Run, grouped, read_runs, spread
from dse.measuring.session import Measured
from scenarios.language.errors import ScenarioError

TIMES = {
    "time_per_flop",
    "time_per_flop_double",
    "time_per_byte",
    "time_per_byte_L1",
    "time_per_byte_L2",
    "time_per_access",
}
WATTS = 40.0


def test_everything_that_a_roofline_needs_of_times_is_measured(measured: Measured):
    assert {f.name for f in measured.times} == TIMES
    assert {f.name for f in measured.figures(1)} - TIMES == {
        "product_single",
        "product_double",
        "latency_memory",
    }
    assert all(f.value > 0 and f.low <= f.value <= f.high for f in measured.figures(1))
    assert measured.whole
    assert measured.meter == ""
    assert "virtual machines" in measured.unread[0]


def test_runs_are_written_and_read_as_they_were(measured: Measured, tmp_path: Path):
    text = writing.runs_file(measured)
    (tmp_path / "runs.csv").write_text(text)
    assert read_runs(tmp_path / "runs.csv") == list(measured.runs)
    again = asking.again(str(tmp_path / "runs.csv"), Asked())
    assert again.name == "Small"
    assert again.figures(1) == measured.figures(1)
    assert again.against == measured.against
    assert again.facts == measured.facts


def test_without_energy_questions_of_time_are_answered(steady: Measured, tmp_path: Path):
    assert steady.against == []
    machine, question = tmp_path / "here.toml", tmp_path / "here-question.toml"
    assert asking.save(steady, str(machine), force=False) == [tmp_path / "runs.csv", machine, question]
    found = get(str(machine))
    assert set(found.parameters) == TIMES
    assert found.doubts == {}
    told = tomllib.loads(machine.read_text())
    assert {p["evidence"] for p in told["parameters"].values()} == {"measured"}
    assert told["measured"]["noisy"] is False
    assert "only questions of time" in told["notes"]
    answer = dse.solve(str(question))
    assert answer.status == "optimal"
    # memory-bound up to the balance: 80 % of the peak needs 80 % of the balance
    balance = found.parameters["time_per_byte"] / found.parameters["time_per_flop_double"]
    assert answer.objective == pytest.approx(0.8 * balance, rel=1e-5)
    with pytest.raises(ScenarioError, match="energy_per_flop"):
        dse.solve({"model": "roofline", "machine": str(machine), "given": {"flops": 1, "intensity": 1}})


@pytest.mark.parametrize("double", [True, False])
def test_the_first_question_says_of_which_precision_its_peak_is(
    steady: Measured, tmp_path: Path, double: bool
):
    """The other precision has another peak, and another answer."""
    runs = [r for r in steady.runs if double or r.precision != "double" or r.kernel == "triad"]
    precision, mark = ("double", "_double") if double else ("single", "")
    machine, question = tmp_path / "here.toml", tmp_path / "here-question.toml"
    asking.save(replace(steady, runs=runs), str(machine), force=True)
    assert f"a code in {precision} precision reaches 80%" in tomllib.loads(question.read_text())["title"]
    times = get(str(machine)).parameters
    balance = times["time_per_byte"] / times[f"time_per_flop{mark}"]
    assert dse.solve(str(question)).objective == pytest.approx(0.8 * balance, rel=1e-5)


def test_with_a_stated_power_energy_is_power_times_time(steady: Measured, tmp_path: Path):
    (tmp_path / "runs.csv").write_text(writing.runs_file(steady))
    found = asking.again(str(tmp_path / "runs.csv"), Asked(power="65 W"))
    machine = tmp_path / "here.toml"
    asking.save(found, str(machine), force=False, earlier=str(tmp_path / "runs.csv"))
    doubts = get(str(machine)).doubts
    assert "stated power" in doubts["constant_power"]
    evidence = tomllib.loads(machine.read_text())["parameters"]["constant_power"]["evidence"]
    assert evidence == "stated"
    for precision in ("single", "double"):
        for level in ("memory", "L1", "L2", "random"):
            given = {"flops": 1e12, "bytes": 1e11, "precision": precision, "level": level}
            answer = dse.solve({"model": "roofline", "machine": str(machine), "given": given})
            assert answer.metrics["energy"] == pytest.approx(65 * answer.metrics["time"])


def test_energy_by_rapl_becomes_powers_of_the_machine(
    asked: Asked,
    tmp_path: Path,
    zone: Callable[..., Path],
    powered: Callable[..., AbstractContextManager[None]],
    monkeypatch: pytest.MonkeyPatch,
):
    # short runs: the counter below moves twice in a millisecond
    monkeypatch.setattr(Rapl, "least", 0.01)
    span = 262143328851
    counter = zone(tmp_path / "intel-rapl:0", "package-0", span - 1)
    with powered(counter, WATTS, span, span - 10_000_000):
        found = asking.take(replace(asked, powercap=tmp_path), progress=False)
    assert found.meter == "RAPL (package-0)"
    assert int(counter.read_text()) < span - 10_000_000, "the counter has started again"
    values = {c.name: c.value for c in found.costs}
    assert {
        "constant_power",
        "energy_per_flop",
        "energy_per_flop_double",
        "energy_per_byte",
        "energy_per_access",
    } <= set(values)
    machine = tmp_path / "here.toml"
    asking.save(found, str(machine), force=True)
    given = {"flops": 1e12, "bytes": 1e12}
    answer = dse.solve({"model": "roofline", "machine": str(machine), "given": given})
    # the same power whatever runs; a busy machine may hold the counter's writer back for as long as a short run takes
    assert WATTS / 3 < answer.metrics["power"] < 3 * WATTS
    header = next(x for x in (tmp_path / "runs.csv").read_text().splitlines() if x.startswith("kernel"))
    assert "energy [J]" in header
    told = tomllib.loads(machine.read_text())["parameters"]
    assert "RAPL (package-0)" in told["constant_power"]["source"]
    assert told["constant_power"]["evidence"] == "fitted to measurements"


def synthetic(flop: float, byte: float, power: float) -> list[Run]:
    """Runs of a machine that is known: 50 Gflop/s single, 25 double, 10 GB/s, 5 GB/s L1 writes, energies as given."""
    found = []
    for precision, rate, width, dear in (("single", 50e9, 4, 1), ("double", 25e9, 8, 2)):
        for degree in (1, 2, 4, 8, 16, 32, 64, 128, 256):
            for _ in range(3):
                flops, moved = 2e8 * degree, 2e8 * width
                time = max(flops / rate, moved / 10e9)
                energy = dear * flop * flops + byte * moved + power * time
                kernel = Run(
                    "polynomial",
                    precision,
                    "memory",
                    2,
                    1e9,
                    0,
                    flops,
                    moved,
                    0.0,
                    0.0,
                    time,
                    energy,
                    1.0,
                    0.0,
                )
                found.append(kernel)
    l1 = Run("triad", "double", "L1", 2, 1e4, 0, 2e8, 24e8, 0.0, 0.0, 0.05, 0.0, 1.0, 0.0)
    joules = 2 * flop * l1.flops + 0.1 * byte * l1.bytes + power * l1.time
    return [*found, replace(l1, energy=joules), replace(l1, energy=joules)]


def test_known_energies_are_found_again():
    found, notes = costs.fitted(synthetic(100e-12, 500e-12, 20.0), 2, "known")
    values = {c.name: c.value for c in found}
    # the runs are exact
    assert values["energy_per_flop"] == pytest.approx(100e-12, rel=1e-3)
    assert values["energy_per_flop_double"] == pytest.approx(200e-12, rel=1e-3)
    assert values["energy_per_byte"] == pytest.approx(500e-12, rel=1e-3)
    assert values["energy_per_byte_L1"] == pytest.approx(50e-12, rel=1e-2)
    assert values["constant_power"] == pytest.approx(20.0, rel=1e-3)
    assert notes == []
    times = {"time_per_flop": 1 / 50e9, "time_per_flop_double": 1 / 25e9, "time_per_byte": 1e-10}
    assert costs.misses(synthetic(0, 0, 1), times, 2) == pytest.approx((0.0, 0.0, 54))
    slower = times | {"time_per_byte": 2e-10}
    assert costs.misses(synthetic(0, 0, 1), slower, 2)[1] == pytest.approx(1.0)


def test_a_fit_that_is_refused_is_told_of():
    one = synthetic(100e-12, 500e-12, 20.0)[:2]
    found, notes = costs.fitted(one, 2, "few")
    assert "energies in single precision are not known" in notes[0]
    values = {c.name: c for c in found}
    assert values["constant_power"].value == pytest.approx(one[0].energy / one[0].time)
    assert "refused" in values["constant_power"].doubt
    assert values["energy_per_flop"].value == 0.0


def test_a_meter_that_stops_costs_the_energies_and_nothing_else(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
):
    class Stopping:
        name, least, left = "a meter", 0.0, 7

        def mark(self) -> float:
            return 0.0

        def between(self, first: float, last: float) -> float:
            self.left -= 1
            if not self.left:
                raise Unavailable("its battery is empty")
            return 1.0

        def close(self) -> None:
            pass

    plan = cpu.plan
    monkeypatch.setattr(cpu, "plan", lambda *all_, **how: plan(*all_, **how)[:3])
    monkeypatch.setattr(asking, "first_of", lambda ways: (Stopping(), ()))
    found = asking.take(asked, progress=False)
    # the third measurement, in which it stopped, was made again without it
    assert [len(g) for g in grouped(found.runs).values()] == [3, 3, 3]
    assert found.meter == ""
    assert found.costs == []
    assert any("its battery is empty" in n for n in found.remarks)
    assert "energy" not in writing.runs_file(found).partition("\nkernel")[2].splitlines()[0]


def noisy(steady: Measured, **changes: Any) -> Measured:
    return replace(steady, runs=[replace(r, **changes) for r in steady.runs])


def test_what_disturbs_forbids_to_call_it_measured(steady: Measured):
    crowded = replace(steady, conditions=replace(steady.conditions, others=0.4, neighbours=("make 0.8",)))
    assert crowded.against == [
        "others took 40% of the processors while it was measured (make 0.8); at most 5% is quiet"
    ]
    waiting = noisy(steady, own=0.5).against
    assert len(waiting) == len(TIMES)
    assert "had a processor 50% of the time" in waiting[0]
    wild = [replace(r, time=r.time * (1 + i % 3)) for i, r in enumerate(steady.runs)]
    apart = replace(steady, runs=wild).against
    assert any("repetitions lie" in a and "the median is uncertain by" in a for a in apart)


@pytest.mark.parametrize("force", [False, True])
def test_a_noisy_machine_is_written_by_force_only_and_says_so(steady: Measured, tmp_path: Path, force: bool):
    machine = tmp_path / "here.toml"
    written = asking.save(noisy(steady, own=0.5), str(machine), force=force)
    assert (tmp_path / "runs.csv") in written
    assert machine.exists() is force
    if force:
        told = tomllib.loads(machine.read_text())
        assert told["measured"]["noisy"] is True
        assert len(told["measured"]["against"]) == len(TIMES)
        assert "noisy" in told["title"]
        assert {p["evidence"] for p in told["parameters"].values()} == {"measured on a noisy machine"}
        assert set(get(str(machine)).doubts) == TIMES


def test_runs_are_never_written_over(steady: Measured, tmp_path: Path):
    for name in ("a", "b"):
        asking.save(steady, str(tmp_path / f"{name}.toml"), force=False)
    assert {p.name for p in tmp_path.glob("*.csv")} == {"runs.csv", "runs-2.csv"}


def test_ctrl_c_keeps_what_was_measured(asked: Asked, tmp_path: Path):
    def interrupt(done: int, total: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    found = asking.take(asked, interrupt)
    assert not found.whole
    # five measurements of three repetitions each, all in single precision
    assert len(found.runs) == 15
    written = asking.save(found, str(tmp_path / "here.toml"), force=False)
    assert written == [tmp_path / "runs.csv"]
    with pytest.raises(MeasuringError, match="no machine without time_per_byte"):
        asking.save(found, str(tmp_path / "here.toml"), force=True)


def test_governor_clock_and_boost_are_noted(tmp_path: Path):
    cpu = tmp_path / "sys/devices/system/cpu"
    for i, governor in enumerate(("powersave", "powersave")):
        (cpu / f"cpu{i}/cpufreq").mkdir(parents=True)
        (cpu / f"cpu{i}/cpufreq/scaling_governor").write_text(f"{governor}\n")
    (cpu / "cpu0/cpufreq/cpuinfo_min_freq").write_text("800000\n")
    (cpu / "cpu0/cpufreq/cpuinfo_max_freq").write_text("4700000\n")
    (cpu / "intel_pstate").mkdir()
    (cpu / "intel_pstate/no_turbo").write_text("0\n")
    (tmp_path / "cpuinfo").write_text("flags : fpu vme hypervisor\n")
    found = conditions.facts(tmp_path / "sys", tmp_path)
    assert found["governor"] == "powersave"
    assert found["clock"] == "0.8 to 4.7 GHz"
    assert found["boost"] == "on"
    advice = " ".join(conditions.advice(found))
    assert "cpupower frequency-set -g performance" in advice
    assert "measure on the host itself" in advice


def test_the_spread_is_that_of_the_quartiles():
    assert spread([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(2 / 3)
    assert spread([7.0]) == 0.0
