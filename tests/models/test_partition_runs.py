"""Partitions with links of pairs, an order, processors that are off, and periods: simulated, enumerated, and proved."""

from __future__ import annotations

import copy
import random
from typing import Any

import oracle_schedules
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_schedules import Asked, Link

import dse
import scenarios
from dse import models
from dse.models.shared.structure import Parts, Row
from dse.quantities import registry
from formulations.arithmetics.forms import Largest
from formulations.problem import formulate
from formulations.pyomo_models.program_model import labels, pyomo_program
from solvers.linear import programs

NAMES = ("time_per_flop", "time_per_byte", "energy_per_flop", "energy_per_byte", "constant_power")
TRIO = ("cpu", "gpu", "npu")
PAIRS = ((0, 1), (0, 2), (1, 2))
ASKED = dict.fromkeys(("order", "unused", "period"))
CATALOGUE = ("i7-2600k-tang2017", "gtx-750-tang2017", "gtx-titan-tang2017")
amount = st.floats(0.1, 10.0)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Asked, tuple[int, ...]]:
    """Four whole regions on three processors, data that pass between them, links of some pairs, and the rest."""
    shared = ("", Link(draw(amount), draw(st.sampled_from([0.0, 0.5])), draw(amount)))
    own = {p: (f"l{k}", Link(draw(amount), draw(amount), draw(amount))) for k, p in enumerate(PAIRS)}
    some = draw(st.sets(st.sampled_from(PAIRS)))
    transfers = draw(st.lists(st.sampled_from([(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]), unique=True))
    ordered = draw(st.booleans())
    asked = Asked(
        tuple(tuple(draw(amount) for _ in NAMES) for _ in TRIO),
        tuple(draw(amount) for _ in TRIO),
        tuple((f"r{i}", draw(amount), draw(amount), False) for i in range(4)),
        tuple((a, b, draw(st.sampled_from([0.0, 1.0, 3.0]))) for a, b in transfers),
        {frozenset(p): own[p] if p in some else shared for p in PAIRS},
        ordered,
        not ordered and draw(st.booleans()),
        draw(st.booleans()),
        draw(st.sampled_from([0.0, 500.0])),
        {},
        "time",
    )
    return asked, tuple(draw(st.integers(0, 2)) for _ in range(4))


def modelled(asked: Asked, at: tuple[int, ...]) -> dict[str, Any]:
    """The same design by the model."""
    named = {name: link for _, (name, link) in sorted(asked.links.items(), key=lambda x: x[1][0])}
    shared = named.pop("", Link())
    ends = {name: sorted(pair) for pair, (name, _) in asked.links.items() if name}
    parts = Parts(
        {
            "regions": tuple(Row(r[0], {"divisible": False}) for r in asked.regions),
            "transfers": tuple(
                Row(f"t{i}", refers={"from": f"r{a}", "to": f"r{b}"})
                for i, (a, b, _) in enumerate(asked.transfers)
            ),
            "links": tuple(
                Row(name, refers={"from": TRIO[pair[1]], "to": TRIO[pair[0]]}) for name, pair in ends.items()
            ),
        },
        TRIO,
        asked=ASKED,
    )
    model = models.get("partition").expand(parts)  # type: ignore[misc]
    x: dict[str, Any] = {
        "execution": "CP",
        "order": "listed" if asked.ordered else "free",
        "link_overlap": "serial" if asked.serial else "overlapped",
        "unused": "off" if asked.off else "on",
        "link_bandwidth": shared.bandwidth,
        "link_latency": shared.latency,
        "link_energy_per_byte": shared.energy,
    }
    x |= {"period": asked.period} if asked.period else {}
    for p, costs, idle in zip(TRIO, asked.machines, asked.idle, strict=True):
        x |= {f"machine.{p}.{n}": c for n, c in zip(NAMES, costs, strict=True)} | {
            f"machine.{p}.idle_power": idle
        }
    for (name, flops, data, _), place in zip(asked.regions, at, strict=True):
        x |= {f"regions.{name}.flops": flops, f"regions.{name}.bytes": data}
        x |= {f"share.{name}.{p}": float(place == k) for k, p in enumerate(TRIO[:-1])}
    x |= {f"transfers.t{i}.bytes": d for i, (*_, d) in enumerate(asked.transfers)}
    for name in ends:
        link = named[name]
        x |= {f"links.{name}.bandwidth": link.bandwidth, f"links.{name}.latency": link.latency}
        x[f"links.{name}.energy_per_byte"] = link.energy
    found = dict(models.evaluate(model, x))
    told = {q.name for q in model.metrics} | {y.name for y in model.limits} - {"whole"}
    assert told - found.keys() <= ({"energy_idle", "in_period"} if not asked.period else set())
    return found


@settings(max_examples=60, deadline=None)
@given(world=worlds())
def test_a_design_comes_out_as_simulated(world: tuple[Asked, tuple[int, ...]]):
    asked, at = world
    found, wanted = modelled(asked, at), oracle_schedules.evaluated(asked, at)
    for name, value in wanted.items():
        assert found[name] == pytest.approx(value, rel=1e-9), name
    assert max(found[f"end.{r[0]}"] for r in asked.regions) == pytest.approx(found["time"])
    if asked.period:
        assert found["in_period"] == pytest.approx(wanted["time"] / asked.period)


def test_links_and_periods_are_proven_by_their_units():
    units = registry()
    rows = {
        "regions": (Row("a", {"divisible": False}), Row("b", {"divisible": False})),
        "transfers": (Row("t", refers={"from": "a", "to": "b"}),),
        "links": (Row("l", refers={"from": "cpu", "to": "gpu"}),),
    }
    model = models.get("partition").expand(Parts(rows, ("cpu", "gpu"), asked=ASKED))  # type: ignore[misc]
    of = model.parameters()
    chosen: dict[str, Any] = {
        "execution": "CP",
        "order": "listed",
        "unused": "off",
        "link_overlap": "overlapped",
    }
    shares = {n: float(n == "share.a.cpu") for n in of if "share" in n}
    x = {n: 1.0 + i / 7 for i, n in enumerate(of) if n not in {*chosen, *shares}} | {"period": 1e3}
    dressed = {n: units.Quantity(v, of[n].unit) for n, v in x.items()}
    found = models.evaluate(model, dressed | shares | chosen, flop=units.Quantity(1.0, "flop"))
    wanted = models.evaluate(model, x | shares | chosen)
    for q in model.metrics:
        value = units.Quantity(1.0, "") * found[q.name]
        assert value.m_as(q.unit) == pytest.approx(wanted[q.name], rel=1e-12), q.name


def question(seed: int, **more: Any) -> dict[str, Any]:
    """Four regions on processors of the paper, by chance."""
    draw = random.Random(seed)
    regions = [
        {
            "name": f"r{i}",
            "flops": f"{draw.randint(1, 400)} Gflop",
            "bytes": f"{draw.randint(2, 30)} GB",
            "divisible": False,
        }
        for i in range(4)
    ]
    found: dict[str, Any] = {
        "model": "partition",
        "machine": dict(zip(TRIO, CATALOGUE, strict=True)),
        "given": {"regions": regions, **more.pop("given", {})},
        "objective": {"minimize": "energy"},
        **more,
    }
    if found["given"].get("transfers") == []:
        found["given"]["transfers"] = [
            {"from": f"r{a}", "to": f"r{b}", "bytes": f"{draw.randint(0, 3)} GB"}
            for a, b in ((0, 1), (0, 2), (1, 3), (2, 3))
        ]
    return found


LINKS = [{"name": "peer", "from": "gpu", "to": "npu", "bandwidth": "25 GB/s", "latency": "5 us"}]
SHARED = {"link_bandwidth": "6 GB/s", "link_latency": "10 us", "link_energy_per_byte": "60 pJ/byte"}
WHOLE = {
    "links": question(1, given={"transfers": [], "links": LINKS, **SHARED}, objective={"minimize": "time"}),
    "order": question(
        2, given={"transfers": [], "order": "listed", **SHARED}, objective={"minimize": "time"}
    ),
    "order and off": question(3, given={"transfers": [], "order": "listed", "unused": "off", **SHARED}),
    "off within power": question(4, given={"unused": "off"}, limits={"power": {"max": "120 W"}}),
    "off and period": question(
        5, given={"unused": "off", "period": "2 s"}, limits={"power": {"max": "150 W"}}
    ),
}


def within_power() -> dict[str, Any]:
    """Three regions in order on two processors: average power profits from a longer time, through many maxima."""
    found = question(
        10, given={"transfers": [], "order": "listed", **SHARED}, limits={"power": {"max": "150 W"}}
    )
    del found["machine"]["cpu"], found["given"]["regions"][3], found["given"]["transfers"][2:]
    return found


def test_many_maxima_of_which_each_must_be_one_of_its_terms_are_one_program():
    source = within_power()
    problem = formulate(scenarios.grid(dse.load(source)).question(()))
    assert problem.program is not None
    assert any(isinstance(c, Largest) for c in problem.program.columns)
    found = programs.optimise(problem.program).outcome
    wanted = oracle_schedules.answer(copy.deepcopy(source)).objective
    assert found.status == "optimal"
    assert found.bound == pytest.approx(wanted, rel=1e-6)
    assert found.x is not None
    at = [
        int(next(k for k, p in enumerate(("gpu", "npu")) if found.x.get(f"share.r{i}.{p}", 1.0) > 0.5))
        for i in range(3)
    ]
    assert oracle_schedules.evaluated(oracle_schedules.read(source), at)["energy"] == pytest.approx(wanted)
    assert len(set(labels(problem.program))) == len(problem.program.columns)
    assert sum("is its term" in name for name in labels(problem.program)) > 1
    assert isinstance(pyomo_program(problem.program), pyo.ConcreteModel)


@pytest.mark.parametrize("case", WHOLE)
def test_the_mixed_integer_program_finds_what_enumeration_finds(case: str):
    """Questions of so few designs would be enumerated by us as well: the program is asked itself."""
    source = WHOLE[case]
    wanted = oracle_schedules.answer(copy.deepcopy(source))
    (asked,) = [formulate(scenarios.grid(dse.load(source)).question(()))]
    assert asked.program is not None
    found = programs.optimise(asked.program).outcome
    assert found.status == "optimal"
    assert found.bound == pytest.approx(wanted.objective, rel=1e-6)
    assert dse.solve(source).objective == pytest.approx(wanted.objective, rel=1e-9)


@pytest.mark.parametrize(
    ("given_", "limits"),
    [
        ({"unused": "off"}, {"power": {"max": "100 W"}}),
        ({"unused": "off", "period": "3 s"}, {}),
        ({"period": "1.5 s"}, {"power": {"max": "120 W"}}),
    ],
)
def test_regions_that_are_divided_are_placed_as_linear_programs_say(given_: dict[str, Any], limits: Any):
    source = question(6, given=given_, limits=limits)
    del source["machine"]["cpu"]
    source["machine"]["npu"] = {"base": source["machine"]["npu"], "idle_power": "9 W"}
    for region in source["given"]["regions"][1:3]:
        del region["divisible"]
    found, wanted = dse.solve(source), oracle_schedules.answer(copy.deepcopy(source))
    assert found.status == "optimal"
    assert found.objective == pytest.approx(wanted.objective, rel=1e-6)


def test_a_divided_region_and_one_after_it():
    """The first is divided so that both processors end at once, and the second runs on the faster one."""
    costs = {"energy_per_flop": 0.0, "time_per_byte": 0.0, "energy_per_byte": 0.0, "constant_power": 1.0}
    source = {
        "model": "partition",
        "machine": {"slow": {"time_per_flop": 2e-9, **costs}, "fast": {"time_per_flop": 1e-9, **costs}},
        "given": {
            "order": "listed",
            "regions": [
                {"name": "a", "flops": 3e9, "bytes": 0},
                {"name": "b", "flops": 1e9, "bytes": 0, "divisible": False},
            ],
            "transfers": [{"from": "a", "to": "b", "bytes": 0}],
        },
        "objective": {"minimize": "time"},
    }
    found = dse.solve(source)
    assert found.status == "optimal"
    # 3e9 flops at 0.5 and 1 Gflop/s together, then 1e9 at 1
    assert found.objective == pytest.approx(3.0, rel=1e-9)
    assert found.variables["share.a.slow"] == pytest.approx(1 / 3, rel=1e-6)
    assert found.metrics["end.a"] == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"links": [{"from": "cpu", "to": "gpu"}, {"from": "gpu", "to": "cpu"}]}, "both join cpu and gpu"),
        ({"links": [{"from": "cpu", "to": "cpu"}]}, "name two different processors"),
        ({"links": [{"from": "cpu", "to": "gpus"}]}, "did you mean 'gpu'"),
        ({"order": "listed", "link_overlap": "serial"}, "link_overlap is not used with order"),
        ({"order": "listed", "transfers": [{"from": "r2", "to": "r1", "bytes": 0}]}, "stands before it"),
        ({"order": "last"}, "there are: free, listed"),
        ({"unused": "maybe"}, "there are: on, off"),
    ],
)
def test_what_cannot_be_is_said_in_one_message(change: dict[str, Any], said: str):
    with pytest.raises(scenarios.ScenarioError, match=said) as error:
        dse.load(question(7, given=change))
    assert len(error.value.problems) == 1


def test_divided_regions_have_no_way_among_several_links():
    source = question(8, given={"links": LINKS, "transfers": []})
    for region in source["given"]["regions"]:
        del region["divisible"]
    with pytest.raises(scenarios.ScenarioError, match="write divisible = false for one of them"):
        dse.load(source)


def test_work_that_does_not_fit_its_period_is_infeasible():
    found = dse.solve(question(9, given={"period": "1 ms"}))
    assert found.status == "infeasible"
    assert found.conflicts == (("in_period",),)
