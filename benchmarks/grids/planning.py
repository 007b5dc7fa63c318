"""Plan spaces of training: every plan on every machine, answered with proof, beside the equations in bare NumPy.

The other way is the oracle of the tests, which shares no code with the model; it proves as much, but says nothing of
limits, next changes and what stands beside an optimum.
"""

from __future__ import annotations

import copy
import sys
import tomllib
from pathlib import Path
from typing import Any

import dse
from benchmarks.harness import ROOT, Bench, Way, agrees

TITLE = "Plan spaces of training, time per space"
LIBRARY = Path(dse.__file__).parents[1] / "scenarios" / "library"
MACHINES = ("dgx-a100-bf16", "dgx-h100-bf16", "dgx-h200-bf16", "dgx-b200-bf16")


def benches(machines: int = len(MACHINES)) -> list[Bench]:
    """One machine, then several."""
    return [_bench(asked(1)), _bench(asked(machines))] if machines > 1 else [_bench(asked(1))]


def asked(machines: int) -> dict[str, Any]:
    """Return the question of the fastest plan on 512 devices of one of so many machines."""
    found: dict[str, Any] = tomllib.loads(
        (LIBRARY / "training_best_plan_on_512_h100.toml").read_text(encoding="utf-8")
    )
    del found["machine"], found["title"]
    found["decide"]["machine"] = {"values": list(MACHINES[:machines])}
    return found


def plans(question: dict[str, Any]) -> int:
    """Count the plans of a question: menus of divisors times names."""
    decide, given = question["decide"], question["given"]
    count = len(decide["machine"]["values"]) * 3 * len(decide["zero"]["values"])
    for entry in decide.values():
        of = entry.get("divides")
        if of is not None:
            numbers = [given[n] for n in ([of] if isinstance(of, str) else of)]
            count *= sum(
                all(n % k == 0 for n in numbers)
                for k in range(1, min([*numbers, entry.get("max", numbers[0])]) + 1)
            )
    return count


def _bench(question: dict[str, Any]) -> Bench:
    sys.path.insert(0, str(ROOT / "tests" / "oracle"))
    import oracle_plans

    def ours() -> Any:
        found = dse.solve(copy.deepcopy(question))
        assert found.status == "optimal"
        return [found.objective, None if found.next_best is None else found.next_best.objective]

    def bare() -> Any:
        found = oracle_plans.answer(question)
        return [found.objective, found.next_best]

    machines = len(question["decide"]["machine"]["values"])
    return Bench(
        f"{plans(question)} plans on {machines} machine{'s' if machines > 1 else ''}, best and next best",
        Way("dse, whole answer", ours, bound="yes, all designs tried"),
        (Way("NumPy, equations by hand", bare, bound="yes, all designs tried"),),
        check=agrees,
        rounds=3,
    )
