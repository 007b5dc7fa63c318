"""Training of a decoder: memory against arXiv 2205.05198, times in parts, and how plans compare."""

from __future__ import annotations

import itertools
import random
from typing import Any

import oracle_plans
import pytest

import dse
from dse import machines, models, testing
from dse.quantities import registry

MODEL = models.get("transformer_training")
GIB = 2.0**30
M22 = {"layers": 48.0, "hidden": 6144.0, "heads": 64.0, "sequence": 2048.0, "global_batch": 4.0, "micro_batch": 4.0,
       "tensor_parallel": 8.0}  # fmt: skip
M175 = {"layers": 96.0, "hidden": 12288.0, "heads": 96.0, "sequence": 2048.0, "global_batch": 64.0,
        "tensor_parallel": 8.0, "pipeline_parallel": 8.0, "interleaving": 3.0}  # fmt: skip


def at(machine: str = "dgx-a100-bf16", **given: Any) -> dict[str, float]:
    """Return the metrics of a plan on a machine of the catalogue."""
    x: dict[str, Any] = {q.name: q.default for q in MODEL.inputs if q.default is not None}
    x |= {f"machine.{q.name}": q.default for q in MODEL.machine if q.default is not None}
    x |= {f"machine.{n}": v for n, v in machines.get(machine).parameters.items()}
    return {n: float(v) for n, v in models.evaluate(MODEL, x | given).items()}


@pytest.mark.parametrize(
    ("model", "recomputation", "split", "stored"),
    [
        (M22, "none", "off", 59.25),
        (M22, "selective", "on", 9.5625),
        (M175, "none", "off", 66.84375),
        (M175, "selective", "on", 12.3515625),
    ],
)
def test_activations_of_the_first_stage_are_those_of_the_paper(
    model: dict[str, float], recomputation: str, split: str, stored: float
):
    # printed with four figures; the fractions are exact
    found = at(**model, recomputation=recomputation, sequence_parallel=split)
    assert found["memory_activations"] / GIB == pytest.approx(stored, rel=1e-12)


@pytest.mark.parametrize("model", [M22, M175])
def test_parameters_gradients_and_optimiser_take_18_bytes_each(model: dict[str, float]):
    # the paper's figure is of the layers alone; 1 is the least vocabulary
    found = at(**model, vocabulary=1.0)
    held = sum(found[f"memory_{part}"] for part in ("parameters", "gradients", "optimiser"))
    assert held / GIB == pytest.approx(45.5625, rel=1e-5)


@pytest.mark.parametrize(("zero", "shrunk"), [("1", 1), ("2", 2), ("3", 3)])
def test_zero_splits_the_optimiser_then_gradients_then_parameters(zero: str, shrunk: int):
    given = M22 | {"data_parallel": 4.0, "global_batch": 64.0}
    plain, split = at(**given), at(**given, zero=zero)
    for place, part in enumerate(("optimiser", "gradients", "parameters"), 1):
        expected = 4.0 if place <= shrunk else 1.0
        assert plain[f"memory_{part}"] / split[f"memory_{part}"] == pytest.approx(expected), part


def test_full_recomputation_takes_a_third_more_and_stores_the_inputs_only():
    none, full = at(**M22), at(**M22, recomputation="full")
    # a third of the products, and more of what moves bytes: backward it is less than twice a forward pass
    assert 0.30 < full["step_recompute"] / none["step_compute"] < 0.37
    assert full["memory_activations"] == pytest.approx(2.0 * 2048 * 4 * 6144 * 48)


def test_the_bubble_is_a_stage_less_than_the_pipeline_and_shrinks_with_interleaving():
    given = M175 | {"interleaving": 1.0}
    plain, interleaved = at(**given), at(**M175)
    assert plain["step_bubble"] / interleaved["step_bubble"] == pytest.approx(3.0)
    working = sum(plain[f"step_{part}"] for part in ("compute", "recompute", "tensor"))
    # (p - 1)/m of a step, but for the logits and the sum of gradients
    assert plain["step_bubble"] / working == pytest.approx(7 / 64, rel=0.1)


def test_one_device_sends_nothing():
    found = at(**(M22 | {"tensor_parallel": 1.0}))
    assert [found[f"step_{part}"] for part in ("tensor", "pipeline", "data", "bubble")] == [0.0] * 4
    assert found["devices"] == 1.0


def test_a_plan_that_does_not_fit_says_so():
    assert at(**M22)["memory_capacity"] > 1.0 > at(**M22, recomputation="full")["memory_capacity"]
    assert at(**(M175 | {"global_batch": 4.0}))["schedule"] >= 2.0


MACHINES = ("dgx-a100-bf16", "dgx-a100-measured", "dgx-a100-vtrain2024", "dgx-h100-bf16", "dgx-b200-bf16")


def plans(many: int) -> list[tuple[str, dict[str, Any]]]:
    """Return random plans of random models, each with the name of a machine."""
    chance = random.Random(18)
    found = []
    for _ in range(many):
        tensor, stages, parts = (float(2 ** chance.randint(0, most)) for most in (4, 3, 2))
        heads = 16.0 * chance.randint(1, 8)
        given = {
            "hidden": heads * chance.choice((64.0, 128.0)),
            "heads": heads,
            "layers": stages * parts * chance.randint(1, 6),
            "sequence": chance.choice((512.0, 2048.0, 8192.0)),
            "micro_batch": float(2 ** chance.randint(0, 3)),
            "vocabulary": chance.choice((32000.0, 51200.0)),
            "tensor_parallel": tensor,
            "pipeline_parallel": stages,
            "interleaving": parts if stages > 1.0 else 1.0,
            "data_parallel": float(2 ** chance.randint(0, 6)),
            "recomputation": chance.choice(("none", "selective", "full")),
            "sequence_parallel": chance.choice(("off", "on")),
            "zero": chance.choice(("0", "1", "2", "3")),
            "gradient_bytes": chance.choice((2.0, 4.0)),
            "gated": chance.choice(("off", "on")),
            "tied": chance.choice(("off", "on")),
            "attention": chance.choice(("separate", "fused")),
            "overlap": chance.choice(("off", "on")),
        }
        given |= {"kv_heads": heads / chance.choice((1, 4, 8, 16))} if chance.random() < 0.5 else {}
        given |= {"ffn": 3.5 * given["hidden"]} if chance.random() < 0.5 else {}
        given |= {"head_size": 96.0} if chance.random() < 0.2 else {}
        given["global_batch"] = given["micro_batch"] * given["data_parallel"] * chance.randint(1, 64)
        found.append((chance.choice(MACHINES), given))
    return found


def test_200_random_plans_are_those_of_the_equations_typed_a_second_time():
    for name, given in plans(200):
        known = {q.name: q.default for q in (*MODEL.inputs, *MODEL.machine) if q.default is not None}
        known |= machines.get(name).parameters | given
        expected = oracle_plans.metrics(known, known)
        expected = {n: float(v) for n, v in expected.items() if not n.startswith("#")}
        found = at(name, **given, **{"machine.measured_layers": 0.0})
        # the same sums in another order
        assert {n: found[n] for n in expected} == pytest.approx(expected, rel=1e-10), (name, given)


def test_totals_are_the_sums_of_their_parts_and_follow_from_them():
    for name, given in plans(20):
        found = at(name, **given)
        stepped = sum(v for n, v in found.items() if n.startswith("step_") and n != "step_time")
        held = sum(v for n, v in found.items() if n.startswith("memory_") and n != "memory_capacity")
        assert found["step_time"] == pytest.approx(stepped, rel=1e-12)
        assert found["device_memory"] == pytest.approx(held, rel=1e-12)
        assert found["tokens_per_second"] == given["global_batch"] * given["sequence"] / found["step_time"]
        power = machines.get(name).parameters
        most = power["constant_power"] + power["usable_power"] + power["overhead_power"]
        assert found["power"] <= found["devices"] * most * (1 + 1e-12)
        assert found["power"] >= found["devices"] * (power["constant_power"] + power["overhead_power"])


def test_grouped_heads_and_a_gate_by_hand():
    given = {"layers": 80.0, "hidden": 8192.0, "heads": 64.0, "kv_heads": 8.0, "ffn": 28672.0, "gated": "on",
             "vocabulary": 32000.0, "sequence": 4096.0, "global_batch": 1.0, "tokens": 2e12}  # fmt: skip
    found = at(**given)
    # queries and output 8192 x 8192, keys and values 8192 x 1024 each, three matrices of the MLP
    layer = 2 * 8192 * 8192 + 2 * 8192 * 1024 + 3 * 8192 * 28672
    assert found["parameters"] == 80 * layer + 32000 * 8192
    # of a layer in bytes: norms and inputs 10 bsh, queries and context 4 bsh, keys and values 4 bs 1024, gate, up and
    # product 6 bs f, scores 5 a s²
    kept = 4096 * (14 * 8192 + 4 * 1024 + 6 * 28672) + 5 * 64 * 4096**2
    assert found["memory_activations"] == 80 * kept
    assert found["steps"] == 2e12 / 4096
    assert found["time"] == pytest.approx(found["steps"] * found["step_time"], rel=1e-12)


def test_an_answer_says_whether_times_were_checked_near_it():
    given = {"layers": 24.0, "hidden": 2048.0, "heads": 16.0, "sequence": 1024.0, "global_batch": 64.0}
    fitted = at("dgx-a100-vtrain2024", **given)
    wider = at("dgx-a100-vtrain2024", **(given | {"hidden": 16384.0}))
    assert (fitted["checked"], fitted["checked_range"] <= 1.0) == (2.0, True)
    assert (wider["checked"], wider["checked_range"]) == (1.0, 2.0)
    assert (at("dgx-h100-bf16", **given)["checked"], at("dgx-h100-bf16", **given)["checked_range"]) == (
        0.0,
        0.0,
    )


def test_layers_that_were_measured_count_as_measured_there_and_nowhere_else():
    given = {"layers": 24.0, "hidden": 2048.0, "heads": 16.0, "sequence": 1024.0, "global_batch": 64.0,
             "tensor_parallel": 2.0, "micro_batch": 2.0, "recomputation": "full"}  # fmt: skip

    def more(**other: Any) -> float:
        on, off = (
            at("dgx-a100-vtrain2024", **(given | other), **{"machine.measured_layers": w}) for w in (1.0, 0.0)
        )
        return on["layer_time"] / off["layer_time"]

    assert more() == pytest.approx(1.344)
    assert more(layers=12.0, data_parallel=4.0) == pytest.approx(1.344)
    assert (
        more(micro_batch=3.0)
        == more(hidden=4096.0)
        == more(sequence=2048.0)
        == more(recomputation="none")
        == 1.0
    )
    for other in (
        {"heads": 32.0},
        {"ffn": 2048.0},
        {"head_size": 64.0},
        {"kv_heads": 2.0},
        {"activation_bytes": 1.0},
    ):
        assert more(**other) == 1.0, other


def asked(**changed: Any) -> dict[str, Any]:
    """Return a question about 512 devices; ``changed``: its sections."""
    plan = {"layers": 80, "hidden": 8192, "heads": 64, "sequence": 4096, "global_batch": 1024, "tensor_parallel": 8,
            "pipeline_parallel": 4, "data_parallel": 16, "zero": "1", "recomputation": "full"}  # fmt: skip
    question = {"model": "transformer_training", "machine": "dgx-h100-bf16", "given": plan}
    return question | {n: plan | v if n == "given" else v for n, v in changed.items()}


def test_a_machine_parameter_is_decided_with_a_proof():
    """Least bandwidth between nodes within a deadline, by hand from the parts of a step at another bandwidth."""
    plain = dse.solve(asked())
    limit = 1.02 * plain.metrics["step_time"]
    found = dse.solve(
        asked(
            decide={"machine.time_per_word": {"min": 1e-12, "max": 1e-8}},
            objective={"maximize": "machine.time_per_word"},
            limits={"step_time": {"max": limit}},
        )
    )
    assert found.status == "optimal"
    assert found.metrics["step_time"] == pytest.approx(limit, rel=1e-6)
    slower = dse.solve(asked(machine={"base": "dgx-h100-bf16", "time_per_word": 1e-9})).metrics["step_time"]
    word = machines.get("dgx-h100-bf16").parameters["time_per_word"]
    slope = (slower - plain.metrics["step_time"]) / (1e-9 - word)
    assert found.variables["machine.time_per_word"] == pytest.approx(
        word + 0.02 * plain.metrics["step_time"] / slope
    )


def test_texts_and_degrees_are_enumerated_to_what_brute_force_finds():
    degrees = {"tensor_parallel": (1, 2, 4, 8), "pipeline_parallel": (1, 2, 4), "data_parallel": (8, 16, 32)}
    texts = {"recomputation": ("none", "selective", "full"), "zero": ("0", "1")}
    decide = {n: {"values": list(v)} for n, v in (degrees | texts).items()}
    given = {"global_batch": 256, "layers": 32, "hidden": 4096, "heads": 32}
    base = asked(given=given)
    base["given"] = {n: v for n, v in base["given"].items() if n not in decide}
    found = dse.solve(
        base | {"decide": decide, "objective": {"minimize": "step_time"}, "limits": {"devices": {"max": 64}}}
    )
    best = float("inf")
    for values in itertools.product(*(degrees | texts).values()):
        plan = dict(
            zip(degrees | texts, (v if isinstance(v, str) else float(v) for v in values), strict=True)
        )
        at_plan = at(
            "dgx-h100-bf16",
            **{n: v if isinstance(v, str) else float(v) for n, v in base["given"].items()},
            **plan,
        )
        if at_plan["devices"] <= 64 and at_plan["memory_capacity"] <= 1 and at_plan["batch_split"] <= 1:
            best = min(best, at_plan["step_time"])
    assert (found.status, found.objective) == ("optimal", pytest.approx(best, rel=1e-12))


def test_a_slower_clock_takes_longer_and_draws_less():
    """Computing power goes with the cube of the clock, computing time with its inverse."""
    clocks = {"base": "dgx-h100-bf16", "clock_reference": "1.8 GHz", "clock_min": "0.9 GHz", "clock_max": "1.8 GHz",
              "clock_exponent": 3}  # fmt: skip
    fast, slow = (dse.solve(asked(machine=clocks, given={"clock": f})).metrics for f in (1.8e9, 0.9e9))
    assert fast["step_time"] == pytest.approx(dse.solve(asked()).metrics["step_time"], rel=1e-12)
    assert 1.2 < slow["step_time"] / fast["step_time"] < 2.0
    p = machines.get("dgx-h100-bf16").parameters
    # for how long devices compute, by the power that they draw then
    busy = [
        (m["power"] / m["devices"] - p["constant_power"] - p["overhead_power"]) * m["step_time"] / drawn
        for m, drawn in ((fast, p["usable_power"]), (slow, p["usable_power"] / 8))
    ]
    assert busy[0] < busy[1] < 2 * busy[0]
    assert busy[1] - busy[0] == pytest.approx(slow["step_time"] - fast["step_time"], rel=0.15)
    assert slow["power"] < fast["power"]


def test_a_run_has_a_cost_and_a_carbon():
    given = {"tokens": 1e12, "electricity_price": "0.1 USD/kWh", "lifetime": "4 yr", "power_usage_effectiveness": 1.2,
             "carbon_intensity": "400 g/kWh"}  # fmt: skip
    machine = {"base": "dgx-h100-bf16", "purchase_price": 30000}
    # a metric of cost or carbon has to be asked for
    limits = {"cost": {"max": 1e12}, "carbon": {"max": 1e15}}
    found = dse.solve(asked(machine=machine, given=given, limits=limits)).metrics
    year = 31557600.0
    bought = 512 * 30000 * found["time"] / (4 * year)
    assert found["cost"] == pytest.approx(1.2 * found["energy"] * 0.1 / 3.6e6 + bought, rel=1e-3)
    assert found["carbon_operational"] == pytest.approx(1.2 * found["energy"] * 0.4 / 3.6e6, rel=1e-9)


def test_the_last_stage_counts_where_its_logits_are_more():
    # 16 b s V bytes of 4 against what the first stage holds more: one layer of few, one micro batch in flight
    few = M22 | {"layers": 4.0, "pipeline_parallel": 2.0, "vocabulary": 256000.0, "recomputation": "full"}
    both = at(**few)
    logits = 4.0 * few["micro_batch"] * few["sequence"] * few["vocabulary"] / few["tensor_parallel"]
    assert both["device_memory"] > logits
    assert at(**(few | {"vocabulary": 1000.0}))["memory_working"] < both["memory_working"]


def test_stages_in_different_nodes_pass_messages_over_the_network():
    """Tensor, data, pipeline: four stages of 2 x 2 devices fill two nodes of eight, two stages one."""
    given = M22 | {
        "tensor_parallel": 2.0,
        "data_parallel": 2.0,
        "global_batch": 64.0,
        "sequence_parallel": "on",
    }
    sent = 2.0 * 2048 * 4 * 6144 / 2
    m = machines.get("dgx-a100-bf16").parameters

    def message(stages: float) -> float:
        found = at(**given, pipeline_parallel=stages)
        return found["step_pipeline"] / (2.0 * found["micro_batches"])

    words = sent / m["word_size"]
    assert message(1.0) == 0
    assert message(2.0) == pytest.approx(words * m["core_time_per_word"] + m.get("core_time_per_message", 0))
    assert message(4.0) == pytest.approx(words * m["time_per_word"] + m.get("time_per_message", 0))


def test_what_zero_splits_is_whole_while_a_layer_is_worked_on():
    given = M22 | {"data_parallel": 8.0, "global_batch": 64.0, "vocabulary": 1000.0}
    # parameters of a layer on each of the eight devices that share it
    layer = 12 * 6144**2 / 8
    plain, two, three = (at(**given, zero=z)["memory_working"] for z in ("1", "2", "3"))
    assert two - plain == pytest.approx(4 * layer)
    assert three - plain == pytest.approx((4 + 2 * 2) * layer)
    words = at(**(given | {"vocabulary": 256000.0}), zero="3")["memory_working"]
    least = at(**(given | {"vocabulary": 256000.0}), zero="1")["memory_working"]
    assert words - least == pytest.approx((4 + 2) * 256000 * 6144 / 8 + 2 * layer)
    assert at(**M22, zero="3")["memory_working"] == at(**M22)["memory_working"]


def test_an_exchange_hides_behind_a_pass_but_for_the_last_layers_part():
    given = M22 | {"data_parallel": 8.0, "global_batch": 256.0}
    fast = {"machine.time_per_word": 1e-11}
    alone, hidden = at(**given, **fast), at(**given, **fast, overlap="on")
    assert hidden["step_data"] == pytest.approx(alone["step_data"] / 48)
    # too slow a network hides no more than the backward pass
    slow = {"machine.time_per_word": 1e-7}
    left = at(**given, **slow)["step_data"] - at(**given, **slow, overlap="on")["step_data"]
    assert 0.6 < left / (48 * alone["layer_time"]) < 0.7
    assert at(**given, zero="3", overlap="on")["step_data"] < at(**given, zero="3")["step_data"]


def test_fused_attention_stores_no_scores_and_is_no_slower():
    separate, fused = at(**M22), at(**M22, attention="fused")
    scores = 5 * 64 * 2048**2 * 4 / 8
    assert separate["memory_activations"] - fused["memory_activations"] == pytest.approx(
        48 * (scores - 4 * 64 * 2048 * 4 / 8)
    )
    assert fused["flops"] == separate["flops"]
    assert fused["step_compute"] < separate["step_compute"]
    selective = at(**M22, attention="fused", recomputation="selective")
    # its two products, computed again
    assert selective["step_recompute"] == pytest.approx(
        48 * 4.0 * 4 * 2048**2 * 6144 / 8 * machines.get("dgx-a100-bf16").parameters["time_per_flop"]
    )


def test_a_head_of_its_own_counts_where_it_lies():
    tied, own = at(**M22), at(**M22, tied="off")
    words = 51200.0 * 6144
    assert own["parameters"] - tied["parameters"] == words
    assert own["memory_parameters"] - tied["memory_parameters"] == pytest.approx(2 * words / 8)
    staged = M22 | {"pipeline_parallel": 2.0}
    assert at(**staged, tied="off")["memory_parameters"] == at(**staged)["memory_parameters"]


@pytest.mark.parametrize("attention", ["separate", "fused"])
@pytest.mark.parametrize("recomputation", ["none", "selective", "full"])
def test_every_combination_of_choices_has_right_units(recomputation: str, attention: str):
    """Random plans rarely draw a choice whose numbers lack a unit."""
    units, known = registry(), MODEL.parameters()
    labels = {k: units.Quantity(1.0, k) for k in testing.LABELS}
    x: dict[str, Any] = {q.name: q.default for q in MODEL.inputs if q.default is not None}
    x |= {f"machine.{q.name}": q.default for q in MODEL.machine if q.default is not None}
    x |= {f"machine.{n}": v for n, v in machines.get("dgx-a100-bf16").parameters.items()}
    x |= M22 | {"recomputation": recomputation, "attention": attention}
    for zero, overlap, split in itertools.product("0123", ("off", "on"), ("off", "on")):
        asked = x | {"zero": zero, "overlap": overlap, "sequence_parallel": split}
        dressed = {
            k: v if isinstance(v, str) else units.Quantity(v, known[k].unit)
            for k, v in asked.items()
            if k in known
        }
        found = models.evaluate(MODEL, dressed, **labels)
        for q in MODEL.metrics:
            value = units.Quantity(1.0, "") * found[q.name]
            assert value.dimensionality == units.Quantity(1.0, q.unit).dimensionality, q.name
