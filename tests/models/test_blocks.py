"""Systems of blocks against a second derivation, the paper's prose, full enumeration, and their units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from dse import machines, models
from dse.models.model import Model
from dse.models.platforms import roofline_levels
from dse.models.platforms.blocks import BLOCKS
from dse.models.shared.structure import Parts
from dse.quantities import registry

PLATFORMS = [n.removesuffix("-choi2014") for n in machines.names() if n.endswith("-choi2014")]
FIVE = ["gtx-titan", "gtx680", "xeon-phi", "arndale-gpu", "nuc-gpu"]
CLOSE = 1e-12
# what the cases' answers are printed to
CASE = 1e-6


def parameters(platform: str) -> dict[str, float]:
    return dict(machines.get(f"{platform}-choi2014").parameters)


def expanded(blocks: Sequence[str]) -> Model:
    assert BLOCKS.expand is not None
    return BLOCKS.expand(Parts(machines=tuple(blocks)))


def run(machine: Mapping[str, Mapping[str, float]], **given_: Any) -> dict[str, Any]:
    """All metrics of a system: ``count`` and the like by kind of block, the rest as it stands."""
    own = {f"machine.{b}.{k}": v for b, ps in machine.items() for k, v in ps.items()}
    inputs: dict[str, Any] = {
        "flops": 1e12,
        "precision": "single",
        "sharing": "proportional",
        "fixed_power": 0.0,
        "throttle": 1.0,
    }
    for name, value in given_.items():
        each = {f"{name}.{b}": v for b, v in value.items()} if isinstance(value, dict) else {name: value}
        inputs |= each
    return dict(models.evaluate(expanded(list(machine)), own | inputs))


def by_hand(m: Mapping[str, float], intensity: float, throttle: float = 1.0) -> tuple[float, float, float]:
    """Speed, dynamic power and nameplate of one block, straight from Choi 2014 (3), (1) per flop."""
    tau = [m["time_per_flop"], m["time_per_byte"] / intensity]
    epsilon = m["energy_per_flop"] + m["energy_per_byte"] / intensity
    usable = m["usable_power"] / throttle
    speed = 1.0 / max(*tau, epsilon / usable)
    return speed, epsilon * speed, m["constant_power"] + usable


counts = st.dictionaries(st.sampled_from(PLATFORMS), st.integers(1, 9), min_size=1, max_size=4)


@settings(max_examples=30, deadline=None)
@given(
    n=counts, intensity=st.floats(0.01, 1e3), k=st.floats(1.0, 9.0), p0=st.floats(0.0, 500.0), data=st.data()
)
def test_a_second_derivation_gives_the_same(
    n: dict[str, int], intensity: float, k: float, p0: float, data: st.DataObject
):
    """Work in proportion to speed: every block gets W R_b/ΣR, ends at the same time, and costs its own energy."""
    system = {b: parameters(b) for b in n}
    own = data.draw(st.dictionaries(st.sampled_from(list(n)), st.floats(1.0, 9.0)))
    found = run(system, flops=3e14, intensity=intensity, count=n, throttle=k, fixed_power=p0)
    hand = {b: by_hand(m, intensity, k) for b, m in system.items()}
    whole = sum(n[b] * hand[b][0] for b in n)
    time = 3e14 / whole
    energy = p0 * time
    for b, m in system.items():
        share = 3e14 * hand[b][0] / whole
        assert share / hand[b][0] == pytest.approx(time, rel=CLOSE)
        spent = share * (m["energy_per_flop"] + m["energy_per_byte"] / intensity)
        energy += n[b] * (spent + m["constant_power"] * time)
        assert found[f"performance.{b}"] == pytest.approx(n[b] * hand[b][0], rel=CLOSE)
        assert found[f"power.{b}"] == pytest.approx(n[b] * (hand[b][1] + m["constant_power"]), rel=CLOSE)
    wanted = {
        "time": time,
        "energy": energy,
        "power": energy / time,
        "performance": whole,
        "efficiency": 3e14 / energy,
        "energy_delay": energy * time,
        "bandwidth": whole / intensity,
        "block_power": energy / time - p0,
        "nameplate_power": sum(n[b] * hand[b][2] for b in n),
        "blocks": sum(n.values()),
        "block_types": len(n),
    }
    for name, value in wanted.items():
        assert found[name] == pytest.approx(value, rel=1e-11), name
    mixed = run(
        system, intensity=intensity, count=n, throttle=k, **{f"throttle.{b}": v for b, v in own.items()}
    )
    plates = 0.0
    for b, many in n.items():
        speed, dynamic, nameplate = by_hand(system[b], intensity, own.get(b, k))
        assert mixed[f"performance.{b}"] == pytest.approx(many * speed, rel=CLOSE)
        assert mixed[f"power.{b}"] == pytest.approx(many * (dynamic + system[b]["constant_power"]), rel=CLOSE)
        plates += many * nameplate
    assert mixed["nameplate_power"] == pytest.approx(plates, rel=CLOSE)


@settings(max_examples=20, deadline=None)
@given(n=counts, intensity=st.floats(0.01, 1e3), share=st.floats(0.01, 1.0))
def test_under_free_sharing_blocks_that_are_on_draw_their_constant_power(
    n: dict[str, int], intensity: float, share: float
):
    """Slowed down, a block spends the same per flop and draws π1 for longer."""
    system = {b: parameters(b) for b in n}
    first = next(iter(n))
    busy = {b: n[b] * (share if b == first else 1.0) for b in n}
    found = run(system, intensity=intensity, count=n, busy=busy, sharing="free", fixed_power=10.0)
    hand = {b: by_hand(m, intensity) for b, m in system.items()}
    whole = sum(busy[b] * hand[b][0] for b in n)
    watts = sum(n[b] * system[b]["constant_power"] + busy[b] * hand[b][1] for b in n)
    assert found["performance"] == pytest.approx(whole, rel=CLOSE)
    assert found["energy"] == pytest.approx((watts + 10.0) * 1e12 / whole, rel=CLOSE)
    assert found["block_power"] == pytest.approx(watts, rel=CLOSE)
    assert all(found[f"speed.{b}"] <= 1.0 for b in n)
    at_full = run(system, intensity=intensity, count=n, busy=n, sharing="free", fixed_power=10.0)
    proportional = run(system, intensity=intensity, count=n, fixed_power=10.0)
    assert {k: at_full[k] for k in proportional} == proportional
    beyond = run(system, intensity=intensity, count=n, busy={b: n[b] + 0.5 for b in n}, sharing="free")
    assert all(beyond[f"speed.{b}"] == 1.5 for b in n)


@settings(max_examples=20, deadline=None)
@given(
    platform=st.sampled_from(PLATFORMS),
    n=st.integers(1, 40),
    intensity=st.floats(0.05, 500.0),
    spare=st.floats(0.01, 2.0),
)
def test_lowering_the_usable_power_is_free_sharing_under_a_limit(
    platform: str, n: int, intensity: float, spare: float
):
    """Each of n equal blocks at Δπ' = min(Δπ, P/n - π1), against the largest u <= n with n π1 + u D <= P."""
    m = parameters(platform)
    limit = n * (m["constant_power"] + spare * m["usable_power"])
    lowered = min(m["usable_power"], limit / n - m["constant_power"])
    throttled = run({"b": m}, intensity=intensity, count={"b": n}, throttle=m["usable_power"] / lowered)
    own = run({"b": m}, intensity=intensity, count={"b": 1})
    dynamic = own["block_power"] - m["constant_power"]
    u = min(n, (limit - n * m["constant_power"]) / dynamic)
    free = run({"b": m}, intensity=intensity, count={"b": n}, busy={"b": u}, sharing="free")
    for name in ("performance", "power", "energy"):
        assert free[name] == pytest.approx(throttled[name], rel=1e-9), name


def test_bytes_alone_are_work_too():
    """Streaming has no flops: speeds are those of the bytes, under either sharing."""
    system = {b: parameters(b) for b in ("gtx-titan", "xeon-phi")}
    n = {"gtx-titan": 2, "xeon-phi": 1}
    found = run(system, flops=0.0, bytes=1e12, count=n)
    whole = 2 * 239e9 + 181e9
    assert found["bandwidth"] == pytest.approx(whole, rel=CLOSE)
    assert found["time"] == pytest.approx(1e12 / whole, rel=CLOSE)
    assert found["performance"] == 0.0
    assert run(system, flops=0.0, bytes=1e12, count=n, busy=n, sharing="free")["time"] == found["time"]


def test_double_precision_needs_and_uses_its_own_costs():
    plain = expanded(["a", "b"])
    assert plain.needs is not None
    assert set(plain.needs({"precision": "double"})) == {
        f"{b}.{k}"
        for b in "ab"
        for k in ("time_per_flop_double", "energy_per_flop_double", "time_per_byte", "energy_per_byte")
    }
    found = run({"a": parameters("xeon-phi")}, intensity=1e6, precision="double", count={"a": 3})
    assert found["performance"] == pytest.approx(3 * 1.01e12, rel=1e-9)


def test_a_block_may_state_costs_of_levels_that_the_question_has_no_use_for():
    costs = {
        "time_per_flop": 1e-11,
        "energy_per_flop": 1e-11,
        "time_per_byte": 1e-10,
        "energy_per_byte": 1e-10,
    }
    more = {
        "time_per_byte_L2": 1e-11,
        "energy_per_byte_L2": 1e-11,
        "time_per_access": 1e-9,
        "energy_per_access": 1e-9,
    }
    given_ = {"flops": 1e12, "bytes": 1e11, "count.a": 2}
    plain, stated = (
        dse.solve({"model": "blocks", "machine": {"a": costs | own | {"constant_power": 3}}, "given": given_})
        for own in ({}, more)
    )
    assert stated.metrics == plain.metrics
    listed = {q.name for q in BLOCKS.machine}
    assert {n for level in roofline_levels.DATA.values() for n in level} <= listed


def test_without_a_usable_power_the_nameplate_is_what_full_speed_draws():
    m = {k: v for k, v in parameters("gtx-titan").items() if k != "usable_power"}
    found = run({"a": m}, intensity=4.0, count={"a": 2})
    peak = 123.0 + 30.4e-12 * 4.02e12 + 267e-12 * 239e9
    assert found["nameplate_power"] == pytest.approx(2 * peak, rel=1e-9)
    assert run({"a": m}, intensity=4.0, count={"a": 2}, throttle=8.0) == found


def test_a_system_without_blocks_never_ends_and_breaks_a_limit():
    found = run({"a": parameters("gtx-titan")}, intensity=4.0, count={"a": 0}, fixed_power=10.0)
    assert found["time"] == found["energy"] == math.inf
    assert found["any_block"] > 1.0
    assert found["blocks"] == found["block_types"] == 0.0
    assert found["power"] == 10.0


def test_what_is_decided_unasked():
    plain = expanded(["a", "b"])
    assert [(u.name, u.integer) for u in plain.unknowns] == [
        ("count.a", True),
        ("count.b", True),
        ("busy.a", False),
        ("busy.b", False),
    ]
    assert plain.unused is not None
    assert set(plain.unused({"sharing": "proportional"})) == {"busy.a", "busy.b"}
    assert not plain.unused({"sharing": "free"})
    assert plain.structure is None
    with pytest.raises(ValueError, match="at least one machine"):
        expanded([])
    with pytest.raises(ValueError, match="expand"):
        models.evaluate(BLOCKS, {})


# the questions


def mix(platforms: Sequence[str], most: Sequence[int]) -> dict[str, Any]:
    """All count vectors up to ``most``, as arrays that span a grid."""
    axes = np.meshgrid(*(np.arange(m + 1) for m in most), indexing="ij", sparse=True)
    return dict(zip(platforms, axes, strict=True))


def best(found: Mapping[str, Any], name: str, allowed: Any, *, most: bool = False) -> tuple[int, ...]:
    """Where the metric is least (or greatest) among the allowed designs."""
    value = np.where(allowed, found[name], -math.inf if most else math.inf)
    return tuple(int(i) for i in np.unravel_index(value.argmax() if most else value.argmin(), value.shape))


def nameplates(platforms: Sequence[str]) -> list[float]:
    return [parameters(p)["constant_power"] + parameters(p)["usable_power"] for p in platforms]


def test_47_mobile_gpus_are_46_within_the_peak_power_of_one_titan():
    """Section I: "up to 47" is 46.97 rounded; 47 draw 287.17 W against 287 W."""
    arndale, titan = parameters("arndale-gpu"), parameters("gtx-titan")
    limit = run({"t": titan}, intensity=4.0, count={"t": 1})["nameplate_power"]
    assert limit == 287.0
    many = run({"a": arndale}, intensity=4.0, count={"a": np.arange(100)})["nameplate_power"]
    assert many[47] == pytest.approx(287.17)
    assert np.flatnonzero(many <= limit).max() == 46
    streaming = {
        b: run({"b": m}, flops=0.0, bytes=1.0, count={"b": n})["bandwidth"]
        for b, m, n in (("arndale", arndale, 47), ("titan", titan, 1))
    }
    assert streaming["arndale"] / streaming["titan"] == pytest.approx(1.65, abs=5e-3)
    computing = {
        b: run({"b": m}, flops=1.0, bytes=0.0, count={"b": n})["performance"]
        for b, m, n in (("arndale", arndale, 47), ("titan", titan, 1))
    }
    assert computing["arndale"] / computing["titan"] == pytest.approx(0.386, abs=5e-4)


def test_23_mobile_gpus_against_one_titan_at_half_power():
    """Section V-D: 143.5 W, 0.31 of its speed; "2.8x faster" is 2.585 by the constants."""
    titan = run({"t": parameters("gtx-titan")}, intensity=0.25, count={"t": 1}, throttle=np.array([1.0, 8.0]))
    assert titan["power"][1] == pytest.approx(143.5)
    assert titan["performance"][1] / titan["performance"][0] == pytest.approx(0.3124, abs=5e-5)
    arndale = run({"a": parameters("arndale-gpu")}, intensity=0.25, count={"a": 23})
    assert arndale["nameplate_power"] == pytest.approx(140.53)
    assert arndale["performance"] / titan["performance"][1] == pytest.approx(2.585, abs=5e-4)


def test_case_a13_least_energy_within_a_power_budget_and_a_deadline():
    most = [int(800.0 / p) for p in nameplates(FIVE)]
    work = {"flops": 1e16, "bytes": 1e15}
    found = run({p: parameters(p) for p in FIVE}, **work, count=mix(FIVE, most))
    allowed = (found["nameplate_power"] <= 800.0) & (found["time"] <= 1700.0)
    assert allowed.sum() == 136
    at = best(found, "energy", allowed)
    assert dict(zip(FIVE, at, strict=True)) == dict.fromkeys(FIVE, 0) | {"gtx-titan": 2, "xeon-phi": 1}
    assert found["energy"][at] == pytest.approx(1114574.355, rel=CASE)
    assert found["time"][at] == pytest.approx(1517.450683, rel=CASE)
    allowed[at] = False
    assert found["energy"][best(found, "energy", allowed)] == pytest.approx(1117729.881, rel=CASE)


def test_case_b07_greatest_speed_within_an_actual_power():
    each = [run({"b": parameters(p)}, intensity=0.5, count={"b": 1})["block_power"] for p in FIVE]
    found = run(
        {p: parameters(p) for p in FIVE}, intensity=0.5, count=mix(FIVE, [int(300.0 / w) for w in each])
    )
    at = best(found, "performance", found["block_power"] <= 300.0, most=True)
    assert dict(zip(FIVE, at, strict=True)) == dict.fromkeys(FIVE, 0) | {"arndale-gpu": 50}
    assert found["performance"][at] == pytest.approx(209.75e9, rel=CASE)
    assert found["block_power"][at] == pytest.approx(298.96195, rel=CASE)


def test_case_b11_one_kind_freely_slowed_under_a_limit():
    """Every number of every kind; under free sharing the most that a limit P leaves to the blocks that are on."""
    answers = {}
    for platform in PLATFORMS:
        m = parameters(platform)
        n = np.arange(1, int(1000.0 / m["constant_power"]) + 1)
        one = run({"b": m}, intensity=16.0, count={"b": 1})
        busy = np.minimum(n, (1000.0 - n * m["constant_power"]) / (one["power"] - m["constant_power"]))
        found = run({"b": m}, intensity=16.0, count={"b": n}, busy={"b": busy}, sharing="free")
        assert (found["power"] <= 1000.0 * (1 + CLOSE)).all()
        answers |= {(platform, int(k)): s for k, s in zip(n, found["performance"], strict=True)}
    first, second = sorted(answers, key=answers.__getitem__, reverse=True)[:2]
    assert (first, second) == (("gtx-titan", 4), ("gtx-titan", 3))
    assert answers[first] == pytest.approx(10788425800000.0, rel=CASE)
    assert answers[second] == pytest.approx(1.044863286e13, rel=CASE)


def knapsack(weights: Sequence[int], values: Sequence[float], most: int) -> Any:
    """Greatest total value at every total weight up to ``most``, any number of each."""
    found = np.zeros(most + 1)
    for total in range(1, most + 1):
        found[total] = max(
            [found[total - 1]]
            + [v + found[total - w] for w, v in zip(weights, values, strict=True) if w <= total]
        )
    return found


@pytest.fixture(scope="module")
def weights() -> list[int]:
    """Return nameplate powers in hundredths of a watt, whole as the table prints them."""
    exact = [100.0 * p for p in nameplates(PLATFORMS)]
    assert exact == pytest.approx([round(w) for w in exact])
    return [round(w) for w in exact]


def test_case_b03_greatest_speed_within_a_nameplate_budget(weights: list[int]):
    answer = {"gtx680": 1, "gtx-titan": 1}
    found = run({p: parameters(p) for p in answer}, intensity=64.0, count=answer)
    assert found["performance"] == pytest.approx(6918369667000.0, rel=CASE)
    assert found["nameplate_power"] == pytest.approx(498.4, rel=CASE)
    speeds = [run({"b": parameters(p)}, intensity=64.0, count={"b": 1})["performance"] for p in PLATFORMS]
    assert knapsack(weights, speeds, 50000)[-1] == pytest.approx(found["performance"], rel=1e-12)


def test_case_a09_least_energy_with_a_fixed_power_within_a_budget(weights: list[int]):
    """No mix within the budget brings ΣP + P0 - λ ΣR below 0 at the answer's ratio λ = E/W: it is the least."""
    work = {"flops": 1e15, "bytes": 31250000000000.0, "fixed_power": 80.0}
    found = run({"t": parameters("gtx-titan")}, **work, count={"t": 3})
    assert found["energy"] == pytest.approx(75974.2641, rel=CASE)
    assert found["time"] == pytest.approx(82.91873964, rel=CASE)
    assert found["nameplate_power"] == 861.0
    each = [run({"b": parameters(p)}, **work, count={"b": 1}) for p in PLATFORMS]
    ratio = found["energy"] / 1e15
    gains = [one["performance"] * ratio - one["block_power"] for one in each]
    assert knapsack(weights, gains, 90000)[-1] == pytest.approx(80.0, rel=1e-12)


def test_every_metric_of_a_system_is_proven_by_its_units():
    units = registry()
    for sharing, work in (("proportional", {"intensity": 3.0}), ("free", {"bytes": 2e11})):
        plain = expanded(["a", "b"])
        chosen: dict[str, Any] = {"precision": "single", "sharing": sharing, "flops": 1e12, **work}
        absent = {"bytes", "intensity", *plain.further} - set(work)
        x = {k: chosen.get(k, 1.5) for k in plain.parameters() if k not in absent}
        dressed = {
            k: v if isinstance(v, str) else units.Quantity(v, plain.parameters()[k].unit)
            for k, v in x.items()
        }
        found, wanted = models.evaluate(plain, dressed), models.evaluate(plain, x)
        assert {q.name for q in plain.metrics} <= set(found)
        for q in plain.metrics:
            value = units.Quantity(1.0, "") * found[q.name]
            assert value.m_as(q.unit) == pytest.approx(wanted[q.name], rel=CLOSE), q.name
        named = {limit.name for limit in plain.limits}
        assert set(found) - {q.name for q in plain.metrics} <= named
        for name in named & set(found):
            assert found[name].m_as("") == pytest.approx(wanted[name]), name
