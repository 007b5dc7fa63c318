"""Every ready scenario gives what an independent brute force found (scenarios/library/expected.csv)."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import brute_force
import highspy
import make_expected
import numpy as np
import oracle_blocks
import oracle_listed
import oracle_partition
import oracle_plans
import oracle_reading as reading
import oracle_robust_fronts
import pytest

import dse
import scenarios
from dse.uncertain.worlds import decided_late
from results.solution import Solution
from scenarios.sweep.grids import Grid
from solvers.answer import answer
from solvers.geometric.kernel import gp

LIBRARY = make_expected.LIBRARY
MOST_CALLS = 25
MOST_PROGRAMS = 25
with (LIBRARY / "expected.csv").open(encoding="utf-8") as table:
    EXPECTED = list(csv.DictReader(table))
SINGLE = [row for row in EXPECTED if not row["point"]]
# the point of a sweep is whole numbers, that of a front a share
SWEPT = [row for row in EXPECTED if row["point"] and "." not in row["point"]]
FRONTS = [row for row in EXPECTED if "." in row["point"] and " " not in row["point"]]
# fronts over axes: whole numbers, then a share
PLACES = [row for row in EXPECTED if "." in row["point"] and " " in row["point"]]
ROBUST = sorted(oracle_robust_fronts.NAMES)
EXACT = sorted(
    {
        row["scenario"]
        for row in FRONTS
        if row["scenario"] not in ROBUST and row["scenario"].split("_")[0] in make_expected.LISTED
    }
)


def label(row: dict[str, str]) -> str:
    """Name a row in pytest's output."""
    return f"{row['scenario']} {row['point']}".strip()


def check(solution: Solution, row: dict[str, str]) -> None:
    """Compare a solution with a row: status, objective, and for infeasible ones all minimal conflicts."""
    assert solution.status == row["status"]
    if row["status"] == "infeasible":
        expected = {frozenset(names.split("+")) for names in row["conflicts"].split("; ")}
        assert {frozenset(names) for names in solution.conflicts} == expected
    else:
        # a bare evaluation has no bound, and needs none
        assert row["status"] == "evaluated" or solution.gap <= 1e-6
        assert solution.objective == pytest.approx(float(row["objective"]), rel=float(row["tolerance"]))


def test_every_scenario_has_its_expected_answer():
    """No file of the library goes untested, and the package lists them all."""
    files = {path.stem for path in LIBRARY.glob("*.toml")}
    assert files == {row["scenario"] for row in EXPECTED} == set(scenarios.library())
    assert len(files) >= 60


@pytest.mark.parametrize("row", SINGLE, ids=label)
def test_scenario_gives_the_expected_answer(row: dict[str, str], monkeypatch: pytest.MonkeyPatch):
    """``dse solve`` on the file finds the optimum of the brute force, or the same conflicts, in few calls of solvers.

    Its time goes with calls, not with programs: what is independent has to go side by side.
    """
    calls, solve = [], gp.solve
    monkeypatch.setattr(gp, "solve", lambda *args, **options: calls.append(1) or solve(*args, **options))
    programs, run = [], highspy.Highs.run
    monkeypatch.setattr(highspy.Highs, "run", lambda h: programs.append(1) or run(h))
    check(dse.solve(LIBRARY / f"{row['scenario']}.toml"), row)
    # a limit within a share of its metric's best is a question of its own before
    text = (LIBRARY / f"{row['scenario']}.toml").read_text(encoding="utf-8")
    # and samples that may fail are left out one after the other, each step a call for all that may be next
    questions = 1 + text.count("{ within =") + 3 * text.count("probability =")
    assert len(calls) <= MOST_CALLS * questions
    assert len(programs) <= MOST_PROGRAMS * questions


@pytest.mark.parametrize("row", SWEPT, ids=label)
def test_sweep_gives_the_expected_answer_at_a_few_points(row: dict[str, str]):
    """A point of a swept scenario, or a world of an uncertain one, is answered as the brute force answers it."""
    place = tuple(map(int, row["point"].split()))
    check(answer(grid_of(row["scenario"]).question(place), neighbours=False), row)


@cache
def grid_of(name: str) -> Grid:
    """The grid of a ready scenario: its points in the table, some dozens, share it."""
    return scenarios.grid(decided_late(scenarios.load(LIBRARY / f"{name}.toml")))


@pytest.mark.parametrize("row", FRONTS, ids=label)
def test_points_of_a_front_are_as_expected(row: dict[str, str]):
    """Least energy, and least time within shares more than that: the bargains a front consists of."""
    source = reading.load(LIBRARY / f"{row['scenario']}.toml")
    share = float(row["point"])
    goal, (first, second, *_) = source["objective"], source["objective"]["minimize"]
    kept = {k: v for k, v in goal.items() if k == "measures"}
    if share == 0.0:
        source["objective"] = {**kept, "minimize": first}
        if kept:
            kept["measures"].pop(second)
    else:
        least = next(r for r in FRONTS if r["scenario"] == row["scenario"] and float(r["point"]) == 0.0)
        source["objective"] = {**kept, "minimize": second}
        budget = {first: {"max": float(least["objective"]) * (1 + share)}}
        source["limits"] = source.get("limits", {}) | budget
    check(dse.solve(source), row)


@pytest.mark.parametrize(
    "name", sorted({row["scenario"] for row in FRONTS} - {*EXACT, *ROBUST, *oracle_plans.FRONTS})
)
def test_front_holds_only_best_bargains(name: str):
    """At the energy of each point the brute force finds no shorter time; the ends are the extremes."""
    path = LIBRARY / f"{name}.toml"
    found = dse.front(path, points=6)
    source = {k: v for k, v in reading.load(path).items() if k != "objective"}
    energies, times = found["energy"].to_numpy(), found["time"].to_numpy()
    assert found.sizes["front"] == 6
    assert (energies[1:] > energies[:-1]).all()
    for energy, time in zip(energies[1:], times[1:], strict=True):
        asked = source | {"objective": {"minimize": "time"}, "limits": {"energy": {"max": float(energy)}}}
        assert brute_force.answer(reading.ask(asked)).objective == pytest.approx(time, rel=1e-6)
    least = brute_force.answer(reading.ask(source | {"objective": {"minimize": "energy"}})).objective
    fastest = brute_force.answer(reading.ask(source | {"objective": {"minimize": "time"}})).objective
    assert (energies[0], times[-1]) == pytest.approx((least, fastest), rel=1e-6)


@pytest.mark.parametrize("name", [name for name in EXACT if not name.endswith("divisible")])
def test_front_of_whole_things_holds_every_design_that_nothing_betters(name: str):
    """The engine's set of points is that of a full enumeration: none missing, none that another betters."""
    path = LIBRARY / f"{name}.toml"
    source = reading.load(path)
    expected = make_expected.LISTED[source["model"]].front(source)
    found = dse.front(path)
    assert found["energy"].to_numpy() == pytest.approx(expected[:, 0], rel=1e-9)
    assert found["time"].to_numpy() == pytest.approx(expected[:, 1], rel=1e-9)


@pytest.mark.parametrize("name", [n for n in ROBUST if not n.startswith("matmul")])
def test_front_of_measures_holds_every_design_that_nothing_betters(name: str):
    """Each design of a list judged in each world by another program."""
    source = reading.load(LIBRARY / f"{name}.toml")
    one, two = oracle_robust_fronts.listed_designs(name, source)
    expected = np.array(sorted(set(zip(one, two, strict=True))))
    kept = [i for i, x in enumerate(expected) if not (expected[:i, 1] <= x[1]).any()]
    found = dse.front(LIBRARY / f"{name}.toml")
    for k, goal in enumerate(source["objective"]["minimize"]):
        assert found[goal].to_numpy() == pytest.approx(expected[kept, k], rel=1e-9)


def test_no_design_of_a_grid_betters_a_front_of_measures():
    """Mean energy against a quantile of time: a grid of processors and memories, and the enclosure."""
    found = dse.front(LIBRARY / "matmul_mean_energy_or_sure_time_front.toml", points=4)
    p, share = (x.ravel() for x in np.meshgrid(np.geomspace(500, 65536, 60), np.linspace(0, 1, 60)))
    one, two = oracle_robust_fronts.multiplication(p, 35000.0**2 / p * p ** (share / 3))
    for a, b in zip(found["mean_energy"].to_numpy(), found["sure_time"].to_numpy(), strict=True):
        assert not ((one < a * (1 - 1e-7)) & (two < b * (1 - 1e-7))).any()
    at, low = found["enclosure_at"].to_numpy(), found["enclosure_lower"].to_numpy()
    for left, right, least in zip(at[:-1], at[1:], low[:-1], strict=True):
        within = two[one <= (left + right) / 2]
        assert right <= left or not within.size or least <= within.min() * (1 + 1e-7)


@pytest.mark.parametrize("name", sorted({row["scenario"] for row in PLACES}))
def test_fronts_over_axes_are_those_of_every_place(name: str):
    """At each place the designs of a full enumeration, and which of them those of other places better."""
    source = reading.load(LIBRARY / f"{name}.toml")
    found = dse.front(LIBRARY / f"{name}.toml")
    places = list(np.ndindex(found["status"].shape[:-1]))
    oracle = make_expected.LISTED[source["model"]]
    fronts = {place: oracle.front(oracle_listed.at_point(source, place)) for place in places}
    for place in places:
        mine = np.stack([found[goal].values[place] for goal in ("energy", "time")], axis=1)
        count = len(fronts[place])
        assert int(found["front_points"].values[place]) == count
        assert mine[:count] == pytest.approx(fronts[place], rel=1e-9)
        assert np.isnan(mine[count:]).all()
        others = np.concatenate([fronts[p] for p in places if p != place])
        beaten = [bool(((others <= x).all(1) & (others < x).any(1)).any()) for x in fronts[place]]
        assert found["dominated"].values[place].tolist() == [*beaten, *[0] * (len(mine) - count)]
        for row in (r for r in PLACES if r["scenario"] == name):
            *index, share = row["point"].split()
            if tuple(map(int, index)) == place:
                within = mine[:count][mine[:count, 0] <= mine[0, 0] * (1 + float(share) + 1e-12)]
                reached = within[:, 1].min() if row["goal"] == "time" else mine[0, 0]
                assert reached == pytest.approx(float(row["objective"]), rel=float(row["tolerance"]))


def test_front_of_divided_regions_is_exact_between_its_points_too():
    """The oracle's least time lies on the straight pieces, at their ends and inside them."""
    path = LIBRARY / "partition_energy_time_front_divisible.toml"
    source = reading.load(path)
    found = dse.front(path)
    energies, times = found["energy"].to_numpy(), found["time"].to_numpy()
    assert len(energies) >= 3
    assert (energies[1:] > energies[:-1]).all()

    def least(goal: str, **most: float) -> float:
        limits = {n: {"max": v} for n, v in most.items()}
        asked = {**source, "objective": {"minimize": goal}, "limits": limits}
        return make_expected.LISTED["partition"].answer(asked).objective

    assert least("energy") == pytest.approx(energies[0], rel=1e-9)
    assert least("time") == pytest.approx(times[-1], rel=1e-9)
    # the first point cannot be asked for by its energy: within rounding of the least no design may be left
    for i in range(1, len(energies)):
        for part in (0.25, 0.5, 1.0):
            energy, time = (v[i - 1] + part * (v[i] - v[i - 1]) for v in (energies, times))
            assert least("time", energy=float(energy)) == pytest.approx(time, rel=1e-8)


@pytest.mark.parametrize("goal", [{"maximize": "performance"}, {"minimize": "energy"}])
@pytest.mark.parametrize("limit", ["nameplate_power", "block_power"])
def test_the_oracle_of_blocks_fills_a_knapsack_as_it_counts(goal: dict[str, str], limit: str):
    """Its two searches, every vector of counts and branch and bound, agree where both can be done."""
    source = oracle_listed.at_point(reading.load(LIBRARY / "blocks_budget_sweep.toml"), (3,))
    source["machine"] = dict(list(source["machine"].items())[5:])
    source["given"] |= {"intensity": 3.0, "fixed_power": "40 W"}
    asked = oracle_blocks.read(source | {"objective": goal, "limits": {limit: {"max": "80 W"}}})
    counted, _ = oracle_blocks._counted(asked, oracle_blocks._most(asked))
    filled, _ = oracle_blocks._filled(asked)
    assert counted == pytest.approx(filled, rel=1e-12)


@pytest.mark.parametrize("goal", ["time", "energy"])
def test_the_oracle_of_partitions_solves_programs_as_it_enumerates(goal: str):
    """A linear program for each placement of whole regions gives what evaluating the placements gives."""
    source = reading.load(LIBRARY / "partition_twelve_regions_whole.toml")
    source["given"]["regions"] = source["given"]["regions"][:6]
    source |= {"objective": {"minimize": goal}, "limits": {"power": {"max": "90 W"}}}
    asked = oracle_partition.read(source)
    solved = [v for whole in oracle_partition._wholes(asked) for v in oracle_partition._divided(asked, whole)]
    assert oracle_partition.best(asked) == pytest.approx(min(solved), rel=1e-9)


def test_every_file_has_expected_answers_and_no_other_has():
    assert {row["scenario"] for row in EXPECTED} == {path.stem for path in LIBRARY.glob("*.toml")}


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(LIBRARY.glob("*.toml"))[::12], ids=lambda path: path.stem)
def test_expected_answers_are_those_of_the_brute_force_of_today(path: Path):
    """The table in the repository is what ``python tests/oracle/make_expected.py`` writes: of every twelfth file."""
    today = list(make_expected.rows(path))
    stored = [row for row in EXPECTED if row["scenario"] == path.stem]
    assert len(today) == len(stored)
    for now, then in zip(today, stored, strict=True):
        assert {k: now[k] for k in ("scenario", "point", "status", "goal", "conflicts", "how")} == {
            k: then[k] for k in ("scenario", "point", "status", "goal", "conflicts", "how")
        }
        if now["objective"]:
            assert float(now["objective"]) == pytest.approx(float(then["objective"]), rel=1e-9)
