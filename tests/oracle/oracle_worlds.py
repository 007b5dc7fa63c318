"""Questions with uncertain numbers that are decided in each world: the numbers of a world put into the question.

What is drawn is taken from the engine, whose draws have tests of their own; each world's optimum is from the oracle of
its model.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import oracle_listed as listed
import oracle_plans
import oracle_reading as reading
import oracle_roofline
import oracle_settings
from brute_force import answer as searched
from oracle_conflicts import minimal_conflicts

import scenarios
from scenarios.uncertain import draw, uncertain_of

NAMES = (
    "dvfs_setting_within_measurement_error",
    "matmul_as_printed_or_as_derived",
    "nbody_processor_of_table_ii",
    "roofline_titan_or_arndale_unknown_intensity",
    "training_plan_in_how_many_worlds",
)
WORLDS = (0, 1, 2, 3, 100)


def rows(name: str, source: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Rows of the table of expected answers: ``point`` is the number of a world, from 0."""
    worlds = drawn(name, max(WORLDS) + 1)
    for k in WORLDS:
        goal, value, how, conflicts = best(
            source, {path: float(values[k]) for path, values in worlds.items()}
        )
        yield {
            "scenario": name,
            "point": str(k),
            "status": "infeasible" if value is None else "optimal",
            "goal": goal,
            "objective": "" if value is None else f"{value:.12g}",
            "tolerance": "1e-6",
            "conflicts": conflicts,
            "how": f"in this world: {how}",
        }


def drawn(name: str, count: int) -> dict[str, Any]:
    """The first worlds of a ready question."""
    uncertain = uncertain_of(scenarios.load(name))
    assert uncertain is not None
    return draw(uncertain, count)


def best(source: Mapping[str, Any], world: Mapping[str, float]) -> tuple[str, float | None, str, str]:
    """The goal, its best value in a world (None: no design), how it was found, and the conflicts."""
    asked = copy.deepcopy({k: v for k, v in source.items() if k != "uncertain"})
    if asked["model"] == "dvfs":
        return "energy", _settings(asked, world), "every setting", ""
    machine = asked.get("machine")
    for path, value in world.items():
        own = path.removeprefix("machine.")
        if own == path:
            asked["given"][path] = value
        else:
            machine = {**({"base": machine} if isinstance(machine, str) else machine), own: value}
    if asked["model"] == "roofline":
        found = oracle_roofline.answer(asked)
        return found.goal, found.objective, "every machine", ""
    asked["machine"] = machine
    if asked["model"] == "transformer_training":
        plan = oracle_plans.answer(asked)
        return plan.goal, plan.objective, plan.how, ""
    ask = reading.ask(asked)
    answered = searched(ask)
    how = "p eliminated, memory scanned densely and refined"
    if answered.feasible:
        return ask.goal, answered.objective, how, ""
    sets = sorted("+".join(sorted(names)) for names in minimal_conflicts(ask))
    return ask.goal, None, how, "; ".join(sets)


def _settings(asked: Mapping[str, Any], world: Mapping[str, float]) -> float:
    """The least energy over the settings of Table I, whose constant powers are those of a world."""
    (phase,) = asked["given"]["phases"]
    costs = []
    for row in listed.table("choi2016_jetson_tk1_settings.csv", "row").values():
        name = f"{float(row['core_Hz']) / 1e6:g}-{float(row['mem_Hz']) / 1e6:g}"
        power = world[f"machine.{name}.constant_power"]
        costs.append(oracle_settings._cost(phase, {**row, "const_power_W": str(power)})[1])
    return min(costs)
