"""A model with definitions keeps every promise that a model keeps: one arithmetic, whatever it runs on."""

import pickle
from typing import Any, ClassVar

import numpy as np
import pytest

import dse
import scenarios
from dse.models import evaluate
from dse.models.model import Model
from dse.testing import ModelContract

BASE = {"model": "nbody", "machine": "jaketown", "given": {"bodies": 1e6, "flops_per_pair": 20}}


def model_of(**more: Any) -> Model:
    asked = {**BASE, **more}
    return scenarios.grid(dse.load(asked)).question(()).model


CLOCKED = {
    "given": {**BASE["given"], "runs": 1e6, "processors": 64, "order": 3},
    "decide": {"clock": {"min": "0.8 GHz", "max": "3.2 GHz"}, "block": {"min": 10, "max": 1e5}},
    "define": {
        "voltage": "0.6 V + 0.17 V/GHz * clock",
        "machine.time_per_flop": "1 / (16 flop/cycle * clock)",
        "machine.energy_per_flop": "machine.energy_per_flop * (voltage / 1.2 V)**2",
        "memory": "block**2",
        "price": "9000 USD * processors + 0.2 USD/kWh * energy * runs",
        "energy_delay_squared": "energy * time**2",
        "spread": "log2(1 + block) * exp(-clock / 1 GHz)",
        "nearest": "minimum(time, 2 s) + maximum(time, 1 s, 3 ns)",
        "left": "10 s - time",
        "root": "sqrt(energy * power * time)",
        "broken": "(clock / 1 GHz)**1.5 * order**0.5",
    },
}


class TestDefinitions(ModelContract):
    """Units, arrays, formulas, posynomials and intervals of a model with definitions agree with floats."""

    model = "nbody"
    tries = 3
    typical: ClassVar[dict[str, float]] = {
        "bodies": 1e6,
        "flops_per_pair": 20.0,
        "clock": 2e9,
        "block": 100.0,
        "runs": 1e6,
        "order": 3.0,
        "processors": 64.0,
        "machine.energy_per_flop": 4e-10,
        "machine.time_per_word": 1.6e-10,
        "machine.time_per_message": 6e-8,
        "machine.energy_per_word": 3.4e-10,
        "machine.energy_per_message": 1e-9,
        "machine.memory_power_per_word": 1.4e-9,
        "machine.leakage_power": 1.0,
        "machine.max_message": 1e6,
        "machine.word_size": 4.0,
        "machine.memory_capacity": 1e9,
    }

    def plain(self) -> Model:
        return model_of(**CLOCKED)


def test_definitions_are_computed_as_written():
    """Every definition against the same formula in Python."""
    model = model_of(**CLOCKED)
    clock, block, runs, order, p = 2.5e9, 120.0, 1e6, 3.0, 64.0
    x = {"bodies": 1e6, "flops_per_pair": 20.0, "runs": runs, "processors": p, "order": order, "clock": clock}
    machine = {f"machine.{n}": v for n, v in dse.machines.get("jaketown").parameters.items()}
    at = evaluate(model, {**machine, **x, "block": block})
    voltage = 0.6 + 0.17e-9 * clock
    assert at["voltage"] == pytest.approx(voltage, rel=1e-14)
    assert at["machine.time_per_flop"] == pytest.approx(1 / (16 * clock), rel=1e-14)
    own = machine["machine.energy_per_flop"]
    assert at["machine.energy_per_flop"] == pytest.approx(own * (voltage / 1.2) ** 2, rel=1e-14)
    assert at["memory"] == block**2
    words = 1e12 / (p * block**2)
    flops = 20e12 / p
    time = flops / (16 * clock) + machine["machine.time_per_word"] * words
    time += machine["machine.time_per_message"] * words / machine["machine.max_message"]
    assert at["time"] == pytest.approx(time, rel=1e-13)
    assert at["price"] == pytest.approx(9000 * p + 0.2 / 3.6e6 * at["energy"] * runs, rel=1e-13)
    assert at["energy_delay_squared"] == pytest.approx(at["energy"] * time**2, rel=1e-13)
    assert at["nearest"] == pytest.approx(min(time, 2) + max(time, 1), rel=1e-13)
    assert at["left"] == pytest.approx(10 - time, rel=1e-13)
    assert at["root"] == pytest.approx(at["energy"], rel=1e-13)
    assert at["broken"] == pytest.approx((clock / 1e9) ** 1.5 * order**0.5, rel=1e-13)


@pytest.mark.parametrize(
    ("expression", "unit"),
    [
        ("energy * time**2", "J*s^2"),
        ("9000 USD * processors / (1 flop)", "USD/flop"),
        ("energy / time", "W"),
        ("bodies", ""),
        ("power * 1 yr * 0.3 USD/kWh", "USD"),
        ("memory * 1 W / time", "W*word/s"),
        ("0.4 kg/kWh * energy", "kg"),
        ("1 / time**2", "1/s^2"),
        ("1 m**2 / (1 s**6 * 1 s**6)", "m^2/s^9/s^3"),
    ],
)
def test_a_definition_has_the_unit_of_its_expression(expression: str, unit: str):
    more = {"decide": {"processors": {}, "memory": {}}, "define": {"x": expression}}
    found = model_of(**more).metric("x").unit
    if unit is not None:
        assert dse.quantities.dimension(found) == dse.quantities.dimension(unit), found
    assert dse.quantities.kind(found)
    shown = dse.quantities.show(1.5, found)
    assert dse.quantities.to_si(shown, found) == pytest.approx(1.5, rel=1e-5)


def test_a_composed_model_goes_to_other_processes():
    model = model_of(**CLOCKED)
    copy = pickle.loads(pickle.dumps(model))
    x = {n: np.float64(2.0) for n in model.parameters()}
    assert dict(evaluate(copy, x)) == dict(evaluate(model, x))
