"""Random points of every model, drawn from its own declarations."""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import strategies as st

from dse import models
from dse.models.model import Model, extended
from dse.models.platforms import roofline_levels
from dse.models.platforms.dvfs_energy import SETTING
from dse.models.shared.structure import Parts, Row
from dse.quantities import Quantity

# wide enough for every term of every sum to count somewhere
RANGES = {
    "exponent": (2.1, 2.9),
    "processors": (1.0, 1e6),
    "points": (2.0, 1e9),
    "throttle": (1.0, 8.0),
    "torus_dimensions": (1.0, 6.0),
    "fat_tree_arity": (2.0, 64.0),
    "count": (1.0, 8.0),
    "parallelism": (1.0, 8.0),
}
CENTRES = {
    "s/flop": 1e-9,
    "s/word": 1e-8,
    "s/message": 1e-6,
    "s/byte": 1e-9,
    "s/access": 1e-7,
    "J/byte": 1e-9,
    "J/access": 1e-7,
    "byte/access": 64.0,
    "J/flop": 1e-9,
    "J/word": 1e-7,
    "J/message": 1e-6,
    "W/word": 1e-6,
    "W": 1.0,
    "Hz": 1e9,
    "V": 1.0,
    "A": 1.0,
    "J/op": 1e-9,
    "op/s": 1e8,
    "USD*s/op": 1e-8,
    "F/flop": 1e-9,
    "F/op": 1e-9,
    "F/byte": 1e-9,
    "F": 1e-9,
    "failure/s": 1e-9,
    "V/K": 1e-4,
    "K": 300.0,
    "USD/Hz": 1e-18,
    "ohm": 1e-6,
    "W/byte": 1e-6,
    "byte/s": 1e9,
    "byte/cycle": 1.0,
}


# parameters that hypothesis draws one by one
MANY = 100
# lists with which a model over lists is tried like any other; two processors, whom categories are for
EXAMPLES = {
    "partition": Parts(
        rows={
            "regions": (Row("a"), Row("b", {"divisible": False}), Row("c", {"independent": True})),
            "transfers": (Row("t", refers={"from": "a", "to": "c"}),),
        },
        machines=("cpu", "gpu"),
    ),
    "blocks": Parts(machines=("big", "small")),
    "sockets": Parts(
        rows={"levels": (Row("full"), Row("low")), "cards": (Row("of 4"), Row("of 64"))},
        machines=("big", "small"),
    ),
    "exabounds": Parts(
        rows={
            "data_reuse": (
                Row("near", stated=frozenset({"distance", "share"})),
                Row("far", stated=frozenset({"distance", "share"})),
                Row("first", stated=frozenset({"share"})),
            )
        }
    ),
    "dvfs": Parts(
        rows={
            "phases": (
                Row("a", stated=frozenset({"flops", "integer_operations", "bytes"})),
                Row("b", stated=frozenset({"flops_double", "bytes_shared", "bytes_L2"})),
                Row("c", stated=frozenset({"bytes", "times"})),
            )
        },
        # the last one has costs by its voltages
        settings=tuple(
            {"name": name} | {q.name: 1.0 for q in SETTING if name != "volts" or q.unit in {"Hz", "V"}}
            for name in ("high", "low", "volts")
        ),
    ),
}


# models as questions ask them that state more: several levels of memory, or a network
STATED = {
    "roofline, levels": ("roofline", roofline_levels.NAMES),
    "blocks, levels": ("blocks", roofline_levels.NAMES),
    "nbody, torus": ("nbody", ("machine.torus_dimensions",)),
    "fft, fat tree": ("fft", ("machine.fat_tree_arity",)),
    "matmul_two_level, torus": ("matmul_two_level", ("machine.torus_dimensions",)),
    "partition, period": ("partition", ("period",)),
    "dvfs, period": ("dvfs", ("period",)),
}
# of models over lists: without it they have no energy of idling
PERIOD = "period"


def flat(name: str) -> Model:
    """Return a model with equations: a model over lists, with example lists; what is not stated is left out."""
    plain, stated = STATED.get(name, (name, ()))
    model = models.get(plain)
    if model.expand is not None:
        model = model.expand(replace(EXAMPLES[plain], asked=dict.fromkeys(stated)))
    model = extended(model, [n for n in stated if n in model.further])
    left_out = {*model.further, *({PERIOD} - set(stated))}
    return replace(
        model,
        inputs=tuple(q for q in model.inputs if q.name not in left_out),
        machine=tuple(q for q in model.machine if f"machine.{q.name}" not in model.further),
    )


def ends(q: Quantity) -> tuple[float, float]:
    if q.maximum == 1.0:
        return 0.05, 0.95
    if math.isfinite(q.maximum):
        return max(q.minimum, 0.05 * q.maximum), 0.95 * q.maximum
    centre = CENTRES.get(q.unit, 1e3)
    return RANGES.get(q.name.partition(".")[0] if q.index else q.name, (centre / 30, centre * 30))


def value(q: Quantity) -> st.SearchStrategy[Any]:
    if q.choices:
        return st.sampled_from(q.choices)
    if q.menu:
        return st.integers(1, len(q.menu)).map(float)
    return st.floats(*ends(q))


def seeded(parameters: Mapping[str, Quantity], fixed: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw hundreds of numbers from one seed, since hypothesis refuses inputs of that size."""

    def point(seed: int) -> dict[str, Any]:
        chance = random.Random(seed)
        return {k: chance.uniform(*ends(q)) for k, q in parameters.items()} | dict(fixed)

    return st.integers(0, 2**32 - 1).map(point)


@pytest.fixture(scope="session")
def plain() -> Callable[[str], Model]:
    """Return a function that gives the model of a name with equations, however it takes its inputs."""
    return flat


@pytest.fixture(scope="session")
def points() -> Callable[..., st.SearchStrategy[dict[str, Any]]]:
    """Return a function that gives the strategy of a model's points: a value for every parameter."""

    def of(name: str, **fixed: Any) -> st.SearchStrategy[dict[str, Any]]:
        parameters = flat(name).parameters()
        if len(parameters) > MANY:
            return seeded(parameters, fixed)
        return st.fixed_dictionaries(
            {k: st.just(fixed[k]) if k in fixed else value(q) for k, q in parameters.items()}
        )

    return of


@pytest.fixture(scope="session")
def system() -> Callable[..., dict[str, Any]]:
    """Return a function that evaluates exabounds: defaults, changed by what it is given by name."""
    model = models.get("exabounds")
    base = {k: q.default for k, q in model.parameters().items() if q.default is not None}
    needed = {
        "instructions": 1e12,
        "machine.frequency": 1e9,
        "machine.voltage": 1.0,
        "machine.dynamic_capacitance": 1e-9,
    }

    def run(changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return dict(models.evaluate(model, {**base, **needed, **(changes or {})}))

    return run
