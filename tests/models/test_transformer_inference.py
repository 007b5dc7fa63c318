"""Serving a decoder: the oracle's equations at random designs, Erlang's formula, memory by hand, bad input."""

from __future__ import annotations

import math
import random
import re
from typing import Any

import oracle_serving as oracle
import pytest

import dse
from dse import machines, models
from dse.models.described.pages import page
from dse.models.transformers.transformer_inference import wait_probability
from scenarios import ScenarioError

MODEL = "transformer_inference"
L8 = {
    "layers": 32.0, "hidden": 4096.0, "heads": 32.0, "kv_heads": 8.0, "ffn": 14336.0, "vocabulary": 128256.0,
    "gated": "on",
}  # fmt: skip


def at(machine: str, **given: Any) -> dict[str, float]:
    """Metrics and ratios of a design, straight from the equations."""
    m = models.get(MODEL)
    stated = {f"machine.{n}": v for n, v in machines.get(machine).parameters.items()}
    defaults = {n: q.default for n, q in m.parameters().items() if q.default is not None}
    known = {n: v for n, v in (defaults | stated | L8 | given).items() if n in m.parameters()}
    return dict(models.evaluate(m, known))


@pytest.mark.parametrize("machine", ["h100-sxm-bf16", "a100-sxm-80gb-measured"])
def test_random_designs_are_what_the_oracle_says(machine: str) -> None:
    """Two hundred designs: times, energy, memory and the queue, by equations typed apart from the model's."""
    chance = random.Random(7)
    for _ in range(100):
        t, stages = 2.0 ** chance.randrange(4), 2.0 ** chance.randrange(3)
        batch, replicas = stages * chance.randrange(1, 200), float(chance.randrange(1, 50))
        prompt, output = float(chance.randrange(1, 8000)), float(chance.randrange(1, 3000))
        width, cache, k = chance.choice([0.5, 1.0, 2.0]), chance.choice([0.5, 1.0, 2.0]), chance.uniform(1, 3)
        own = {"tensor_parallel": t, "pipeline_parallel": stages, "batch": batch, "replicas": replicas}
        asked = {
            "prompt": prompt,
            "output": output,
            "parameter_bytes": width,
            "cache_bytes": cache,
            "throttle": k,
        }
        idle = at(machine, **own, **asked)
        rate = chance.uniform(0.1, 0.99) * idle["requests_per_second"]
        more = {"t": t, "stages": stages, "replicas": replicas, "weight": width, "cache": cache, "k": k}
        for found, asking in (
            (idle, {}),
            (at(machine, **own, **asked, request_rate=rate), {"rate": rate}),
        ):
            typed = oracle.serve(oracle.machine(machine), oracle.L8, prompt, output, batch, **more, **asking)
            assert found["time_per_output_token"] == pytest.approx(typed.token, rel=1e-12)
            assert found["time_to_first_token"] == pytest.approx(typed.first, rel=1e-9)
            assert found["energy_per_token"] == pytest.approx(typed.energy, rel=1e-12)
            assert found["power"] == pytest.approx(typed.power, rel=1e-12)
            assert found["memory"] == pytest.approx(typed.memory, rel=1e-12)


def erlang(places: int, load: float) -> float:
    """Erlang's probability to wait, by the recursion of his loss formula."""
    lost = 1.0
    for k in range(1, places + 1):
        lost = load * lost / (k + load * lost)
    return lost / (1 - load / places * (1 - lost))


@pytest.mark.parametrize("places", [1, 2, 8, 16, 100, 2000])
def test_the_probability_to_wait_is_erlangs_or_a_little_more(places: int) -> None:
    """Within 6 % for one place, 0.6 % from 16 places on; nothing of size where nobody waits."""
    for used in (0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        exact, ours = erlang(places, used * places), float(wait_probability(float(places), 1 - used))
        if exact > 1e-12:
            assert -3e-4 <= ours / exact - 1 <= (0.006 if places >= 16 else 0.06), (places, used)
        else:
            assert ours < 1e-11


def test_the_page_says_by_how_much_the_probability_to_wait_is_too_large() -> None:
    """Where next to nobody waits for one place, which has the most, and from 16 on."""
    said = re.search(
        r"at most\s([\d.]+) % for one place.*?by ([\d.]+) % from 16", page(models.get(MODEL)), re.DOTALL
    )
    assert said is not None
    for places, most in ((1, float(said[1])), (16, float(said[2]))):
        for used in (1e-6, 1e-3, 0.1, 0.5, 0.9):
            exact, ours = erlang(places, used * places), float(wait_probability(float(places), 1 - used))
            assert exact < 1e-12 or 100 * (ours / exact - 1) <= most, (places, used)
    assert float(said[1]) <= 9.0


@pytest.mark.parametrize("free", [1e-3, 1e-6, 1e-7, 1e-8])
def test_the_wait_grows_without_end_next_to_a_full_load(free: float) -> None:
    """Tw = α O TPOT/(c - ρ): from a free share of 1e-6 on it was that of 1e-6, however full all places are.

    Everybody waits there: α is 1 but for some √c (1 - u); rounding of 1 - u itself is 1e-16 of it.
    """
    given = {"layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "ffn": 14336, "gated": "on"}
    given |= {"vocabulary": 128256, "prompt": 500, "output": 250, "replicas": 4, "batch": 32}
    alone = dse.evaluate({"model": MODEL, "machine": "h100-sxm-bf16", "given": given})
    at_most = 128 / float(alone["latency"])
    asked = {
        "model": MODEL,
        "machine": "h100-sxm-bf16",
        "given": given | {"request_rate": at_most * (1 - free)},
    }
    busy = dse.evaluate(asked)
    expected = float(busy["wait_probability"]) * float(alone["latency"]) / (128 * free)
    assert float(busy["wait"]) == pytest.approx(expected, rel=1e-6 + 1e-15 / free)
    assert 1 - 30 * free < busy["wait_probability"] <= 1


def test_memory_of_a_published_shape_by_hand() -> None:
    """Llama 3 8B: 16 GB of weights in bf16, 131072 bytes of cache for a token."""
    found = at("h100-sxm-bf16", prompt=1000.0, output=24.0, batch=10.0)
    assert found["memory_parameters"] == pytest.approx(8.03e9 * 2, rel=1e-3)
    assert found["memory_cache"] == 10 * (1024 + 15) * 131072
    halved = at("h100-sxm-bf16", prompt=1000.0, output=24.0, batch=10.0, cache_bytes=1.0, page=1.0)
    assert halved["memory_cache"] == 10 * 1024 * 65536


def test_more_processors_than_heads_of_keys_hold_copies() -> None:
    """With eight heads of keys and values, sixteen processors hold no smaller caches than eight."""
    of = {
        t: at("h100-sxm-bf16", prompt=1000.0, output=24.0, batch=10.0, tensor_parallel=t)
        for t in (4.0, 8.0, 16.0)
    }
    assert of[8.0]["memory_cache"] == of[16.0]["memory_cache"] == of[4.0]["memory_cache"] / 2
    assert of[16.0]["within_node"] == 2.0


def test_a_machine_without_links_is_a_node_of_one() -> None:
    """No links are stated of an L4: two of them share nothing."""
    assert at("l4-bf16", prompt=100.0, output=10.0, batch=1.0, tensor_parallel=2.0)["within_node"] == 2.0
    assert at("l4-bf16", prompt=100.0, output=10.0, batch=1.0)["energy_link"] == 0.0


def test_waits_grow_with_the_rate_and_end_with_the_places() -> None:
    """At more than can be served the limit ``served`` is broken and the wait is beyond all bounds."""
    own = {"prompt": 500.0, "output": 100.0, "batch": 8.0, "replicas": 4.0}
    most = at("h100-sxm-bf16", **own)["requests_per_second"]
    waits = [
        at("h100-sxm-bf16", **own, request_rate=share * most)["wait"] for share in (0.1, 0.5, 0.9, 0.99, 1.2)
    ]
    assert waits == sorted(waits)
    assert waits[0] < 1e-3 * waits[2]
    assert at("h100-sxm-bf16", **own, request_rate=1.2 * most)["served"] == pytest.approx(1.2)
    assert all(math.isfinite(w) for w in waits)


def test_sensitivities_of_a_degree_of_one_are_left_out_and_the_others_stay() -> None:
    """A count of 1 whose term vanishes has no slope; the bandwidth has one."""
    found = dse.solve("serving_bytes_per_weight_for_latency")
    assert found.status == "optimal"
    assert "pipeline_parallel" not in found.parameters
    assert found.parameters["machine.time_per_byte"] == pytest.approx(-1.06, abs=0.02)


def asked(**changed: Any) -> dict[str, Any]:
    """A small question."""
    given = {**L8, "prompt": 100, "output": 10, "batch": 4} | changed.pop("given", {})
    return {"model": MODEL, "machine": "h100-sxm-bf16", "given": given} | changed


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"given": {"batch": 0}}, "given.batch"),
        ({"given": {"request_rate": 0}}, "given.request_rate"),
        ({"given": {"memory_share": 1.5}}, "given.memory_share"),
        ({"given": {"gated": "yes"}}, "given.gated"),
        ({"given": {"cache_bytes": "2 s"}}, "given.cache_bytes"),
        ({"given": {"tensor": 2}}, "tensor_parallel"),
        ({"machine": "jaketown"}, "time_per_byte"),
        ({"given": {"layers": "many"}}, "given.layers"),
    ],
)
def test_what_is_wrong_is_said_by_its_key(changed: dict[str, Any], said: str) -> None:
    """One message that names the key, or what was probably meant."""
    with pytest.raises(ScenarioError, match=said.replace(".", r"\.")):
        dse.solve(asked(**changed))


@pytest.mark.parametrize(
    ("changed", "limit"),
    [
        ({"given": {"batch": 2000, "prompt": 4000}}, "memory_capacity"),
        ({"given": {"tensor_parallel": 16}}, "within_node"),
        ({"given": {"tensor_parallel": 8, "heads": 4, "kv_heads": 4}}, "heads_split"),
        ({"given": {"pipeline_parallel": 8}}, "batch_split"),
        ({"given": {"request_rate": 1e6}}, "served"),
    ],
)
def test_why_a_plan_does_not_serve_is_a_limit_by_name(changed: dict[str, Any], limit: str) -> None:
    """What does not fit is infeasible, and says by which limit."""
    found = dse.solve(asked(**changed))
    assert found.status == "infeasible"
    assert any(limit in names for names in [*found.conflicts, list(found.conflict)]), found.conflicts


def test_flops_are_those_of_the_tokens_that_are_served() -> None:
    """At a tenth of the rate the flops of a token stay, and with them its energy of flops."""
    own = {"prompt": 500.0, "output": 100.0, "batch": 8.0, "replicas": 4.0}
    full = at("h100-sxm-bf16", **own)
    rate = full["requests_per_second"]
    few = at("h100-sxm-bf16", **own, request_rate=0.1 * rate)
    assert few["performance"] == pytest.approx(0.1 * full["performance"], rel=1e-9)
    assert few["utilisation_of_flops"] == pytest.approx(0.1 * full["utilisation_of_flops"], rel=1e-9)
    assert few["energy_flop"] == pytest.approx(full["energy_flop"], rel=1e-9)
    # bytes are counted as of full batches, one after the other
    assert few["energy_data"] == pytest.approx(10 * full["energy_data"], rel=1e-9)


def test_weights_that_processors_hold_more_than_once_are_flops_of_the_model_once() -> None:
    """Two heads of keys and values on eight processors: four copies of each take energy, and no credit for work."""
    own = {"prompt": 500.0, "output": 100.0, "batch": 8.0, "kv_heads": 2.0, "tokens": 800.0}
    one, shared = (at("h100-sxm-bf16", **own, tensor_parallel=t) for t in (1.0, 8.0))
    h, v, layers, d = 4096, 128256, 32, 128
    weights = h * d * (32 + 2 * 2) + h * h + 3 * h * 14336
    rows = 500 + 100
    keys = 500 * 501 / 2 + 100 * (500 + 50)
    flops = 8 * (layers * (2 * rows * weights + 4 * keys * h) + 2 * 101 * v * h)
    for found in (one, shared):
        assert found["performance"] * found["time"] == pytest.approx(flops, rel=1e-12)
        assert found["efficiency"] * found["energy"] == pytest.approx(flops, rel=1e-12)
    again = 8 * layers * 2 * rows * h * 2 * d * (8 - 2)
    per_flop = machines.get("h100-sxm-bf16").parameters["energy_per_flop"]
    assert one["energy_flop"] == pytest.approx(flops * per_flop, rel=1e-12)
    assert shared["energy_flop"] == pytest.approx((flops + again) * per_flop, rel=1e-12)


PART = 'machine: machine "l4-bf16", as changed here, has no {}, which transformer_inference needs for {}'
PARTS_OF_LINKS = {
    "network": (
        {"time_per_word": "1 ns/word", "time_per_message": "1 us/message"},
        "energy_per_word",
        "time_per_word",
    ),
    "node": (
        {"core_time_per_word": "1 ns/word", "core_time_per_message": "1 ms/message"},
        "core_energy_per_word",
        "core_time_per_word",
    ),
    "half": (
        {"core_time_per_message": "1 ms/message", "core_energy_per_word": "1 nJ/word"},
        "core_time_per_word",
        "core_time_per_message",
    ),
    "words": ({"core_time_per_word": "1 ns/word"}, "core_energy_per_word", "core_time_per_word"),
}


@pytest.mark.parametrize("name", PARTS_OF_LINKS)
def test_a_machine_that_states_a_part_of_its_links_is_refused(name: str) -> None:
    own, missing, stated = PARTS_OF_LINKS[name]
    asked = {
        "model": MODEL,
        "machine": {"base": "l4-bf16", **own},
        "given": {"layers": 32, "hidden": 4096, "heads": 32, "prompt": 512, "output": 128, "batch": 4},
        "decide": {"tensor_parallel": {"values": [1, 2, 4]}},
        "objective": {"minimize": "decode_time"},
    }
    with pytest.raises(ScenarioError, match=re.escape(PART.format(missing, stated))):
        dse.solve(asked)


def test_links_within_a_node_are_enough() -> None:
    """Two processors take the time of two messages of an all-reduce in each of 2 operators of 32 layers more."""
    apart = {"core_time_per_word": 0.0, "core_time_per_message": 1e-3, "core_energy_per_word": 0.0}
    plan = {"tensor_parallel": 2.0, "batch": 4.0, "prompt": 512.0, "output": 128.0}
    found = at("l4-bf16", **plan, **{f"machine.{n}": v for n, v in apart.items()})
    alone = at("l4-bf16", **plan)
    assert found["decode_time"] - alone["decode_time"] == pytest.approx(32 * 2 * 2 * 1e-3, rel=1e-9)


def test_deadlines_that_no_plan_meets_are_explained_at_all_points_together() -> None:
    """Numbers that go as far as floats were halved before a list of four: 0.7 s a point, and no proof at some."""
    asked: dict[str, Any] = {
        "model": MODEL,
        "machine": "h100-sxm-bf16",
        "given": {n: v for n, v in L8.items() if n != "gated"}
        | {"gated": "on", "prompt": 500, "output": 100},
        "decide": {
            "batch": {"values": [1, 2, 4, 8, 16, 32, 64, 128, 256]},
            "tensor_parallel": {"values": [1, 2, 4, 8]},
            "replicas": {"max": 200},
        },
        "objective": {"minimize": "devices"},
        "limits": {"latency": {"max": "2 s"}},
    }
    swept = {
        "rate": {"path": "request_rate", "values": [1, 30, 1000]},
        "deadline": {"path": "limits.latency.max", "values": [0.3, 0.349, 0.4, 2]},
    }
    ds = dse.sweep(asked | {"sweep": swept})
    assert ds.attrs["left_over"] == "{}"
    for i, rate in enumerate(swept["rate"]["values"]):
        for k, most in enumerate(swept["deadline"]["values"]):
            given, limits = asked["given"] | {"request_rate": rate}, {"latency": {"max": most}}
            alone = dse.solve(asked | {"given": given, "limits": limits})
            point = ds.isel(rate=i, deadline=k)
            told = point["would_do"].to_series().dropna()
            assert dict(told.rename(lambda label: label.removesuffix(".min"))) == pytest.approx(
                {n: v for n, v in alone.conflict.items() if n in alone.conflicts[0]}
                if alone.conflicts
                else {},
                rel=1e-6,
            )
