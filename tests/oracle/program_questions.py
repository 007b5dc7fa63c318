"""Questions over amounts that may be 0 and picks from menus, and every design of them written out by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dse.models.model import Model, ModelLimit
from dse.models.partitions.partition import PARTITION
from dse.models.platforms.blocks import BLOCKS
from dse.models.shared.structure import Parts, Row
from dse.quantities import Quantity
from scenarios.question import Decision, Limit, Objective, Question

Equations = Callable[[Any], Mapping[str, Any]]


def amount(name: str, top: float = np.inf, menu: Sequence[str] = ()) -> Quantity:
    """An input that may be 0, or one that picks from a menu."""
    if menu:
        size = float(len(menu))
        return Quantity(name, "", "", name, minimum=1.0, maximum=size, menu=tuple(menu))
    return Quantity(name, "", "", name, maximum=top, floor=0.0)


def toy(
    equations: Equations,
    decide: Mapping[str, Decision],
    goal: str | None = None,
    *,
    maximize: bool = False,
    limits: Sequence[Limit] = (),
    own: Sequence[str] = (),
    tops: Mapping[str, float] | None = None,
    given: Mapping[str, float] | None = None,
) -> Question:
    """A question on equations of one's own; ``own``: metrics that are ratios and must be at most 1."""
    inputs = tuple(
        amount(n, (tops or {}).get(n, np.inf), [f"m{v}" for v in d.values] if d.values else ())
        for n, d in decide.items()
    )
    numbers = dict(given or {})
    machine = tuple(Quantity(n.removeprefix("machine."), "", "", n) for n in numbers)
    sample = _names(equations, (*inputs, *machine), numbers)
    model = Model(
        "toy",
        "A toy",
        "no source",
        machine,
        inputs,
        tuple(Quantity(n, "", "", n) for n in sample if n not in own),
        tuple(ModelLimit(n, f"{n} <= 1", n, "no source") for n in own),
        equations,
    )
    goals = (Objective(goal, maximize),) if goal else ()
    return Question(model, numbers, tuple(decide.values()), goals, tuple(limits))


def _names(equations: Equations, inputs: Sequence[Quantity], numbers: Mapping[str, float]) -> list[str]:
    """Names of the metrics, from a run at ones."""
    from types import SimpleNamespace

    machine = {n.removeprefix("machine."): v for n, v in numbers.items()}
    ones = {q.name: 1.0 for q in inputs if q.name not in machine}
    return list(equations(SimpleNamespace(machine=SimpleNamespace(**machine), **ones)))


@dataclass(frozen=True)
class Regions:
    """Regions and processors of the partition model as plain arrays, for one question and for enumeration."""

    flops: np.ndarray
    bytes: np.ndarray
    costs: Mapping[str, np.ndarray]

    def question(
        self,
        goal: str | None,
        *limits: Limit,
        whole: bool = True,
        maximize: bool = False,
        **given: float | str,
    ) -> Question:
        names = tuple(f"p{k}" for k in range(len(self.costs["constant_power"])))
        rows = tuple(Row(f"r{i}", {"divisible": not whole}) for i in range(len(self.flops)))
        assert PARTITION.expand is not None
        model = PARTITION.expand(Parts({"regions": rows, "transfers": ()}, names))
        numbers: dict[str, float | str] = {q.name: q.default for q in model.inputs if q.default is not None}
        for i, (f, b) in enumerate(zip(self.flops, self.bytes, strict=True)):
            numbers |= {f"regions.r{i}.flops": float(f), f"regions.r{i}.bytes": float(b)}
        for k, p in enumerate(names):
            numbers |= {f"machine.{p}.{n}": float(v[k]) for n, v in self.costs.items()}
        numbers |= given
        texts = {n: v for n, v in numbers.items() if isinstance(v, str)}
        assert model.unused is not None
        unused = model.unused(texts)
        decide = tuple(Decision(u.name, integer=u.integer) for u in model.unknowns if u.name not in unused)
        goals = (Objective(goal, maximize),) if goal else ()
        return Question(model, numbers, decide, goals, limits)

    def every(self) -> dict[str, np.ndarray]:
        """Time, energy and shares of every placement of whole regions (Tang et al. 2017, (14) to (17), (24))."""
        c, many, count = self.costs, len(self.costs["constant_power"]), len(self.flops)
        where = np.stack(np.unravel_index(np.arange(many**count), (many,) * count))
        flops = np.stack([((where == k) * self.flops[:, None]).sum(0) for k in range(many)])
        data = np.stack([((where == k) * self.bytes[:, None]).sum(0) for k in range(many)])
        times = np.maximum(c["time_per_flop"][:, None] * flops, c["time_per_byte"][:, None] * data)
        time = times.max(0)
        spent = c["energy_per_flop"][:, None] * flops + c["energy_per_byte"][:, None] * data
        energy = spent.sum(0) + c["constant_power"].sum() * time
        return {"time": time, "energy": energy, "power": energy / time, "where": where}


def regions(seed: int, count: int, processors: int) -> Regions:
    """Random regions and processors of sizes found in the paper."""
    r = np.random.default_rng(seed)

    def spread(low: float, high: float, size: int) -> np.ndarray:
        return np.exp(r.uniform(np.log(low), np.log(high), size))

    costs = {
        "time_per_flop": spread(1e-12, 1e-10, processors),
        "time_per_byte": spread(3e-12, 1e-10, processors),
        "energy_per_flop": spread(1e-11, 1e-9, processors),
        "energy_per_byte": spread(1e-10, 1e-9, processors),
        "constant_power": spread(5.0, 150.0, processors),
    }
    return Regions(spread(1e8, 1e11, count), spread(1e8, 1e11, count), costs)


@dataclass(frozen=True)
class Kinds:
    """Kinds of blocks as plain arrays: speed (flop/s), dynamic power, constant power and nameplate of one."""

    costs: Mapping[str, np.ndarray]
    intensity: float
    flops: float = 1e15

    def question(
        self, goal: str | None, *limits: Limit, maximize: bool = False, **given: float | str
    ) -> Question:
        names = tuple(f"b{k}" for k in range(len(self.costs["constant_power"])))
        assert BLOCKS.expand is not None
        model = BLOCKS.expand(Parts({}, names))
        numbers: dict[str, float | str] = {q.name: q.default for q in model.inputs if q.default is not None}
        numbers |= {"flops": self.flops, "intensity": self.intensity, **given}
        for k, b in enumerate(names):
            numbers |= {f"machine.{b}.{n}": float(v[k]) for n, v in self.costs.items()}
        assert model.unused is not None
        unused = model.unused({n: v for n, v in numbers.items() if isinstance(v, str)})
        decide = tuple(Decision(u.name, integer=u.integer) for u in model.unknowns if u.name not in unused)
        goals = (Objective(goal, maximize),) if goal else ()
        return Question(model, numbers, decide, goals, limits)

    def every(self, top: int, fixed_power: float = 0.0) -> dict[str, np.ndarray]:
        """Metrics of every system of up to ``top`` blocks of each kind (Choi et al. 2014, (1), (3))."""
        c, many = self.costs, len(self.costs["constant_power"])
        n = np.stack(np.unravel_index(np.arange(1, (top + 1) ** many), (top + 1,) * many)).astype(float)
        per_flop = c["energy_per_flop"] + c["energy_per_byte"] / self.intensity
        slow = np.maximum(c["time_per_flop"], c["time_per_byte"] / self.intensity)
        speed = 1.0 / np.maximum(slow, per_flop / c["usable_power"])
        rate = speed @ n
        watts = (c["constant_power"] + per_flop * speed) @ n + fixed_power
        return {
            "counts": n,
            "time": self.flops / rate,
            "energy": watts * self.flops / rate,
            "power": watts,
            "energy_delay": watts * (self.flops / rate) ** 2,
            "performance": rate,
            "nameplate_power": (c["constant_power"] + c["usable_power"]) @ n,
        }


def kinds(seed: int, count: int) -> Kinds:
    """Random kinds of blocks of sizes found in the paper."""
    r = np.random.default_rng(seed)

    def spread(low: float, high: float) -> np.ndarray:
        return np.exp(r.uniform(np.log(low), np.log(high), count))

    costs = {
        "time_per_flop": spread(2e-13, 2e-11),
        "time_per_byte": spread(4e-12, 1e-10),
        "energy_per_flop": spread(2e-11, 5e-10),
        "energy_per_byte": spread(2e-10, 1e-9),
        "constant_power": spread(3.0, 150.0),
        "usable_power": spread(10.0, 200.0),
    }
    return Kinds(costs, float(np.exp(r.uniform(np.log(0.1), np.log(100.0)))))
