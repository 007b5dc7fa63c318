"""Cost and carbon of a run: units, all arithmetics, and the formula by hand for every kind of hardware."""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

import dse
from dse import machines, models
from dse.models.model import Model
from dse.models.shared.economics import ACCOUNTS, CARBON, COST, priced, quantities, refusal
from dse.models.shared.grids import GRIDS
from dse.models.shared.kernels import Kernel, composed
from dse.models.shared.structure import Parts, Row
from dse.testing import ModelContract

SOURCES = Path(str(files("dse.machines"))) / "sources" / "act"
JAKETOWN = {f"machine.{n}": v for n, v in machines.get("jaketown").parameters.items()}
SITE = {
    "electricity_price": 0.2 / 3.6e6,
    "carbon_intensity": 0.4 / 3.6e6,
    "lifetime": 4 * 365.25 * 86400,
    "utilisation": 0.6,
    "power_usage_effectiveness": 1.3,
}
PRICES = {
    "purchase_price": 2000.0,
    "memory_price_per_word": 3e-8,
    "embodied_carbon": 30.0,
    "memory_carbon_per_word": 2.6e-10,
}
OWNED = {f"machine.{n}": v for n, v in PRICES.items()}
EXAMPLES = {
    "partition": Parts(rows={"regions": (Row("a"), Row("b"))}, machines=("cpu", "gpu")),
    "blocks": Parts(machines=("big", "small")),
    "dvfs": Parts(
        rows={"phases": (Row("a", stated=frozenset({"flops", "times"})),)},
        settings=({"name": "high", "energy_per_flop": 1.0, "constant_power": 1.0, "core_frequency": 1.0},),
    ),
    "sockets": Parts(rows={"levels": (Row("full"),), "cards": (Row("of 4"),)}, machines=("big",)),
}


def flat(name: str) -> Model:
    model = models.get(name)
    return model if name not in EXAMPLES or model.expand is None else model.expand(EXAMPLES[name])


class TestDistributed(ModelContract):
    """N-body with its cost and its carbon, electricity of a named grid."""

    model = "nbody"
    typical: ClassVar[Mapping[str, float]] = {**JAKETOWN, **OWNED, "bodies": 1e6, "processors": 64.0}
    tries = 1

    def plain(self) -> Model:
        return priced(models.get("nbody"), ACCOUNTS, grid=True)


class TestOverlapped(ModelContract):
    """Two kernels at the same time: the hardware of the larger one, to the end."""

    model = "nbody"
    typical: ClassVar[Mapping[str, float]] = {**JAKETOWN, **OWNED, "spectrum.points": 1e9}
    tries = 1

    def plain(self) -> Model:
        return priced(pair(overlap=True), ACCOUNTS)


def pair(**ways: bool) -> Model:
    """Return n-body and a transform on processors of their own."""
    return composed((Kernel("forces", models.get("nbody")), Kernel("spectrum", models.get("fft"))), **ways)


def by_hand(time: float, energy: float, price: float, carbon: float) -> dict[str, float]:
    share = time / (SITE["lifetime"] * 0.6)
    electricity = {"cost": energy * 1.3 * 0.2 / 3.6e6, "carbon": energy * 1.3 * 0.4 / 3.6e6}
    hardware = {"cost": price * share, "carbon": carbon * share}
    return {
        **{k: electricity[k] + hardware[k] for k in electricity},
        "cost_electricity": electricity["cost"],
        "cost_purchase": hardware["cost"],
        "carbon_operational": electricity["carbon"],
        "carbon_embodied": hardware["carbon"],
    }


def totals(model: Model, x: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, float]]:
    """Return all metrics of a model with its totals, and those alone."""
    found = models.evaluate(priced(model, ACCOUNTS), {**x, **SITE})
    return found, {q.name: found[q.name] for a in ACCOUNTS for q in a.metrics}


def test_processors_and_the_memory_that_is_used_are_paid_for():
    x = {"bodies": 1e6, "flops_per_pair": 20.0, "processors": 100.0, "memory": 5e4, **JAKETOWN, **OWNED}
    at, found = totals(models.get("nbody"), x)
    price, carbon = 100 * (2000 + 5e4 * 3e-8), 100 * (30 + 5e4 * 2.6e-10)
    assert found == pytest.approx(by_hand(at["time"], at["energy"], price, carbon), rel=1e-13)
    plain = models.evaluate(models.get("nbody"), x)
    assert {n: at[n] for n in plain} == plain


def test_the_memory_of_a_transform_is_what_it_holds():
    x = {"points": 1e9, "all_to_all": "tree", "processors": 1000.0, **JAKETOWN, **OWNED}
    at, found = totals(models.get("fft"), x)
    price, carbon = 1000 * 2000 + 1e9 * 3e-8, 1000 * 30 + 1e9 * 2.6e-10
    assert found == pytest.approx(by_hand(at["time"], at["energy"], price, carbon), rel=1e-13)


def test_of_two_levels_cores_and_both_memories_are_paid_for():
    machine = {f"machine.{n}": v for n, v in machines.get("dgx-h100").parameters.items()}
    inputs = {"order": 1e5, "nodes": 4.0, "cores": 8.0, "node_memory": 1e9, "core_memory": 1e7}
    at, found = totals(models.get("matmul_two_level"), {**machine, **inputs, **OWNED})
    price, carbon = (32 * one + (4 * 1e9 + 32 * 1e7) * word for one, word in ((2000, 3e-8), (30, 2.6e-10)))
    assert found == pytest.approx(by_hand(at["time"], at["energy"], price, carbon), rel=1e-13)


def test_a_roofline_is_one_processor():
    machine = {f"machine.{n}": v for n, v in machines.get("h100-sxm").parameters.items()}
    x = {"flops": 1e15, "bytes": 1e14, "precision": "single", "level": "memory", "bytes_per_access": 1.0}
    at, found = totals(models.get("roofline"), {**machine, **x, "throttle": 1.0, **OWNED})
    assert found == pytest.approx(by_hand(at["time"], at["energy"], 2000, 30), rel=1e-13)


@pytest.mark.parametrize(("name", "numbers"), [("blocks", (3.0, 5.0)), ("partition", (1.0, 1.0))])
def test_every_machine_of_a_map_has_its_own_price(name: str, numbers: tuple[float, float]):
    model = flat(name)
    entries = EXAMPLES[name].machines
    x: dict[str, Any] = {}
    # what these ask of a machine is not asked of this one
    levels = {"flops_double", "bytes_L2", "bytes_L1", "accesses"}
    for q in (q for q in priced(model, ACCOUNTS).parameters().values() if q.name not in levels):
        x[q.name] = 0.3 if q.maximum == 1.0 else q.choices[0] if q.choices else q.default or 2.0
    left_out = {*SITE, *model.further}
    x = {
        n: x[n] for n in x if n not in left_out and f"machine.{n}" not in priced(model, ACCOUNTS).parameters()
    } | {f"machine.{q.name}": 1e-9 if q.unit.startswith(("s/", "J/")) else 50.0 for q in model.machine}
    for entry, count, price, carbon in zip(entries, numbers, (900.0, 70.0), (12.0, 5.0), strict=True):
        x |= {f"machine.{entry}.purchase_price": price, f"machine.{entry}.embodied_carbon": carbon}
        x |= {f"count.{entry}": count} if name == "blocks" else {}
    at, found = totals(model, x)
    price = numbers[0] * 900 + numbers[1] * 70
    carbon = numbers[0] * 12 + numbers[1] * 5
    assert found == pytest.approx(by_hand(at["time"], at["energy"], price, carbon), rel=1e-12)


KERNELS = {
    "forces.repeat": 7.0,
    "spectrum.repeat": 3.0,
    "forces.bodies": 1e5,
    "forces.flops_per_pair": 10.0,
    "forces.processors": 64.0,
    "forces.memory": 1e4,
    "spectrum.points": 1e7,
    "spectrum.all_to_all": "tree",
    "spectrum.processors": 16.0,
}


@pytest.mark.parametrize("way", ["one after the other", "idle", "overlap"])
def test_kernels_pay_for_what_they_keep_busy(way: str):
    """Alone each pays for its own; processors that idle, and those of kernels that overlap, are kept to the end."""
    model = pair(**({} if way == "one after the other" else {way: True}))
    at, found = totals(model, {**JAKETOWN, **KERNELS, **OWNED})
    forces, spectrum = 7 * at["forces.time"], 3 * at["spectrum.time"]
    paid = []
    for one, word in ((2000, 3e-8), (30, 2.6e-10)):
        memories = 64 * 1e4 * word, 1e7 * word
        if way == "overlap":
            whole = (64 * one + sum(memories)) * at["time"]
        else:
            processors = 64 * one * at["time"] if way == "idle" else 64 * one * forces + 16 * one * spectrum
            whole = processors + memories[0] * forces + memories[1] * spectrum
        paid.append(whole / at["time"])
    assert found == pytest.approx(by_hand(at["time"], at["energy"], *paid), rel=1e-12)


def test_every_model_has_totals_but_those_with_a_cost_of_their_own():
    without = {n for n in models.built_in_names() if refusal(flat(n))}
    assert without == {"exabounds", "sockets"}
    assert {n for n in models.built_in_names() if not quantities(models.get(n))} == without
    names = {n for n, _ in quantities(models.get("nbody"))}
    assert {"grid", "carbon_intensity", "lifetime", "machine.purchase_price", "cost", "carbon"} <= names


def test_blocks_that_are_on_and_idle_cost_without_end_and_those_of_no_block_nothing():
    """Work that is never done keeps one kind for ever; of the other kind there is no block."""
    priced = {"purchase_price": 100.0, "embodied_carbon": 10.0}
    asked: dict[str, Any] = {
        "model": "blocks",
        "machine": {b: {"base": "gtx-titan-choi2014", **priced} for b in ("a", "b")},
        "given": {"flops": 1e12, "intensity": 1.0, "sharing": "free", "count.a": 0, "count.b": 1}
        | {"busy.a": 0.0, "busy.b": 0.0, "electricity_price": 4e-8, "carbon_intensity": 1e-7}
        | {"lifetime": 1e8, "utilisation": 0.7},
    }
    names = ("energy", "cost", "cost_purchase", "carbon", "carbon_embodied")
    assert [dse.solve(asked).metrics[n] for n in names] == [math.inf] * len(names)
    lines = {"path": "given.intensity", "start": 1.0, "stop": 30.0, "num": 30}
    many = dse.sweep({**asked, "sweep": {"intensity": lines}}, progress=False)
    assert all((many[n] == math.inf).all() for n in names)
    unsure = {"intensity": {"uniform": [0.5, 2.0]}, "sampling": {"samples": 16}}
    left = {n: v for n, v in asked["given"].items() if not n.startswith(("count", "busy"))}
    decided = {
        **asked,
        "given": left,
        "uncertain": unsure,
        "decide": {"count.a": {"max": 6}, "count.b": {"max": 3}},
        "objective": {"minimize": "nameplate_power", "measure": "mean"},
    }
    found = dse.solve(decided)
    assert not any(math.isnan(found.metrics[n]) for n in names)


def test_one_total_asks_for_nothing_of_the_other():
    nbody = models.get("nbody")
    cost, carbon = (set(priced(nbody, [a]).parameters()) - set(nbody.parameters()) for a in (COST, CARBON))
    shared = {"lifetime", "utilisation", "power_usage_effectiveness"}
    assert cost == shared | {"electricity_price", "machine.purchase_price", "machine.memory_price_per_word"}
    assert carbon == shared | {
        "carbon_intensity",
        "machine.embodied_carbon",
        "machine.memory_carbon_per_word",
    }


def test_a_model_with_totals_goes_to_other_processes():
    made = priced(pair(overlap=True), ACCOUNTS, grid=True)
    assert pickle.loads(pickle.dumps(made)).parameters() == made.parameters()


def test_the_page_lists_every_grid():
    page = (Path(__file__).parents[2] / "docs" / "cost_and_carbon.md").read_text(encoding="utf-8")
    for name, intensity in GRIDS.items():
        assert f"| `{name}` | {intensity * 3.6e9:g} |" in page


def test_the_page_names_every_model_that_has_totals():
    page = (Path(__file__).parents[2] / "docs" / "cost_and_carbon.md").read_text(encoding="utf-8")
    beginning = page.partition("## Inputs")[0]
    assert not [m.name for m in models.every() if quantities(m) and f"`{m.name}`" not in beginning]


def test_grids_are_as_acts_files_have_them():
    printed = {
        name: float(text.split()[0]) / 3.6e9
        for file in ("location_2023", "source")
        for name, text in yaml.safe_load((SOURCES / f"{file}.yaml").read_text()).items()
    }
    assert pytest.approx(printed, rel=1e-12) == GRIDS


@pytest.mark.parametrize("name", ["dvfs_least_carbon", "partition_grace_h100_cheapest"])
def test_hardware_that_idles_out_a_period_is_kept_for_all_of_it(name: str):
    asked = dse.load(name).model_dump(exclude_none=True, exclude_unset=True)
    total = asked["objective"]["minimize"][0]
    making = {"carbon": "carbon_embodied", "cost": "cost_purchase"}[total]
    run = dse.solve(asked)
    period = 3 * run.metrics["time"]
    asked["given"]["period"] = period
    kept = dse.solve(asked)
    assert kept.status == "optimal"
    assert kept.metrics[making] == pytest.approx(
        run.metrics[making] / run.metrics["time"] * period, rel=1e-12
    )
