"""Several kernels on one machine keep every promise of a model, and add up as the formulas say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from dse import machines, models
from dse.models.model import Model
from dse.models.shared.kernels import Kernel, composed, refusal
from dse.models.shared.power_held import held_together, leaks
from dse.testing import ModelContract

MACHINE = {f"machine.{n}": v for n, v in machines.get("balanced").parameters.items()}
RUNS: dict[str, Any] = {
    "forces.repeat": 7.0,
    "product.repeat": 3.0,
    "forces.bodies": 1e5,
    "forces.flops_per_pair": 10.0,
    "product.order": 1e3,
    "forces.memory": 2e3,
    "product.memory": 5e4,
}


def pair(**ways: bool) -> Model:
    """Return n-body and a matrix product with memories of their own."""
    shared = frozenset({"processors"})
    kernels = (Kernel("forces", models.get("nbody"), shared), Kernel("product", models.get("matmul"), shared))
    return composed(kernels, **ways)


def alone(name: str, **values: float) -> Mapping[str, Any]:
    return models.evaluate(models.get(name), {**MACHINE, **values})


class TestOneAfterTheOther(ModelContract):
    """N-body and a transform on the same processors."""

    model = "nbody"
    typical: ClassVar[Mapping[str, float]] = {
        "processors": 64.0,
        "forces.memory": 1e5,
        "spectrum.points": 1e9,
    }
    tries = 2

    def plain(self) -> Model:
        shared = frozenset({"processors", "all_to_all"})
        return composed(
            (Kernel("forces", models.get("nbody"), shared), Kernel("spectrum", models.get("fft"), shared))
        )


class TestIdle(ModelContract):
    """Processors of their own, those of the other kernel leaking."""

    model = "nbody"
    tries = 2

    def plain(self) -> Model:
        return composed(
            (Kernel("forces", models.get("nbody")), Kernel("product", models.get("matmul"))), idle=True
        )


class TestOverlap(ModelContract):
    """Two kernels of a roofline at the same time, under one cap."""

    model = "roofline"
    tries = 2
    # the balance that a cap never reaches is infinite by intent, and a regime is not a formula
    not_symbolic = frozenset(
        f"{k}.{n}" for k in ("a", "b") for n in ("balance_low", "balance_high", "regime", "peak_power")
    )

    def plain(self) -> Model:
        shared = frozenset({"precision", "level", "bytes_per_access", "throttle"})
        return composed([Kernel(n, models.get("roofline"), shared) for n in ("a", "b")], overlap=True)


def test_one_after_the_other_times_and_energies_add_up() -> None:
    at = models.evaluate(pair(), {**MACHINE, **RUNS, "processors": 64.0})
    forces = alone("nbody", bodies=1e5, flops_per_pair=10.0, processors=64.0, memory=2e3)
    product = alone("matmul", order=1e3, processors=64.0, memory=5e4)
    time, energy = (7 * forces[n] + 3 * product[n] for n in ("time", "energy"))
    work = 7 * 10.0 * 1e10 + 3 * 1e9
    expected = {
        "time": time,
        "energy": energy,
        "power": energy / time,
        "performance": work / time,
        "efficiency": work / energy,
        "energy_delay": energy * time,
    }
    assert {n: at[n] for n in expected} == pytest.approx(expected, rel=1e-14)
    for name, own in (("forces", forces), ("product", product)):
        assert {n: at[f"{name}.{n}"] for n in own} == pytest.approx(dict(own), rel=1e-15)


def test_idle_processors_leak_while_the_other_kernel_runs() -> None:
    kernels = (Kernel("forces", models.get("nbody")), Kernel("product", models.get("matmul")))
    x = {**MACHINE, **RUNS, "forces.processors": 64.0, "product.processors": 16.0}
    off, on = (models.evaluate(composed(kernels, idle=idle), x) for idle in (False, True))
    idle = MACHINE["machine.leakage_power"] * (64.0 - 16.0) * 3 * on["product.time"]
    assert on["energy"] == pytest.approx(off["energy"] + idle, rel=1e-13)
    assert on["time"] == off["time"]


def test_kernels_that_overlap_draw_what_is_constant_once() -> None:
    """By hand: dynamic energies add, the longest time, memories together, leakage of the processors once."""
    model = pair(overlap=True)
    at = models.evaluate(model, {**MACHINE, **RUNS, "processors": 64.0, "machine.memory_capacity": 1e5})
    m = machines.get("balanced").parameters
    word = m["energy_per_word"] + m["energy_per_message"] / m["max_message"]
    spent = 7 * (m["energy_per_flop"] * 1e11 + word * 1e10 / 2e3)
    spent += 3 * (m["energy_per_flop"] * 1e9 + word * 1e9 / 5e4**0.5)
    time = max(7 * at["forces.time"], 3 * at["product.time"])
    drawn = 64.0 * (m["leakage_power"] + m["memory_power_per_word"] * (2e3 + 5e4))
    assert at["time"] == time
    assert at["energy"] == pytest.approx(spent + drawn * time, rel=1e-13)
    # both memories have to fit, and no kernel has that limit of its own
    assert at["memory_capacity"] == pytest.approx(0.52, rel=1e-14)
    assert "forces.memory_capacity" not in at
    assert [x.name for x in model.limits if "capacity" in x.name] == ["memory_capacity"]


def test_kernels_that_overlap_share_the_usable_power() -> None:
    """Each alone is within the cap, both together are not: the whole takes as long as the cap makes it."""
    machine = {
        "time_per_flop": 1e-12,
        "energy_per_flop": 30e-12,
        "time_per_byte": 4e-12,
        "energy_per_byte": 200e-12,
    }
    machine |= {"constant_power": 20.0, "usable_power": 60.0}
    shared = frozenset({"precision", "level", "bytes_per_access", "throttle"})
    kernels = [Kernel(n, models.get("roofline"), shared) for n in ("compute", "stream")]
    x = {f"machine.{n}": v for n, v in machine.items()}
    x |= {"compute.repeat": 1.0, "compute.flops": 1e12, "compute.bytes": 0.0}
    x |= {"stream.repeat": 1.0, "stream.flops": 0.0, "stream.bytes": 2.5e11}
    x |= {"precision": "single", "level": "memory", "bytes_per_access": 1.0, "throttle": 1.0}  # type: ignore[dict-item]
    at = models.evaluate(composed(kernels, overlap=True), x)
    assert (at["compute.time"], at["stream.time"]) == (1.0, 1.0)
    assert at["time"] == pytest.approx((30.0 + 50.0) / 60.0, rel=1e-14)
    assert at["energy"] == pytest.approx(80.0 + 20.0 * 80.0 / 60.0, rel=1e-14)


def test_what_can_be_a_kernel() -> None:
    able = {m.name for m in models.every() if not refusal(m)}
    distributed = {"nbody", "matmul", "strassen", "lu", "fft", "matmul_two_level", "nbody_two_level"}
    assert able >= {*distributed, "roofline"}
    assert "map of machines" in refusal(models.get("partition"))
    assert "lists" in refusal(models.get("dvfs"))
    assert all(leaks(models.get(n)) for n in distributed)
    assert not leaks(models.get("roofline"))
    page = (Path(__file__).parents[2] / "docs" / "kernels.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| `model` |"))
    assert not [name for name in able if f"`{name}`" not in row]
    assert held_together(models.get("nbody_two_level")) == {"node_memory_capacity", "core_memory_capacity"}


def test_a_name_says_which_models_there_are() -> None:
    one, other = models.get("nbody"), models.get("fft")
    kernels = [Kernel("a", one), Kernel("b", other), Kernel("c", one)]
    assert composed(kernels).name == "2 × nbody + fft"
    assert composed(kernels, overlap=True).name == "2 × nbody + fft, overlapped"


def test_kernels_disagree_about_a_parameter() -> None:
    """A machine parameter in two units is refused, whoever brings the model."""
    from dataclasses import replace

    odd = models.get("lu")
    odd = replace(
        odd, machine=tuple(replace(q, unit="s") if q.name == "time_per_flop" else q for q in odd.machine)
    )
    with pytest.raises(ValueError, match="time_per_flop is not the same"):
        composed((Kernel("a", models.get("nbody")), Kernel("b", odd)))
