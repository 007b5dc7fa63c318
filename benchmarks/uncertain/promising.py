"""Limits that hold with a probability: fewest processors of an n-body step, and counts of blocks, beside big M by hand.

Both get the same samples, of which a stated number may fail. By hand each sample has a binary number that lets it fail,
with the largest factor by which a limit can be missed in the box as its "big M"; the equations are written in the
number of processors, the memory and its reciprocal, in which a deadline is linear. Exactness is that of the samples on
both sides; dse then also judges the design in 10 000 fresh samples, which the bare way leaves out. Of blocks all is
linear in the counts, and by hand it is one program of SciPy's HiGHS with a binary number for every sample.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Bench, Way
from benchmarks.uncertain import deciding_now
from formulations.uncertainty.worlds import judged
from scenarios import load
from scenarios.question import Question
from scenarios.questions import question
from solvers.robust.decide_now import answer_now, sampled

TITLE = "A probability of limits"
DEADLINE, MOST_ENERGY, SURE = 0.07, 1.12, 0.9
"""Seconds; times the least nominal energy; the share of samples in which both limits hold."""
MOST_POWER = 600.0
"""Watts of all blocks."""
GAP = 1e-6
SECONDS = 120.0
Array = np.ndarray[Any, Any]


def benches(counts: tuple[int, ...] = (100, 300), by_hand: int = 1000) -> list[Bench]:
    """Each number of samples; by hand only up to ``by_hand``. Of blocks there are three times as many."""
    every = [_bench(n, by_hand=n <= by_hand) for n in counts]
    return every + [_bench_of_blocks(3 * n, by_hand=n <= by_hand) for n in counts]


def _bench(count: int, *, by_hand: bool) -> Bench:
    asked = _asked(count)
    others = (
        (Way("Pyomo + SCIP, big M by hand", partial(_scip, asked), bound="in floats"),) if by_hand else ()
    )
    return Bench(
        f"fewest processors, time and energy together in {100 * SURE:g} % of {count} samples",
        Way("dse.solve's answer", lambda: answer_now(asked).objective, bound="yes"),
        others,
        Way("without fresh samples", lambda: answer_now(asked, fresh=False).objective, bound="yes"),
        check=deciding_now.agrees,
        rounds=3,
        remark=partial(deciding_now.by_the_processor, asked),
    )


def _bench_of_blocks(count: int, *, by_hand: bool) -> Bench:
    asked = question(load(_blocks(count)))
    return Bench(
        f"fastest counts of three kinds of blocks, power in {100 * SURE:g} % of {count} samples",
        Way("dse.solve's answer", lambda: answer_now(asked).objective, bound="yes"),
        (Way("SciPy milp, big M by hand", partial(_milp, asked), bound="in floats"),) if by_hand else (),
        Way("without fresh samples", lambda: answer_now(asked, fresh=False).objective, bound="yes"),
        check=deciding_now.agrees,
        rounds=3,
    )


def _blocks(count: int) -> dict[str, Any]:
    return {
        "model": "blocks",
        "machine": {
            "card": "gtx680-choi2014",
            "board": "arndale-gpu-choi2014",
            "phone": "pandaboard-choi2014",
        },
        "given": {"flops": "1 Pflop", "intensity": 4},
        "objective": {"maximize": "performance", "measure": "mean"},
        "limits": {"block_power": {"max": MOST_POWER, "probability": SURE, "confidence": 0}},
        "uncertain": {
            "machine.card.usable_power": {"lognormal": ["145 W", 1.2]},
            "machine.board.usable_power": {"lognormal": ["4 W", 1.4]},
            "machine.phone.time_per_byte": {"lognormal": ["0.4 ns/byte", 1.5]},
            "sampling": {"samples": count, "method": "random"},
        },
    }


def _milp(asked: Question) -> float:
    """Return the greatest mean performance, with at most a tenth of the samples failing."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    worlds = sampled(asked)
    kinds = [d.name for d in asked.decide]
    alone = [judged(worlds, {n: float(n == k) for n in kinds}).metrics for k in kinds]
    power = np.array([np.broadcast_to(m["block_power"], (worlds.size,)) for m in alone]).T
    gain = np.array([np.mean(m["performance"]) for m in alone])
    size, count = len(kinds), worlds.size
    most = np.floor(MOST_POWER / power.min(0))
    late = np.maximum(power @ most - MOST_POWER, 0.0)
    rows = np.hstack([power, -np.diag(late)])
    few = np.append(np.zeros(size), np.ones(count))
    found = milp(
        -np.append(gain, np.zeros(count)),
        integrality=np.ones(size + count),
        bounds=Bounds(0.0, np.append(most, np.ones(count))),
        constraints=[
            LinearConstraint(rows, ub=MOST_POWER),
            LinearConstraint(few, ub=math.floor((1.0 - SURE) * count + 1e-9)),
        ],
        options={"mip_rel_gap": GAP, "time_limit": SECONDS},
    )
    return math.nan if found.x is None else -float(found.fun)


def _asked(count: int) -> Question:
    text = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": deciding_now.BODIES, "flops_per_pair": deciding_now.FLOPS},
        "decide": {"processors": {"max": deciding_now.MOST}, "memory": {}},
        "objective": {"minimize": "processors", "measure": "mean"},
        "limits": {
            "time": {"max": DEADLINE},
            "energy": {"max": MOST_ENERGY * _least_energy()},
            "joint": {"of": ["time", "energy"], "probability": SURE, "confidence": 0},
        },
        "uncertain": {
            "machine.energy_per_word": {"lognormal": [3e-6, 1.3]},
            "machine.time_per_flop": {"uniform": [0.9e-9, 1.2e-9]},
            "sampling": {"samples": count, "method": "random"},
        },
    }
    return question(load(text))


def _least_energy() -> float:
    """The least mean energy over a thousand samples, which a limit on energy is put above."""
    found = answer_now(deciding_now._asked({"measure": "mean"}, 1000), fresh=False).objective
    assert found is not None, "the question has a design"
    return found


def _scip(asked: Question) -> float:
    """Return the fewest processors, with at most a tenth of the samples failing."""
    import pyomo.environ as pyo
    from pyomo.contrib.solver.common.factory import SolverFactory

    limits = {x.name: float(x.maximum or 0.0) for x in asked.limits}
    time_c, _, energy_c, _ = deciding_now._terms(sampled(asked))
    took, spent = np.exp(time_c), np.exp(energy_c)
    count, bodies, most = len(took), deciding_now.BODIES, deciding_now.MOST
    model = pyo.ConcreteModel()
    # in units of the most processors and of the bodies, so that numbers are of order one
    model.p = pyo.Var(bounds=(1.0 / most, 1.0))
    model.memory = pyo.Var(bounds=(1.0 / most, 1.0))
    model.over = pyo.Var(bounds=(1.0, most))
    model.fails = pyo.Var(range(count), domain=pyo.Binary)
    model.goal = pyo.Objective(expr=model.p)
    model.rows = pyo.ConstraintList()
    model.rows.add(model.memory * model.over == 1.0)
    # one copy of the bodies, and at most as many as pay
    model.rows.add(model.memory * model.p >= 1.0 / most)
    model.rows.add(model.p * most <= model.over**2)
    for i in range(count):
        flops, words = (took[i] / (limits["time"] * most)).tolist()
        words /= bodies
        late = flops + words * most
        model.rows.add(flops + words * model.over <= model.p + late * model.fails[i])
        fixed = float(spent[i, [0, 3, 4]].sum()) / limits["energy"]
        per_over = float(spent[i, [1, 5]].sum()) / (limits["energy"] * bodies)
        per_memory = float(spent[i, 2]) * bodies / limits["energy"]
        dear = fixed + per_over * most + per_memory - 1.0
        row = fixed + per_over * model.over + per_memory * model.memory
        model.rows.add(row <= 1.0 + max(dear, 0.0) * model.fails[i])
    model.few = pyo.Constraint(expr=sum(model.fails.values()) <= math.floor((1.0 - SURE) * count + 1e-9))
    options = {"limits/gap": GAP}
    found = SolverFactory("scip_direct").solve(
        model,
        load_solutions=False,
        raise_exception_on_nonoptimal_result=False,
        time_limit=SECONDS,
        solver_options=options,
    )
    if found.incumbent_objective is None:
        return math.nan
    return float(found.incumbent_objective) * most
