"""Hops by the network that a machine states: the formulas against a count of links, and what they multiply."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from dse import machines, models
from dse.models.model import extended
from dse.models.platforms import network
from formulations.arithmetics.posynomial import Ratio, symbol

# the same products in another order
CLOSE = 1e-12
WORK: dict[str, dict[str, Any]] = {
    "nbody": {"bodies": 1e6, "flops_per_pair": 20.0, "memory": 1e4},
    "matmul": {"order": 1e4, "memory": 1e6},
    "strassen": {"order": 1e4, "memory": 1e6, "exponent": 2.8},
    "lu": {"order": 1e4, "memory": 1e6},
    "fft": {"points": 1e9, "all_to_all": "naive"},
}
TWO_LEVELS = {"cores": 4.0, "node_memory": 1e5, "core_memory": 1e4}
WORK |= {
    "nbody_two_level": {"bodies": 1e6, "flops_per_pair": 20.0, **TWO_LEVELS},
    "matmul_two_level": {"order": 1e4, **TWO_LEVELS},
}


def machine(name: str) -> dict[str, float]:
    if "two_level" in name:
        return {
            q.name: 1e-9 if q.default is None else q.default
            for q in models.get(name).machine
            if not q.optional
        }
    own = machines.get("balanced").parameters
    return {q.name: own[q.name] for q in models.get(name).machine if q.name in own}


def run(name: str, m: dict[str, float], p: Any, stated: tuple[str, ...] = ()) -> dict[str, Any]:
    count = "nodes" if "two_level" in name else "processors"
    x = {f"machine.{k}": v for k, v in m.items()} | WORK[name] | {count: p}
    return dict(models.evaluate(extended(models.get(name), stated), x))


@pytest.mark.parametrize(("radix", "dimensions"), [(2, 1), (4, 1), (4, 2), (6, 2), (4, 3), (2, 6)])
def test_the_average_way_on_a_torus_is_that_of_every_pair(radix: int, dimensions: int):
    """All ways from one processor, itself included, along rings of an even number of processors."""
    ways = [min(i, radix - i) for i in range(radix)]
    every = [sum(way) for way in itertools.product(ways, repeat=dimensions)]
    m = machine("nbody") | {"torus_dimensions": float(dimensions)}
    found = run("nbody", m, float(radix**dimensions), ("machine.torus_dimensions",))
    assert found["hops"] == pytest.approx(sum(every) / len(every), rel=CLOSE)


@pytest.mark.parametrize(("arity", "levels"), [(2, 1), (2, 5), (4, 3), (16, 2)])
def test_the_way_by_the_root_of_a_tree_is_that_up_and_down(arity: int, levels: int):
    m = machine("fft") | {"fat_tree_arity": float(arity)}
    found = run("fft", m, float(arity**levels), ("machine.fat_tree_arity",))
    assert found["hops"] == pytest.approx(2 * levels, rel=CLOSE)


@pytest.mark.parametrize("name", WORK)
@pytest.mark.parametrize("stated", ["torus_dimensions", "fat_tree_arity"])
def test_a_network_is_as_much_dearer_as_it_has_hops(name: str, stated: str):
    """Dearer words and messages on one link cost what words and messages on several links do."""
    p, m = 64.0, machine(name)
    h = 3 / 4 * 64 ** (1 / 3) if stated == "torus_dimensions" else 2 * math.log(64) / math.log(8)
    level = "node_" if "two_level" in name else ""
    dearer = {f"{level}energy_per_word", f"{level}energy_per_message", f"{level}time_per_message"}
    dearer |= {f"{level}time_per_word"} if stated == "torus_dimensions" else set()
    wanted = run(name, {k: v * h if k in dearer else v for k, v in m.items()}, p)
    found = run(name, m | {stated: 3.0 if stated == "torus_dimensions" else 8.0}, p, (f"machine.{stated}",))
    assert found.pop("hops") == pytest.approx(h, rel=CLOSE)
    assert found == pytest.approx(wanted, rel=CLOSE)
    # what is sent stays what it is
    sent = [f"{level}words", f"{level}messages"]
    assert [found[n] for n in sent] == [run(name, m, p)[n] for n in sent]


@pytest.mark.parametrize("name", WORK)
@pytest.mark.parametrize("stated", ["torus_dimensions", "fat_tree_arity"])
def test_the_parts_of_time_and_energy_add_up(name: str, stated: str):
    """What the model declares of its sums takes the hops along, so that pictures of them are whole."""
    m = machine(name) | {stated: 5.0}
    p: dict[str, Any] = {"nodes": 64.0} if "two_level" in name else {"processors": 64.0}
    numbers = {f"machine.{k}": v for k, v in m.items()} | WORK[name] | p
    numbers |= run(name, m, 64.0, (f"machine.{stated}",))
    for total in extended(models.get(name), [f"machine.{stated}"]).sums:
        parts = [math.prod(numbers[n] for n in term.factors) for term in total.terms]
        assert sum(parts) == pytest.approx(numbers[total.metric], rel=CLOSE)


def test_a_torus_leaves_a_geometric_program_one():
    m = machine("matmul") | {"torus_dimensions": 3.0}
    x = {f"machine.{k}": v for k, v in m.items()} | {"order": 1e4}
    model = extended(models.get("matmul"), ["machine.torus_dimensions"])
    found = models.evaluate(model, x | {"processors": symbol("p"), "memory": symbol("M")})
    assert all(isinstance(found[n], Ratio) for n in ("time", "energy", "hops"))
    assert len(found["hops"].numerator.terms) == 1


def test_dimensions_may_be_an_axis():
    dimensions = np.array([1.0, 2.0, 3.0])
    m = machine("nbody") | {"torus_dimensions": dimensions}
    found = run("nbody", m, 64.0, ("machine.torus_dimensions",))
    np.testing.assert_allclose(found["hops"], dimensions / 4 * 64 ** (1 / dimensions), rtol=CLOSE)


def test_one_machine_has_one_network():
    with pytest.raises(ValueError, match="two networks"):
        extended(models.get("nbody"), network.NAMES)
