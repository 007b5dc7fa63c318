"""Training of a decoder: memory against arXiv 2205.05198, times in parts, and how plans compare."""

from __future__ import annotations

from typing import Any

import pytest

from dse import machines, models

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
    assert at(**(M175 | {"global_batch": 4.0}))["schedule"] == 2.0
