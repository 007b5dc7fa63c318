"""Definitions in a scenario beside the same equations in a model of one's own: what reading them as text costs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import dse
from benchmarks.harness import Bench, Way
from dse.models.algorithms.nbody import NBODY
from dse.models.model import Model
from dse.quantities import Quantity
from scenarios import Scenario

TITLE = "Definitions beside a model, time per answer"
OWN = "nbody_clocked_by_hand"
DEFINE = {
    "voltage": "0.6 V + 0.17 V/GHz * clock",
    "machine.time_per_flop": "1 / (16 flop/cycle * clock)",
    "machine.energy_per_flop": "14 pJ/V**2/flop * voltage**2",
    "electricity": "0.2 USD/kWh * energy * runs",
    "price": "0.06 USD * processors + electricity",
}


# what the definitions have as constants with units, a model has as given numbers
CONSTANTS = {
    "least_voltage": (0.6, "V"),
    "voltage_slope": (0.17e-9, "V/Hz"),
    "flops_per_cycle": (16.0, "flop/cycle"),
    "capacitance": (14e-12, "J/V^2/flop"),
    "tariff": (0.2 / 3.6e6, "USD/J"),
    "core_price": (0.06, "USD"),
}


def benches(points: int = 10_000) -> list[Bench]:
    """One answer, and a sweep of deadlines by numbers of bodies: with definitions, and with the model by hand."""
    _registered()
    defined, by_hand = _asked(defined=True), _asked(defined=False)
    side = int(points**0.5)
    swept = _swept(defined, side), _swept(by_hand, side)
    # so many that reading the text, some milliseconds once, does not count
    large = 10 * side
    fixed = _evaluated(defined, large), _evaluated(by_hand, large)
    return [
        _bench(
            "dse.solve: the clock of an n-body machine decided",
            defined,
            by_hand,
            lambda s: dse.solve(s).objective,
        ),
        _bench(f"dse.sweep: the same at {side * side} points", *swept, _objectives, side * side),
        _bench(f"dse.evaluate: a design at {large * large} points", *fixed, _prices, large * large),
    ]


def _bench(name: str, defined: Scenario, by_hand: Scenario, task: Any, points: int = 1) -> Bench:
    ours = Way("definitions in the scenario", lambda: task(defined), points=points)
    other = Way("the same equations in a model", lambda: task(by_hand), points=points)
    return Bench(name, ours, (other,), remark=lambda _: _by_the_processor(task, defined, by_hand, points))


def _by_the_processor(task: Any, defined: Scenario, by_hand: Scenario, points: int) -> str:
    """Say how the least processor times compare, taken in turns: on a busy machine they say more than the clock."""
    took: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(2 * (4 if points > 1 else 120)):
        began = time.process_time()
        task(defined if turn % 2 == 0 else by_hand)
        took[turn % 2 == 0].append(time.process_time() - began)
    return f"In processor time, definitions take {min(took[True]) / min(took[False]):.2f} times what the model takes."


def _objectives(asked: Scenario) -> Any:
    return dse.sweep(asked, progress=False, audit=0)["objective"].to_numpy()


def _prices(asked: Scenario) -> Any:
    return dse.evaluate(asked)["price"].to_numpy()


def _asked(*, defined: bool) -> Scenario:
    """Return the question of the ready scenario ``nbody_clock_decided``."""
    question: dict[str, Any] = {
        "model": "nbody" if defined else OWN,
        "machine": "jaketown",
        "given": {
            **({} if defined else {n: value for n, (value, _) in CONSTANTS.items()}),
            "bodies": 1e6,
            "flops_per_pair": 20,
            "runs": 1e6,
        },
        "decide": {
            "clock": {"min": "0.8 GHz", "max": "3.2 GHz"},
            "processors": {"max": 4096},
            "memory": {},
        },
        "objective": {"minimize": "price"},
        "limits": {"time": {"max": "4 s"}},
    }
    return dse.load(question | ({"define": DEFINE} if defined else {}))


def _swept(asked: Scenario, side: int) -> Scenario:
    deadline = {"path": "limits.time.max", "start": 1.0, "stop": 10.0, "num": side, "spacing": "log"}
    bodies = {"path": "bodies", "start": 5e5, "stop": 1e6, "num": side}
    return dse.load(
        {
            **asked.model_dump(exclude_defaults=True, exclude_none=True),
            "sweep": {"deadline": deadline, "size": bodies},
        }
    )


def _evaluated(asked: Scenario, side: int) -> Scenario:
    said = asked.model_dump(exclude_defaults=True, exclude_none=True)
    given = {**said["given"], "clock": "2 GHz", "processors": 200, "memory": 2e4}
    clock = {"path": "clock", "start": 8e8, "stop": 3.2e9, "num": side}
    bodies = {"path": "bodies", "start": 5e5, "stop": 1e6, "num": side}
    kept = {k: v for k, v in said.items() if k not in ("decide", "objective", "limits", "given")}
    return dse.load({**kept, "given": given, "sweep": {"frequency": clock, "size": bodies}})


def _registered() -> None:
    if OWN not in dse.models.names():
        dse.register(_model())


def _model() -> Model:
    base = [q for q in NBODY.machine if q.name not in ("time_per_flop", "energy_per_flop")]
    source = "the benchmark"
    more = (
        *(Quantity(n, n, unit, n, source) for n, (_, unit) in CONSTANTS.items()),
        Quantity("clock", "f", "Hz", "clock", source, floor=8e2, ceiling=3.2e15),
        Quantity("runs", "N", "", "runs", source),
    )
    metrics = tuple(
        Quantity(name, name, unit, name, source)
        for name, unit in (
            ("voltage", "V"),
            ("flop_time", "s/flop"),
            ("flop_energy", "J/flop"),
            ("electricity", "USD"),
            ("price", "USD"),
        )
    )
    return replace(
        NBODY,
        name=OWN,
        machine=tuple(base),
        inputs=(*NBODY.inputs, *more),
        metrics=(*NBODY.metrics, *metrics),
        equations=_equations,
        sums=(),
    )


def _equations(g: Any) -> Mapping[str, Any]:
    """The definitions of this page as a model of one's own has them."""
    voltage = g.least_voltage + g.voltage_slope * g.clock
    flop_time, flop_energy = 1 / (g.flops_per_cycle * g.clock), g.capacitance * voltage**2
    machine = SimpleNamespace(**vars(g.machine), time_per_flop=flop_time, energy_per_flop=flop_energy)
    found = dict(NBODY.equations(SimpleNamespace(**{**vars(g), "machine": machine})))
    electricity = g.tariff * found["energy"] * g.runs
    price = g.core_price * g.processors + electricity
    return {
        **found,
        "voltage": voltage,
        "flop_time": flop_time,
        "flop_energy": flop_energy,
        "electricity": electricity,
        "price": price,
    }
