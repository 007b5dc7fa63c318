"""The one search for minimal conflicts: against families of conflicts drawn by lot, of many points at once."""

from __future__ import annotations

import itertools
import tomllib
from typing import Any
from unittest import mock

import numpy as np
import pytest
from decoders import LLAMA_70B
from make_expected import LIBRARY

import dse
from dse.system.arrays import Bools, Indices
from results.dataset import STATUS_CODES
from results.solution import Status
from results.variables import CONFLICTING
from solvers.geometric.explaining import relaxed_limits
from solvers.geometric.programs import tree
from solvers.mechanisms import conflicts

Family = list[frozenset[int]]


def drawn(generator: np.random.Generator, names: int) -> Family:
    """The minimal ones of a few random sets of limits; perhaps none."""
    sets = [
        frozenset(np.flatnonzero(generator.random(names) < 0.3).tolist())
        for _ in range(int(generator.integers(0, 5)))
    ]
    return [s for s in dict.fromkeys(sets) if s and not any(o < s for o in sets if o)]


def oracle(families: list[Family], names: int) -> conflicts.Feasible:
    """A set holds together where it has no conflict of its point's family in it."""
    arrays = [np.array([[i in s for i in range(names)] for s in f]).reshape(-1, names) for f in families]

    def feasible(points: Indices, kept: Bools) -> Bools:
        return np.array(
            [not (arrays[p] <= row).all(1).any() for p, row in zip(points, kept, strict=True)], bool
        )

    return feasible


def by_size(family: Family) -> Family:
    return sorted(family, key=lambda s: (len(s), sorted(s)))


def told(found: conflicts.Minimal, point: int) -> Family:
    return [frozenset(np.flatnonzero(m).tolist()) for m in found.members[found.owner == point]]


@pytest.mark.parametrize("seed", range(4))
def test_all_sets_or_the_first_of_each_point(seed: int):
    generator, names = np.random.default_rng(seed), 7
    families = [drawn(generator, names) for _ in range(40)]
    ask = oracle(families, names)
    every = conflicts.minimal_conflicts(40, names, ask, every=True)
    first = conflicts.minimal_conflicts(40, names, ask, every=False)
    assert every.every.all()
    assert every.sure.all()
    for point, family in enumerate(families):
        assert told(every, point) == by_size(family)
        assert told(first, point) == by_size(family)[:1]


@pytest.mark.parametrize("seed", range(4))
def test_a_conflict_that_is_known_changes_nothing(seed: int):
    generator, names = np.random.default_rng(seed), 6
    families = [f for f in (drawn(generator, names) for _ in range(60)) if f]
    known = np.array([[i in f[-1] for i in range(names)] for f in families])
    # what is known need not be minimal
    known |= generator.random(known.shape) < 0.2
    ask = oracle(families, names)
    found = conflicts.minimal_conflicts(len(families), names, ask, every=False, within=known)
    for point, family in enumerate(families):
        assert told(found, point) == by_size(family)[:1]
        assert not found.every[point] or len(family) == 1


@pytest.mark.parametrize("seed", range(4))
def test_what_a_known_design_meets_is_not_asked(seed: int):
    """Designs change no set that is found; one that meets no limit tells nothing."""
    generator, names = np.random.default_rng(seed), 6
    families = [f for f in (drawn(generator, names) for _ in range(60)) if f]
    known = np.array([[i in f[-1] for i in range(names)] for f in families])
    # a design misses a limit of each conflict
    met = np.array([[all(i != min(s) for s in f) for i in range(names)] for f in families])
    met[::3] = False
    inner, asked = oracle(families, names), []

    def feasible(points: Indices, kept: Bools) -> Bools:
        asked.extend(zip(points, kept, strict=True))
        return inner(points, kept)

    for every in (False, True):
        found = conflicts.minimal_conflicts(
            len(families), names, feasible, every=every, within=known, met=[met]
        )
        for point, family in enumerate(families):
            assert told(found, point) == by_size(family)[: None if every else 1]
    assert asked
    assert not any(met[point].any() and not (kept & ~met[point]).any() for point, kept in asked)


@pytest.mark.parametrize("seed", range(4))
def test_of_many_limits_one_minimal_set_is_proved(seed: int):
    generator, names = np.random.default_rng(seed), 24
    families = [drawn(generator, names) for _ in range(30)]
    found = conflicts.minimal_conflicts(30, names, oracle(families, names), every=True)
    for point, family in enumerate(families):
        assert len(told(found, point)) == min(len(family), 1)
        assert set(told(found, point)) <= set(family)
    assert not found.every.any()


@pytest.mark.parametrize("with_known", [False, True])
def test_of_many_limits_the_first_of_the_smallest_sets_is_told(with_known: bool):
    """Also where another conflict is known beforehand, with no set asked in which that one is."""
    generator, names = np.random.default_rng(0), 24

    def family() -> Family:
        sets = {frozenset(generator.choice(names, size, replace=False).tolist()) for size in (1, 2, 2, 3, 4)}
        sets = set(list(sets)[: int(generator.integers(1, 5))])
        return [s for s in sets if not any(o < s for o in sets)]

    families = [family() for _ in range(30)]
    known = np.array([[i in by_size(f)[-1] for i in range(names)] for f in families])
    inner, asked = oracle(families, names), []

    def feasible(points: Indices, kept: Bools) -> Bools:
        asked.extend((kept >= known[points]).all(1))
        return inner(points, kept)

    within = known if with_known else None
    found = conflicts.minimal_conflicts(30, names, feasible, every=False, within=within)
    assert [told(found, point) for point in range(30)] == [by_size(f)[:1] for f in families]
    assert not (with_known and any(asked))


def test_where_many_limits_conflict_in_many_ways_one_minimal_set_is_told():
    """All sets of twelve of 24 limits: the search for the smallest gives way to one for any of them."""
    inner = oracle([[]], 24)

    def feasible(points: Indices, kept: Bools) -> Bools:
        return inner(points, kept) & (kept.sum(1) < 12)

    found = conflicts.minimal_conflicts(1, 24, feasible, every=False)
    assert told(found, 0) == [frozenset(range(12))]


def test_what_cannot_be_told_is_marked_and_never_counts_as_a_conflict():
    """The pair {0, 1} cannot be told, {0, 1, 2} conflicts: it is named, but that it is minimal is not sure."""

    def feasible(points: Indices, kept: Bools) -> conflicts.Codes:
        codes = np.where(kept[:, :3].all(1), conflicts.CANNOT_HOLD, conflicts.CAN_HOLD)
        pair = (kept[:, :2].all(1)) & ~kept[:, 2]
        return np.where(pair, conflicts.NOT_KNOWN, codes).astype(np.int8)

    found = conflicts.minimal_conflicts(1, 4, feasible, every=True)
    assert told(found, 0) == [frozenset({0, 1, 2})]
    assert not found.sure[0]
    assert list(found.certain("abcd")) == []


def test_rows_of_one_call_are_few():
    """One conflict among ten limits is proved by the all-but-one sets and one more call."""
    calls = []
    inner = oracle([[frozenset({2, 5})]], 10)

    def feasible(points: Indices, kept: Bools) -> Bools:
        calls.append(len(kept))
        return inner(points, kept)

    assert told(conflicts.minimal_conflicts(1, 10, feasible, every=True), 0) == [frozenset({2, 5})]
    assert calls == [10, 1]


def test_sets_come_by_size_and_then_in_the_order_of_the_limits():
    family = [frozenset(s) for s in itertools.combinations(range(5), 3)]
    found = conflicts.minimal_conflicts(1, 5, oracle([family], 5), every=True)
    assert told(found, 0) == by_size(family)


@pytest.mark.parametrize("regions", [3, 11])
def test_an_answer_says_whether_every_conflict_is_named(regions: int):
    """A limit on the time and one on the energy, each out of reach, among few limits and among many."""
    own = {f"share.{i}.gpu": {"max": 1.0} for i in range(1, regions + 1)}
    asked = {
        "model": "partition",
        "machine": {"cpu": "i3-2100t-tang2017", "gpu": "gtx-750-tang2017"},
        "given": {"regions": [{"flops": 2e10, "bytes": 4e9}] * regions},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": 1e-3}, "energy": {"max": 1e-3}, **own},
    }
    solution = dse.solve(asked)
    assert solution.status == "infeasible"
    if regions == 3:
        assert set(solution.conflicts) == {("time",), ("energy",)}
        assert "every minimal conflict is named" in solution.certificate
    else:
        # the one has no feasible value, because of the other
        assert set(solution.conflicts) == {("time",), ("energy",)}
        assert "2 minimal conflicts are named of perhaps several" in solution.certificate


def test_of_many_limits_what_is_in_the_way_of_one_is_told():
    loose = {n: {"max": 1e30} for n in ("flops", "words", "messages", "energy_delay", "message_share")}
    loose["power_per_processor"] = {"max": 1e9}
    asked = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "decide": {"processors": {"max": 4096}, "memory": {}},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": "1 ns"}, "energy": {"max": "1 uJ"}, "power": {"max": "1 GW"}, **loose},
    }
    told_of = str(dse.solve(asked))
    assert "energy   no value of it alone: time and power also conflict (asked: ≤ 1 µJ)" in told_of


def test_a_value_at_a_border_where_designs_degenerate_is_settled_in_a_few_hundred_nodes():
    """Where all designs degenerate to one, a gap of 3e-6 is left however long the ratio is searched as it stands.

    What divides without a remainder is taken out of the ratio, which closes the gap.
    """
    asked = {
        "model": "nbody",
        "machine": "jaketown",
        "given": {"bodies": 1e5, "flops_per_pair": 10},
        "decide": {"processors": {"max": 4096}, "memory": {}},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": "0.1 ms"}, "power": {"max": 378040.898 * (1 - 1e-5)}},
    }
    with mock.patch.object(tree, "_relaxations", side_effect=tree._relaxations) as relaxed:
        solution = dse.solve(asked)
    assert sum(call.args[1].point.size for call in relaxed.call_args_list) < 2000
    assert solution.conflicts == (("time", "power", "replication"),)
    assert solution.conflict["replication"] == pytest.approx(1.28812, rel=1e-5)
    assert "ended early" not in solution.certificate


def test_a_value_that_no_search_settles_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch):
    search, gap = relaxed_limits.branch.search, relaxed_limits.FEASIBLE_VALUE_GAP

    def in_few_nodes(*values: Any, **named: Any) -> Any:
        return search(*values, **{**named, **({"most": 40} if named.get("gap") == gap else {})})

    monkeypatch.setattr(relaxed_limits.branch, "search", in_few_nodes)
    solution = dse.solve(
        {
            "model": "nbody",
            "machine": "jaketown",
            "given": {"bodies": 1e5, "flops_per_pair": 10},
            "decide": {"processors": {"max": 4096}, "memory": {}},
            "objective": {"minimize": "energy"},
            "limits": {"time": {"max": "0.1 ms"}, "power": {"max": 378040.898 * (1 - 1e-5)}},
        }
    )
    assert "whose search ended early, a smaller change may do" in solution.certificate


def station(**limits: Any) -> dict[str, Any]:
    """How a station of 10 kW is filled with racks of small processors, which have no second cache."""
    file = LIBRARY / "hardware_power_for_processors.toml"
    source = tomllib.loads(file.read_text(encoding="utf-8"))
    racks = {"machine.count.rack": {"max": 1e6, "integer": True}}
    return {**source, "machine": "platform-cortex-a8", "decide": racks, "limits": limits}


def test_that_what_is_counted_is_whole_is_nobodys_limit():
    """No whole number of racks has both powers, 756.0007 would: the limit of a million racks is no part of it."""
    found = dse.solve(station(**{"power": {"max": 1e4}, "power_added.socket": {"min": 7.617954729416796}}))
    assert found.status == "infeasible"
    assert found.conflicts == (("power", "power_added.socket"),)
    assert found.conflict["power"] == pytest.approx(10012.20193172629)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        # in plain floats
        ("platforms_repair_sweep", "cpi.l1data"),
        # in affine forms: no time to switch, no link
        ("dvfs_deadline", "energy_switching"),
        ("partition_cheapest_run", "link_time"),
        # of a table
        ("partition_twelve_regions_whole", "link_time"),
    ],
)
def test_a_lower_limit_on_what_is_0_is_a_conflict(name: str, limit: str):
    """The bound was divided by what the machine does not have, or what takes no time."""
    source = tomllib.loads((LIBRARY / f"{name}.toml").read_text(encoding="utf-8"))
    if name == "platforms_repair_sweep":
        source = {k: v for k, v in source.items() if k != "sweep"} | {"machine": "platform-gpu"}
        source["decide"] = {"machine.count.rack": {"max": 2e5, "integer": True}}
    asked = {**source, "limits": {limit: {"min": 0.022}}}
    found = dse.solve(asked)
    assert found.status == "infeasible", found.message
    assert found.conflicts == ((limit,),)
    assert not found.conflict[limit]
    axes = {"most": {"path": "limits.time.max", "values": [1e3, 1e6]}}
    both = {limit: {"min": 0.022}, "time": {"max": 1e3}}
    swept = dse.sweep({**asked, "limits": both, "sweep": axes}, progress=False)
    assert (swept.status == STATUS_CODES[Status.INFEASIBLE]).all()
    named = swept.limit.values[(swept.binding == CONFLICTING).all("most")]
    assert named.tolist() == [limit]


def test_what_is_below_0_does_not_meet_a_lower_limit():
    """A model's own saving may be a loss: its inverse was below that of the limit, which was told to hold."""
    source = tomllib.loads((LIBRARY / "dvfs_period_sweep.toml").read_text(encoding="utf-8"))
    asked = {k: v for k, v in source.items() if k != "sweep"} | {"limits": {"race_saving": {"min": 0.37}}}
    asked["given"] = {**source["given"], "period": 10.0, "setting.tree": 5.0}
    found = dse.solve(asked)
    assert found.status == "infeasible"
    would = found.conflict["race_saving"]
    assert would is not None
    again = dse.solve(asked | {"limits": {"race_saving": {"min": would}}})
    assert again.metrics["race_saving"] == pytest.approx(would)
    least = {"least": {"path": "limits.race_saving.min", "values": [would, 0.37]}}
    swept = dse.sweep(asked | {"sweep": least}, progress=False)
    assert swept.status.values.tolist() == [STATUS_CODES[s] for s in (Status.OPTIMAL, Status.INFEASIBLE)]


def test_limits_on_one_number_from_both_sides_are_the_conflict_whatever_a_search_finds():
    """Efficiency is work over energy; no search told which limits exclude each other, and nothing was said of that."""
    decided = ("energy_per_flop", "memory_power_per_word", "time_per_flop")
    source: dict[str, Any] = {
        "model": "matmul",
        "machine": "jaketown-printed",
        "waive": ["replication"],
        "given": {"order": 35000, "processors": 2, "memory": 1837500000},
        "decide": {f"machine.{name}": {"max_halvings": 12} for name in decided},
        "objective": {"minimize": "halvings"},
        "limits": {"efficiency": {"min": "77 GFLOPS/W"}, "energy": {"min": "1715 J"}},
    }
    found = dse.solve(source)
    assert found.status is Status.INFEASIBLE
    assert found.conflicts == (("efficiency", "energy"),)
    # 2 n^3 flops with 77 GFLOPS/W need 1113.6 J at most
    work = 2.0 * 35000.0**3
    assert found.conflict["energy"] <= work / 77e9
    energies = {"e": {"path": "limits.energy.min", "values": [1000, work / 77e9 * 1.001]}}
    swept = dse.sweep(dse.load(source | {"sweep": energies}), progress=False)
    assert list(swept["limit"][swept["binding"][1] == CONFLICTING].values) == ["efficiency", "energy"]


def test_sets_of_limits_of_few_designs_are_told_by_the_structure_that_they_leave():
    """The least energy leaves 9.5 J of 50: four sets with ``rest`` and another limit were told, and not ``rest``."""
    source: dict[str, Any] = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 100000, "flops_per_pair": 10},
        "decide": {
            "processors": {"max": 4096, "powers_of": 2},
            "memory": {"values": ["1 kword", "2 kword", "4 kword"]},
        },
        "define": {"rest": "50 J - energy"},
        "objective": {"minimize": "time"},
        "limits": {"rest": {"min": "12 J"}, "power": {"max": "900 W"}},
    }
    found = dse.solve(source)
    assert found.conflicts == (("rest",),)
    alone = {"limits": {}, "decide": {"processors": {}, "memory": {}}, "objective": {"minimize": "energy"}}
    least = dse.solve(source | alone | {"define": {}}).objective
    assert least is not None
    # the other limits stay: processors and memory of the lists, and the power
    assert 0.0 < found.conflict["rest"] <= 50.0 - least


def test_a_list_that_divides_nothing_is_a_limit_beside_rules_of_divisors():
    """Batches between the powers of two reach this energy times time; only numbers of parts have to divide."""
    source = {
        "model": "transformer_inference",
        "machine": {"base": "h100-sxm-bf16", "launch_time": "4.66 us"},
        "given": {
            **LLAMA_70B,
            "prompt": 2000,
            "output": 500,
            "tensor_parallel": 8,
        },
        "decide": {"batch": {"powers_of": 2, "max": 393}},
        "limits": {"energy_delay": {"min": 413.97e6, "max": 592.63e6}},
        "objective": {"minimize": "energy_data"},
    }
    found = dse.solve(dse.load(source))
    assert found.conflicts == (("energy_delay", "batch"),)
    free = dse.solve(dse.load(source | {"decide": {"batch": {"max": 393}}}))
    assert free.status.value == "optimal"
    assert 64 < float(free.variables["batch"]) < 128
