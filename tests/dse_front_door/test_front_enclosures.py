"""What is proved between the points of a front holds at points found without the engine, by closed forms and scans."""

import importlib
import json
from pathlib import Path
from typing import Any

import balanced_nbody
import numpy as np
import oracle_equations
import oracle_multicore
import pytest
import xarray as xr
from choi_cases import CASES, partition
from click.testing import CliRunner
from demmel_cases import ROWS, question
from method_questions import NBODY
from oracle_equations import Ask

import dse
from dse.cli import main
from dse.models import registry

CHIP = Path(__file__).parent.parent.parent / "docs" / "examples" / "multicore" / "src" / "dse_multicore"
MACHINE: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 65536}, "memory": {}},
    "objective": {"minimize": ["energy", "time"]},
}
# limits hold to 1e-8 relative, and slopes of the fronts below stay under 100
SLACK = 1e-6
# neighbours in a scan of 200 000 values of memory are 2e-5 apart or less
GRID = 1e-4


def bounds(found: xr.Dataset, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the enclosure says at values of the first objective, read the way its attributes tell."""
    place, low, high = (found[f"enclosure_{n}"].values for n in ("at", "lower", "upper"))
    assert (np.diff(place) >= 0).all()
    assert (low <= high).all()
    if "logarithms" in found.enclosure_lower.attrs["long_name"]:
        logs = [np.interp(np.log(at), np.log(place), np.log(edge)) for edge in (low, high)]
        return np.exp(logs[0]), np.exp(logs[1])
    return _stepped(place, low, at), _stepped(place, high, at)


def _stepped(place: np.ndarray, edge: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Straight from place to place; where places repeat, at a step, what holds just before it."""
    after = np.clip(np.searchsorted(place, at, side="left"), 1, place.size - 1)
    width = place[after] - place[after - 1]
    part = np.divide(at - place[after - 1], width, out=np.zeros_like(at), where=width > 0)
    return edge[after - 1] + (edge[after] - edge[after - 1]) * np.clip(part, 0, 1)


def hold(found: xr.Dataset, at: np.ndarray, best: np.ndarray, missed: float = SLACK) -> None:
    """The best second objective for each value of the first lies inside; ``missed``: by how much it is not the best."""
    low, high = bounds(found, at)
    assert len(at) >= 500
    np.testing.assert_array_less(low * (1 - SLACK), best)
    np.testing.assert_array_less(best, high * (1 + missed))


def scanned(found: xr.Dataset, energy: np.ndarray, time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A thousand energies along a front, and the least time of the designs of a scan within each."""
    order = np.argsort(energy)
    at = np.geomspace(float(found.energy[0]), float(found.energy[-1]), 1000)[1:-1]
    return at, np.minimum.accumulate(time[order])[np.searchsorted(energy[order], at) - 1]


@pytest.fixture(scope="module")
def nbody() -> xr.Dataset:
    return dse.front(MACHINE, tolerance=0.01)


@pytest.mark.parametrize("asked", [{"points": 6}, {"tolerance": 0.01}])
def test_a_thousand_designs_of_the_closed_form_lie_inside(asked: dict[str, Any], nbody: xr.Dataset):
    """Energy depends on memory alone, and the fastest run with it uses (n/M)^2 processors (Demmel V)."""
    found = nbody if "tolerance" in asked else dse.front(MACHINE, **asked)
    n = balanced_nbody.N
    memory = np.geomspace(n / 256, balanced_nbody.M0, 1000)[1:-1]
    energy = balanced_nbody.energy(memory)
    time = np.array([balanced_nbody.time((n / m) ** 2, m) for m in memory])
    hold(found, energy, time)
    assert found.attrs["enclosure_width"] <= asked.get("tolerance", 0.1)
    assert found.attrs["enclosure"].startswith("chords above and tangents below")


def test_no_design_of_a_scan_lies_below(nbody: xr.Dataset):
    ask = Ask("nbody", NBODY, MACHINE["given"], {}, "time")
    p, memory = (x.ravel() for x in np.meshgrid(np.geomspace(1, 65536, 700), np.geomspace(390, 1e5, 700)))
    low, high = oracle_equations.replication_ends(ask, p)
    kept = (low <= memory) & (memory <= high)
    at = oracle_equations.metrics(ask, p[kept], memory[kept])
    inside = (at["energy"] > float(nbody.energy[0])) & (at["energy"] < float(nbody.energy[-1]))
    assert inside.sum() > 10_000
    proved, _ = bounds(nbody, at["energy"][inside])
    assert (at["time"][inside] >= proved * (1 - SLACK)).all()


def test_maximised_objectives_are_enclosed_alike(nbody: xr.Dataset):
    """Efficiency and performance are reciprocals of energy and time, so the front is the same one."""
    told = MACHINE | {"objective": {"maximize": ["efficiency", "performance"]}}
    found = dse.front(told, tolerance=0.01)
    flops = float(nbody.energy[0] * nbody.efficiency[0])
    memory = np.geomspace(balanced_nbody.N / 256, balanced_nbody.M0, 600)[1:-1]
    time = np.array([balanced_nbody.time((balanced_nbody.N / m) ** 2, m) for m in memory])
    hold(found, flops / balanced_nbody.energy(memory), flops / time)
    assert found.attrs["enclosure_width"] <= 0.01


HALVED = {
    "model": "matmul",
    "machine": "jaketown-printed",
    "waive": ["replication"],
    "given": {"order": 35000, "processors": 2, "memory": 1837500000},
    "decide": {n: {"max_halvings": 12} for n in ("machine.energy_per_flop", "machine.time_per_flop")},
    "objective": {"minimize": ["halvings", "time"]},
}


def test_halvings_are_spread_from_none_and_read_as_they_are():
    """A halving is a logarithm already: the front begins at 0 of them, and goes straight in halvings."""
    found = dse.front(HALVED, points=5)
    halvings, time = found.halvings.values, found.time.values
    assert abs(halvings[0]) < 1e-9
    assert (found.status == 1).all()
    assert np.diff(halvings).min() > 0.5
    assert "straight in halvings and the logarithm of time" in found.enclosure_lower.attrs["long_name"]
    place, low, high = (found[f"enclosure_{n}"].values for n in ("at", "lower", "upper"))
    for at in (0.05, 0.4, 3.3, 11.0):
        least = dse.solve(HALVED | {"objective": {"minimize": "time"}, "limits": {"halvings": {"max": at}}})
        lower, upper = (np.exp(np.interp(at, place, np.log(edge))) for edge in (low, high))
        assert lower * (1 - SLACK) <= least.objective <= upper * (1 + SLACK)
    assert time[-1] == pytest.approx(dse.solve(HALVED | {"objective": {"minimize": "time"}}).objective)


@pytest.fixture
def chip(monkeypatch: pytest.MonkeyPatch) -> str:
    """The example plug-in's question about its front, with the model known as if it were installed."""
    monkeypatch.syspath_prepend(str(CHIP.parent))
    model = importlib.import_module("dse_multicore.model").MULTICORE
    monkeypatch.setitem(registry._registered, model.name, model)
    text = (CHIP / "scenarios" / "multicore_front.toml").read_text(encoding="utf-8")
    return text.replace(
        '"multicore-example"', f'"{(CHIP / "machines" / "multicore-example.toml").as_posix()}"'
    )


@pytest.mark.parametrize(("whole", "tolerance"), [(False, 0.002), (True, 0.05)])
def test_chips_of_every_number_of_cores_lie_inside(whole: bool, tolerance: float, chip: str, tmp_path: Path):
    """In parts the front is convex in logarithms, in whole cores it lies between stairs."""
    file = tmp_path / "chip.toml"
    file.write_text(chip if whole else chip.replace(", integer = true", ""), encoding="utf-8")
    found = dse.front(dse.load(file), tolerance=tolerance)
    time = np.geomspace(float(found.time[0]), float(found.time[-1]), 1000)[1:-1]
    # in whole cores the best time may lie between two that are tried, 1e-3 apart, where energy is flat
    best = oracle_multicore.least_energies(time, whole=whole)
    hold(found, time, best, 2e-5 if whole else SLACK)
    # the ends are the fastest chip of all and the one of least energy, and no chip is named twice
    fastest = oracle_multicore.W / (oracle_multicore.R * 512 * oracle_multicore.CLOCK[1])
    assert float(found.time[0]) == pytest.approx(fastest, rel=SLACK)
    assert float(found.energy[-1]) <= best.min() * (1 + SLACK)
    chips = np.stack([found[n].values for n in ("cores", "clock", "bandwidth")], axis=1)
    assert len(np.unique(chips, axis=0)) == found.sizes["front"]
    assert (found.status == 1).all()
    assert found.attrs["enclosure_width"] <= tolerance
    assert found.attrs["enclosure"].startswith("steps" if whole else "chords")
    assert found.attrs["method"].startswith("refined until the front is enclosed")


def test_a_front_under_a_power_cap_lies_between_stairs():
    """Average power is not a posynomial: branch and bound proves each point, monotonicity what lies between."""
    cap, n = 20e3, balanced_nbody.N
    found = dse.front(MACHINE | {"limits": {"power": {"max": cap}}}, tolerance=0.25)
    assert found.attrs["enclosure"].startswith("steps")
    assert found.attrs["enclosure_width"] <= 0.25
    # with memory M the fastest run takes as many processors as replication and the cap allow
    memory = np.geomspace(n / 256, balanced_nbody.M0, 200_000)
    energy = balanced_nbody.energy(memory)
    one = n**2 * (1e-8 + balanced_nbody.LINK_TIME / memory)
    most = np.minimum((n / memory) ** 2, cap * one / energy)
    at, best = scanned(found, energy, one / most)
    hold(found, at, best, GRID)


def test_a_jump_that_is_proved_empty_has_no_width():
    """200 or 1000 processors: between the two pieces of curve a fifth of the times are reached by no design."""
    decide = {"processors": {"values": [200, 1000]}, "memory": {}}
    found = dse.front(MACHINE | {"decide": decide}, tolerance=0.02)
    assert found.attrs["enclosure_width"] <= 0.02
    steps = found.time.values[:-1] / found.time.values[1:]
    assert steps.max() > 1.5
    n, energy, time = balanced_nbody.N, [], []
    for p in (200, 1000):
        memory = np.geomspace(n / p, n / np.sqrt(p), 300_000)
        energy.append(balanced_nbody.energy(memory))
        time.append(n**2 / p * (1e-8 + balanced_nbody.LINK_TIME / memory))
    at, best = scanned(found, np.concatenate(energy), np.concatenate(time))
    hold(found, at, best, GRID)


@pytest.mark.parametrize("case", ["mm25d-26", "strassen-25"])
def test_published_points_lie_inside(case: str):
    """The (E, T) points of the reference cases, and the least energy is the end of the front."""
    row = next(r for r in ROWS if r["id"] == case)
    points = np.array(json.loads(row["answer"]))[:, :2]
    found = dse.front(question(row) | {"objective": {"minimize": ["energy", "time"]}}, tolerance=0.001)
    # printed with twelve digits
    assert float(found.energy[0]) == pytest.approx(points[0, 0], rel=1e-10)
    low, high = bounds(found, points[1:, 0])
    assert (low * (1 - SLACK) <= points[1:, 1]).all()
    assert (points[1:, 1] <= high * (1 + SLACK)).all()


@pytest.mark.parametrize("case", ["c01", "c09", "c21", "c29"])
def test_the_best_of_each_objective_is_an_end_of_the_exact_front(case: str):
    """Regions divided and whole: what the cases call best in energy or time is where the front ends."""
    asked, wanted = CASES[case]
    told = partition(asked, "time", whole="cpu_regions" in wanted)
    found = dse.front(told | {"objective": {"minimize": ["energy", "time"]}})
    end, name = (0, "energy") if "energy_J" in wanted and "cpu_regions" not in wanted else (-1, "time")
    assert float(found[name][end]) == pytest.approx(
        wanted["energy_J" if name == "energy" else "time_s"], rel=1e-6
    )
    assert found.attrs["enclosure_width"] == 0
    np.testing.assert_array_equal(found.enclosure_lower, found.enclosure_upper)


def test_commands_say_how_well_the_front_is_known(tmp_path: Path):
    file, table, record = tmp_path / "f.toml", tmp_path / "f.csv", tmp_path / "f.json"
    file.write_text(dse.load(MACHINE).text, encoding="utf-8")
    typed = ["front", str(file), "--tolerance", "0.05", "-o", str(table), "-o", str(record)]
    said = CliRunner().invoke(main, typed)
    assert said.exit_code == 0, said.stderr
    assert "Between the points the front is enclosed within 2.9 %: chords above" in said.stdout
    told = json.loads(record.read_text(encoding="utf-8"))["enclosure"]
    assert told["words"].startswith("Between the points the front is enclosed within 2.9 %")
    assert told["width"] <= 0.05
    assert len(told["at"]) == len(told["lower"]) == len(told["upper"])
    beside = json.loads(table.with_name("f.csv-metadata.json").read_text(encoding="utf-8"))
    assert beside["dse:enclosure_width"] == told["width"]
