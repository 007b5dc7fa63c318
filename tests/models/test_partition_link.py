"""Partition on three processors with data passed over a link: a second derivation, in loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse import machines, models
from dse.models.shared.structure import Parts, Row

CLOSE = 1e-12
TRIO = ("cpu", "gpu", "npu")
amount = st.floats(0.1, 10.0)


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, Any]:
    """Costs of three processors, three regions (the last independent), shares that come to one, and a link."""

    def portion() -> list[float]:
        parts = [draw(st.sampled_from([0.0, 1.0, 2.0, 5.0])) for _ in TRIO]
        return [p / sum(parts) for p in parts] if sum(parts) else [1.0, 0.0, 0.0]

    return {
        "costs": [[draw(amount) for _ in range(5)] for _ in TRIO],
        "cap": [draw(st.none() | amount) for _ in TRIO],
        "regions": [(draw(amount), draw(amount)) for _ in range(3)],
        "flops_on": (flops := [portion() for _ in range(3)]),
        "bytes_on": [flops[0], flops[1], portion()],
        "transfers": [(0, 1, draw(amount)), (1, 2, draw(amount))],
        "bandwidth": draw(st.none() | amount),
        "latency": draw(st.sampled_from([0.0, 0.5])),
        "per_byte": draw(amount),
        "overlap": draw(st.sampled_from(["overlapped", "serial"])),
    }


def second_time(w: dict[str, Any]) -> dict[str, float]:
    """Time, energy and link by loops over processors, regions and transfers."""
    longest = dynamic = power = 0.0
    for p in range(3):
        per_flop, per_byte, flop_energy, byte_energy, static = w["costs"][p]
        flops = data = 0.0
        for r in range(3):
            flops += w["regions"][r][0] * w["flops_on"][r][p]
            data += w["regions"][r][1] * w["bytes_on"][r][p]
        spent = flops * flop_energy + data * byte_energy
        longest = max(longest, flops * per_flop, data * per_byte, spent / (w["cap"][p] or math.inf))
        dynamic += spent
        power += static
    crossing = link = 0.0
    for source, target, size in w["transfers"]:
        # what the target's processors lack of the part they need
        lacking = sum(max(0.0, w["bytes_on"][target][p] - w["bytes_on"][source][p]) for p in range(3))
        crossing += size * lacking
        link += size * lacking / (w["bandwidth"] or math.inf) + (w["latency"] if lacking > 1e-9 else 0.0)
    time = longest + link if w["overlap"] == "serial" else max(longest, link)
    energy = dynamic + power * time + crossing * w["per_byte"]
    return {"time": time, "energy": energy, "link_time": link, "link_bytes": crossing}


def trio(w: dict[str, Any]) -> dict[str, Any]:
    """The same world by the model."""
    rows = (Row("a"), Row("b", {"divisible": False}), Row("c", {"independent": True}))
    passed = (Row("t", refers={"from": "a", "to": "b"}), Row("u", refers={"from": "b", "to": "c"}))
    model = models.get("partition").expand(Parts({"regions": rows, "transfers": passed}, TRIO))  # type: ignore[misc]
    names = ("time_per_flop", "time_per_byte", "energy_per_flop", "energy_per_byte", "constant_power")
    x: dict[str, Any] = {"execution": "CP", "link_overlap": w["overlap"], "link_latency": w["latency"]}
    x["link_energy_per_byte"] = w["per_byte"]
    for p, costs, cap in zip(TRIO, w["costs"], w["cap"], strict=True):
        x |= {f"machine.{p}.{n}": c for n, c in zip(names, costs, strict=True)}
        x |= {} if cap is None else {f"machine.{p}.usable_power": cap}
    if w["bandwidth"] is not None:
        x["link_bandwidth"] = w["bandwidth"]
    for k, (name, (flops, data)) in enumerate(zip("abc", w["regions"], strict=True)):
        x |= {f"regions.{name}.flops": flops, f"regions.{name}.bytes": data}
        for p, on_flops, on_bytes in zip(TRIO[:-1], w["flops_on"][k], w["bytes_on"][k], strict=False):
            both = {f"flops_share.c.{p}": on_flops, f"bytes_share.c.{p}": on_bytes}
            x |= both if name == "c" else {f"share.{name}.{p}": on_flops}
    x |= {"transfers.t.bytes": w["transfers"][0][2], "transfers.u.bytes": w["transfers"][1][2]}
    found = models.evaluate(model, x)
    assert set(found) == {q.name for q in model.metrics} | {x.name for x in model.limits} - {"whole"}
    return dict(found)


@settings(max_examples=50, deadline=None)
@given(w=worlds())
def test_three_processors_and_a_link_come_out_the_same_in_loops(w: dict[str, Any]):
    found, wanted = trio(w), second_time(w)
    for name, value in wanted.items():
        assert found[name] == pytest.approx(value, rel=1e-12, abs=1e-12), name
    for r, name in enumerate(("share.a", "share.b", "flops_share.c")):
        assert found[f"{name}.npu"] == pytest.approx(w["flops_on"][r][2], abs=1e-12)
    assert found["whole.a"] == pytest.approx(1 - w["flops_on"][0][2], abs=1e-12)
    assert found["bytes_whole.c"] == pytest.approx(1 - w["bytes_on"][2][2], abs=1e-12)


def platform() -> dict[str, float]:
    """A pair of processors of the catalogue."""
    pair = {"cpu": "i7-2600k-tang2017", "gpu": "gtx-750-tang2017"}
    return {
        f"machine.{p}.{k}": v for p, name in pair.items() for k, v in machines.get(name).parameters.items()
    }


def test_a_transfer_costs_only_what_is_not_where_it_is_needed():
    """Aligned data: same shares move nothing, whole regions on two processors move everything."""
    rows = (Row("a"), Row("b"))
    passed = (Row("t", refers={"from": "a", "to": "b"}),)
    model = models.get("partition").expand(Parts({"regions": rows, "transfers": passed}, ("cpu", "gpu")))  # type: ignore[misc]
    x: dict[str, Any] = {**platform(), "execution": "CP", "link_overlap": "serial"}
    x |= {"regions.a.flops": 1e9, "regions.a.bytes": 1e9, "regions.b.flops": 1e9, "regions.b.bytes": 1e9}
    x |= {"transfers.t.bytes": 8e6, "link_bandwidth": 8e9, "link_latency": 1e-5, "link_energy_per_byte": 1e-9}
    shares = np.array([0.0, 0.25, 0.5, 1.0])
    found = models.evaluate(model, x | {"share.a.cpu": 0.25, "share.b.cpu": shares})
    np.testing.assert_allclose(found["link_bytes"], 8e6 * abs(shares - 0.25), rtol=CLOSE)
    moving = 1e-3 * abs(shares - 0.25) + 1e-5 * (shares != 0.25)
    np.testing.assert_allclose(found["link_time"], moving, rtol=CLOSE)
    np.testing.assert_allclose(found["energy_link"], 8e-3 * abs(shares - 0.25), rtol=CLOSE)
    processors = np.maximum(found["time.cpu"], found["time.gpu"])
    np.testing.assert_allclose(found["time"], processors + moving, rtol=CLOSE)
    beside = models.evaluate(
        model, x | {"share.a.cpu": 0.25, "share.b.cpu": shares, "link_overlap": "overlapped"}
    )
    np.testing.assert_allclose(beside["time"], np.maximum(processors, moving), rtol=CLOSE)
