"""Histograms of reuse distances inside a question: read, swept, and with the sizes of caches decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import oracle_systems as arrays
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from dse import models
from dse.models.exabounds import EXABOUNDS, reuse
from dse.models.model import evaluate
from dse.models.shared.structure import Parts, Row
from scenarios.language.errors import ScenarioError

KIB = 1024.0
DIE = {
    "frequency": "2 GHz",
    "voltage": "1 V",
    "dynamic_capacitance": "0.5 nF",
    "count.core": 4,
    "cache.L1D": "32 KiB",
    "cache.L2": "256 KiB",
    "latency.L2": "10 cycle",
    "latency.L3": "40 cycle",
    "latency.DRAM": "80 ns",
    "reorder_buffer": 48,
    "bandwidth.socket": "25.6 GB/s",
    "die_area": "200 mm^2",
    "transistor_density": "2e12 1/m^2",
    "transistors.core": 5e6,
    "cache_transistors.L2": 48,
}
REUSE = [
    {"distance": "1 KiB", "share": 0.90},
    {"distance": "64 KiB", "share": "8 %"},
    {"distance": "512 KiB", "share": 0.015},
    {"distance": "4 MiB", "share": 0.004},
    {"share": 0.001},
]


def question(machine: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    asked = {
        "model": "exabounds",
        "machine": DIE | (machine or {}),
        "given": {"instructions": 36e12, "data_reuse": REUSE},
    }
    return asked | changes


def found(machine: dict[str, Any] | None = None, **changes: Any) -> dict[str, float]:
    answer = dse.solve(question(machine, **changes))
    assert answer.status == "evaluated"
    return dict(answer.metrics)


def test_misses_by_hand():
    """A cache holds what comes back within its size, to the byte; what is new it misses whatever its size."""
    own = found({"cache.L3": "4 MiB"})
    assert own["misses.L1D"] == pytest.approx(0.1)
    assert own["misses.L2"] == pytest.approx(0.02)
    assert own["misses.L3"] == pytest.approx(0.001)
    just_too_small = found({"cache.L1D": 64 * KIB - 1})
    assert just_too_small["misses.L1D"] == pytest.approx(0.1)
    assert found({"cache.L1D": 64 * KIB})["misses.L1D"] == pytest.approx(0.02)


def test_an_l3_is_shared_out_among_the_cores():
    """8 MiB hold 4 MiB for each of two cores, and not for each of three."""
    assert found({"cache.L3": "8 MiB", "count.die": 2})["misses.L3"] == pytest.approx(0.001)
    assert found({"cache.L3": "8 MiB", "count.die": 3})["misses.L3"] == pytest.approx(0.005)
    # less than its own L2 is no help
    assert found({"cache.L3": "8 MiB", "count.die": 64, "die_area": "2000 mm^2"})[
        "misses.L3"
    ] == pytest.approx(0.02)


def test_the_stack_by_hand():
    """n̂ = 4: 12 cycles hidden of 160 to memory and of 40 to L3; half of the instructions access data."""
    own = found({"cache.L3": "1 MiB"})
    assert own["cpi.base"] == pytest.approx(0.25)
    assert own["cpi.l1data"] == pytest.approx(0.5 * 0.1 * 10)
    assert own["cpi.l2data"] == pytest.approx(0.5 * (0.005 * 148 + 0.015 * 28))


def test_misses_queue_for_memory():
    """A line of 64 bytes per miss: one core takes 0.57 GB/s, and 80 would take more than 25.6 GB/s."""
    one, many = found(), found({"count.die": 80, "die_area": "2000 mm^2"})
    alone = one["cpi"]
    asked = 2e9 / alone * 0.5 * 0.02 * 64
    assert one["cpi.bandwidth"] == 0
    assert one["memory_traffic"] == pytest.approx(asked)
    assert one["core_limit.socket"] == pytest.approx(25.6e9 / asked)
    assert many["cpi"] == pytest.approx(alone * 80 * asked / 25.6e9)
    # what a core would need does not fall because it waits
    assert many["memory_traffic"] == pytest.approx(asked)


def test_a_stated_demand_comes_on_top():
    """Of streams that no cache holds; 2.56 bytes a cycle at 2 GHz and 2 cores take 40 % of the link."""
    plain, with_stream = (
        found({"count.die": 16}, given={"instructions": 1e12, "data_reuse": REUSE} | more)
        for more in ({}, {"demand.socket": 2.56})
    )
    each = 25.6e9 / plain["core_limit.socket"]
    assert 25.6e9 / with_stream["core_limit.socket"] == pytest.approx(each + 2.56 * 2e9)


def test_instructions_have_a_histogram_of_their_own():
    rows = [{"distance": "16 KiB", "share": 0.98}, {"distance": "64 KiB", "share": 0.02}]
    given_ = {"instructions": 1e12, "instruction_reuse": rows}
    assert found({"cache.L1I": "32 KiB"}, given=given_)["cpi.icache"] == pytest.approx(0.02 * 10)
    assert found({"cache.L1I": "64 KiB"}, given=given_)["cpi.icache"] == 0


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.tuples(st.floats(1e3, 1e7), st.floats(1e3, 1e7), st.floats(1e3, 1e8)),
    cores=st.integers(1, 64),
    raw=st.lists(st.tuples(st.floats(1e2, 1e8), st.floats(0.01, 1)), min_size=1, max_size=6),
    new=st.floats(0.01, 1),
)
def test_the_model_agrees_with_the_oracle(
    sizes: tuple[float, float, float], cores: int, raw: list[tuple[float, float]], new: float
):
    """Any histogram, any sizes, queueing or not; the oracle's equations share nothing with the model's."""
    whole = sum(s for _, s in raw) + new
    parts = Parts(rows={"data_reuse": tuple(Row(str(i)) for i in range(len(raw) + 1))})
    model = reuse_model(parts)
    m = {k: arrays.number(v) for k, v in DIE.items()}
    m |= {"cache.L1D": sizes[0], "cache.L2": sizes[1], "cache.L3": sizes[2], "count.die": float(cores)}
    x = {k: q.default for k, q in model.parameters().items() if q.default is not None}
    x |= {f"machine.{k}": v for k, v in m.items()} | {"instructions": 1e12}
    for i, (distance, share) in enumerate([*raw, (None, new)]):
        x |= {f"data_reuse.{i}.share": share / whole}
        x |= {} if distance is None else {f"data_reuse.{i}.distance": distance}
    ours = evaluate(model, x)
    rows = [(d, s / whole) for d, s in raw] + [(np.inf, new / whole)]
    theirs = arrays.measure(m, {"instructions": 1e12}, rows)
    for name in ("time", "power", "memory_traffic", "cost"):
        assert ours[name] == pytest.approx(theirs[name], rel=1e-9), name


@settings(max_examples=15, deadline=None)
@given(
    counts=st.tuples(st.integers(1, 200), st.integers(1, 200)),
    l2=st.floats(1e3, 1e7),
    bandwidth=st.floats(1e8, 1e12),
)
def test_more_cores_with_caches_of_their_own_never_slow(counts: tuple[int, int], l2: float, bandwidth: float):
    """They may wait for the same link, and then are as fast as it is."""
    few, many = (_time(float(n), l2, bandwidth) for n in sorted(counts))
    assert many <= few * (1 + 1e-12)


def test_more_cores_slow_each_other_down_where_they_share_a_cache_that_held_one():
    """One core uses 4 MiB again and again; 4 MiB of L3 hold them, and half of that does not."""
    rows = [{"distance": "4 MiB", "share": 1.0}]
    changes = {"cache.L3": "4 MiB", "latency.L3": "1 cycle", "latency.DRAM": "1 us", "reorder_buffer": 0}
    alone, two = (
        found(changes | {"count.die": n}, given={"instructions": 1e12, "data_reuse": rows}) for n in (1, 2)
    )
    assert (alone["misses.L3"], two["misses.L3"]) == (0, 1)
    assert two["time"] > alone["time"]


def _time(cores: float, l2: float, bandwidth: float) -> float:
    model = reuse_model(Parts(rows={"data_reuse": (Row("a"), Row("b"), Row("new"))}))
    x = {k: q.default for k, q in model.parameters().items() if q.default is not None}
    x |= {f"machine.{k}": arrays.number(v) for k, v in DIE.items()} | {"instructions": 1e12}
    x |= {"machine.cache.L2": l2, "machine.bandwidth.socket": bandwidth, "machine.count.die": cores}
    x |= {"data_reuse.a.distance": 1e4, "data_reuse.b.distance": 1e6}
    x |= {"data_reuse.a.share": 0.9, "data_reuse.b.share": 0.09, "data_reuse.new.share": 0.01}
    return float(evaluate(model, x)["time"])


def reuse_model(parts: Parts) -> Any:
    assert EXABOUNDS.expand is not None
    return EXABOUNDS.expand(parts)


def test_the_size_of_a_cache_is_swept():
    """The steps stand where the distances are."""
    sizes = ["32 KiB", "64 KiB", "256 KiB", "512 KiB", "4 MiB"]
    swept = dse.sweep(question(sweep={"size": {"path": "machine.cache.L2", "values": sizes}}))
    assert swept["misses"].sel(cache="L2").to_numpy() == pytest.approx([0.1, 0.02, 0.02, 0.005, 0.001])
    assert (swept["performance"].diff("size") >= 0).all()


DECIDED = {"objective": {"maximize": "performance"}}


def test_a_menu_of_sizes_is_answered_with_certainty():
    """Cores against caches on one area, beside the oracle's enumeration."""
    menu = ["64 KiB", "128 KiB", "512 KiB", "1 MiB", "4 MiB"]
    decide = {"machine.count.die": {"integer": True, "max": 32}, "machine.cache.L2": {"values": menu}}
    answer = dse.solve(question(decide=decide, **DECIDED))
    assert answer.status == "optimal"
    expected = arrays.answer(question(decide=decide, **DECIDED) | {"title": ""}).objective
    assert answer.objective == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("machine", "name", "values"),
    [({}, "cache.L2", ["64 KiB", "512 KiB", "1 MiB"]), ({"cache.L3": "2 MiB"}, "count.die", [1, 2, 4, 8])],
    ids=["menu of sizes", "a core's part of L3 is just what is reused"],
)
def test_a_step_beside_a_free_clock_is_answered_with_certainty(
    machine: dict[str, Any], name: str, values: list[Any]
):
    """The best of the listed values, each asked for by itself."""
    clock = {"machine.frequency": {"min": "0.5 GHz", "max": "2.5 GHz"}}
    asked: dict[str, Any] = {"objective": {"minimize": "energy"}, "limits": {"time": {"max": "20 ks"}}}
    listed = clock | {f"machine.{name}": {"values": values}}
    answer = dse.solve(question(machine, decide=listed, **asked))
    alone = [dse.solve(question(machine | {name: v}, decide=clock, **asked)) for v in values]
    assert answer.status == "optimal"
    assert answer.objective == pytest.approx(min(a.objective for a in alone if a.objective), rel=1e-7)


def test_a_free_size_is_answered_honestly():
    """Steps have no slope: never worse than the menu's sizes, bounded, and called optimal only with a proof."""
    decide = {
        "machine.count.die": {"integer": True, "max": 32},
        "machine.cache.L2": {"min": "64 KiB", "max": "4 MiB"},
    }
    answer = dse.solve(question(decide=decide, **DECIDED))
    at_steps = {
        "machine.count.die": decide["machine.count.die"],
        "machine.cache.L2": {"values": ["64 KiB", "512 KiB", "4 MiB"]},
    }
    least = dse.solve(question(decide=at_steps, **DECIDED)).objective
    assert answer.status == "feasible" or answer.gap <= 1e-6
    assert answer.objective >= 0.99 * least
    assert answer.bound >= least * (1 - 1e-9)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"data_reuse": [*REUSE[:-1], {"share": 0.002}]},
            r"given\.data_reuse: the shares .* sum to 1\.001, not to 1",
        ),
        ({"data_reuse": [{"distance": "1 KiB", "share": 12.0}]}, r"share .* is at most 1"),
        ({"data_reuse": [{"distance": "1 s", "share": 1}]}, r"is a time \(s\)"),
        ({"data_reuse": [{"distance": "1 KiB"}]}, r"distance \"1\" has no share"),
        ({"data_reuse": [{"distanc": "1 KiB", "share": 1}]}, "did you mean 'distance'"),
        ({"data_reuse": REUSE, "miss_rate.L1D": 0.1}, r"miss_rate\.L1D is not used beside the lists"),
        ({"data_reuse": {"distance": 3}}, "data_reuse is a list of tables"),
        ({"data_reus": REUSE}, "takes no tables such as data_reus.*did you mean 'data_reuse'"),
    ],
)
def test_what_is_no_histogram_is_said_in_words(changes: dict[str, Any], words: str):
    with pytest.raises(ScenarioError, match=f"(?s){words}"):
        dse.solve(question(given={"instructions": 1e12} | changes))


def test_a_histogram_needs_the_sizes_of_the_caches():
    machine = {k: v for k, v in DIE.items() if not k.startswith("cache.L")}
    with pytest.raises(ScenarioError, match=r"has no cache\.L1D, cache\.L2, which exabounds needs"):
        dse.solve(question() | {"machine": machine})


@pytest.mark.parametrize("where", ["decide", "sweep"])
def test_shares_are_neither_decided_nor_swept(where: str):
    name = "data_reuse.1.share"
    more = {"decide": {name: {"max": 1}}, "sweep": {"s": {"path": f"given.{name}", "values": [0.1, 0.2]}}}
    rows = [{"name": "1", "distance": "1 KiB"}, {"share": 0.5}]
    with pytest.raises(ScenarioError, match="decided or swept, but all of them sum to 1"):
        dse.sweep(question(given={"instructions": 1e12, "data_reuse": rows}, **{where: more[where]}))


def test_shares_are_not_uncertain_one_by_one():
    name = "data_reuse.1.share"
    rows = [{"name": "1", "distance": "1 KiB", "share": 0.5}, {"share": 0.5}]
    more = {"uncertain": {name: {"uniform": [0.4, 0.6]}}}
    with pytest.raises(ScenarioError, match=r"uncertain\.data_reuse\.1\.share: .* all of them sum to 1"):
        dse.solve(question(given={"instructions": 1e12, "data_reuse": rows}, **more))


def test_without_a_histogram_nothing_changes(system: Callable[..., dict[str, Any]]):
    """The plain model is that of a question without lists."""
    plain = EXABOUNDS.expand(Parts()) if EXABOUNDS.expand else EXABOUNDS
    assert plain.parameters().keys() == models.get("exabounds").parameters().keys()
    given_ = {"miss_rate.L2": 0.02, "miss_rate.L3": 0.5, "miss_rate.L1D": 0.1}
    assert system(given_)["misses.L3"] == pytest.approx(0.01)
    assert system(given_)["misses.L1D"] == 0.1


def test_lists_of_python_and_of_a_file_say_the_same():
    """A histogram by lines of 64 bytes: distance d is d + 1 lines used."""
    histogram = [0.4, 0.3, 0.2, 0.1]
    for lines in (1, 2, 3, 4):
        size = 64.0 * lines
        rows = [(64.0 * (d + 1), s) for d, s in enumerate(histogram)]
        assert arrays._missing(rows, size) == pytest.approx(reuse.from_histogram(histogram, size))
