"""Calculon's equations beside ours: what each misses on measured batch times, and how long a configuration takes.

    python -m benchmarks.fits.calculon           each measured row, then the sets of runs
    python -m benchmarks calculon           times of a configuration, beside the other benchmarks

Calculon's equations are typed in ``benchmarks.without_dse.calculon_equations``. Both are asked about the same plans;
rows are those that ship: Megatron-LM's batch times (arXiv 2205.05198, Table 5) and vTrain's runs. Calculon's A100 is
that of its authors; ours is ``dgx-a100-measured`` for Megatron-LM, to whose rows neither was fitted, and for vTrain's
runs the machine that was fitted to them, so that there only the order of plans is a fair comparison.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

import dse
from benchmarks.harness import Bench, Way
from benchmarks.without_dse import calculon_equations
from dse import machines, models
from dse.models.model import MACHINE_PREFIX
from dse.papers.megatron import batches
from dse.papers.sources import table
from dse.papers.vtrain2024 import fit, runs
from dse.papers.vtrain2024.comparison import ALONE, LEAST, NEAR

TITLE = "Training plans: Calculon's equations and ours, time per configuration"
MACHINE = batches.NAME
# GPT-3 of 175 billion parameters on up to 512 devices
SHAPE = {"layers": 96.0, "hidden": 12288.0, "heads": 96.0, "sequence": 2048.0, "global_batch": 1536.0}
HOW = {"recomputation": "full", "sequence_parallel": "off", "zero": "0"}
MENUS = {
    "data_parallel": [d for d in range(1, 1537) if 1536 % d == 0],
    "tensor_parallel": [1, 2, 4, 8],
    "pipeline_parallel": [p for p in range(1, 97) if 96 % p == 0],
    "interleaving": [1, 2, 3, 4, 6],
    "micro_batch": [1, 2, 4, 8],
}


def benches(most: int = 1536) -> list[Bench]:
    """One plan space in arrays, then plan by plan."""
    return [_arrays(most), _singly()]


def plans(most: int) -> dict[str, Any]:
    """Return the plans of the menus as arrays; ``most``: greatest data parallelism."""
    menus = MENUS | {"data_parallel": [d for d in MENUS["data_parallel"] if d <= most]}
    listed = np.array(list(itertools.product(*menus.values())), dtype=float)
    return SHAPE | HOW | {name: listed[:, i] for i, name in enumerate(menus)}


def inputs(plan: Mapping[str, Any], machine: str = MACHINE) -> dict[str, Any]:
    """Return what our equations need: the plan, and a machine of the catalogue."""
    model = models.get("transformer_training")
    x = {n: q.default for n, q in model.parameters().items() if q.default is not None}
    return x | {MACHINE_PREFIX + n: v for n, v in machines.get(machine).parameters.items()} | dict(plan)


def both(asked: Mapping[str, Any]) -> None:
    """Evaluate Calculon's time and memory."""
    calculon_equations.step(asked)
    calculon_equations.memory(asked)


def _arrays(most: int) -> Bench:
    asked = plans(most)
    count = asked["micro_batch"].size
    model, x = models.get("transformer_training"), inputs(asked)
    question = {
        "model": "transformer_training",
        "machine": MACHINE,
        "given": SHAPE | HOW,
        "decide": {
            n: {"values": [d for d in v if n != "data_parallel" or d <= most]} for n, v in MENUS.items()
        },
        "objective": {"minimize": "step_time"},
        "limits": {"devices": {"max": 512}},
    }
    return Bench(
        f"{count} plans of 175 billion parameters",
        Way("dse, answer with proof and next best", lambda: dse.solve(question).objective, points=count,
            bound="yes, all designs tried"),
        (
            Way("dse, all metrics and limits of every plan", lambda: float(models.evaluate(model, x)["devices"][0]),
                points=count),
            Way("Calculon's equations: time", lambda: calculon_equations.step(asked).min(), points=count),
            Way("Calculon's equations: time and memory", lambda: both(asked), points=count),
        ),
    )  # fmt: skip


def _singly() -> Bench:
    line = table("megatron/times")[2]
    plan = batches.plan(line)
    model, x = models.get("transformer_training"), inputs(plan)
    return Bench(
        "one plan of 175 billion parameters",
        Way("dse, all metrics and limits", lambda: models.evaluate(model, x)["step_time"]),
        (Way("Calculon's equations: time", lambda: calculon_equations.step(plan | {"zero": "0"})),),
    )


def rows() -> list[tuple[str, float, float, float]]:
    """Return each batch time of Megatron-LM: plan, measured, ours, Calculon's."""
    found = []
    for line in table("megatron/times"):
        plan = batches.plan(line) | {"zero": "0"}
        theirs = float(calculon_equations.step(plan))
        found.append((f"{line['model']}, {line['recompute']}", float(line["seconds"]),
                      batches.told(line)["step_time"], theirs))  # fmt: skip
    return found


def sets() -> list[tuple[str, float, float, float, float]]:
    """Return of each set of vTrain's runs the mean miss and the mean loss of the plan picked: ours, Calculon's."""
    found = []
    for which in runs.SETS:
        of = runs.measured(which)
        asked = {
            **of.plans,
            "interleaving": 1.0,
            "recomputation": "full",
            "sequence_parallel": "off",
            "zero": "0",
        }
        theirs = np.asarray(calculon_equations.step(asked))
        for name, ours in (
            ("as it ships", runs.modelled(of, fit.NAME)),
            ("seven constants", runs.modelled(of, fit.NAME, ALONE)),
            ("Calculon", theirs),
        ):
            lost = runs.chosen(of, ours, LEAST[which])
            near = 100.0 * float((lost <= NEAR).mean())
            found.append((f"{which}, {name}", runs.missed(ours, of.seconds), 100.0 * float(lost.mean()), near,
                          float(lost.size)))  # fmt: skip
    return found


def main() -> None:
    """Print both tables."""
    print(f"{'batch time of':28} {'measured':>9} {'ours':>9} {'Calculon':>9} {'ours':>8} {'Calculon':>9}")
    off = []
    for name, measured, ours, theirs in rows():
        off.append((ours / measured - 1.0, theirs / measured - 1.0))
        print(
            f"{name:28} {measured:7.2f} s {ours:7.2f} s {theirs:7.2f} s {off[-1][0]:+8.1%} {off[-1][1]:+9.1%}"
        )
    mean = np.abs(off).mean(axis=0)
    print(f"{'mean miss':58} {mean[0]:8.1%} {mean[1]:9.1%}\n")
    print(f"{'runs of vTrain':28} {'mean miss':>10} {'mean loss':>10} {'within 3 %':>11} {'groups':>7}")
    for name, miss, loss, near, groups in sets():
        print(f"{name:28} {miss:8.1f} % {loss:8.1f} % {near:9.1f} % {groups:7.0f}")


if __name__ == "__main__":
    main()
