"""Which uncertain number moves the optimum: Sobol' indices of the least energy of an n-body step, beside SciPy by hand.

Both get the same Saltelli samples. By hand each world is a call of SciPy's SLSQP in log variables, and the indices are
those of ``scipy.stats.sobol_indices``, or of SALib where it is installed (``pip install SALib``). The bare way is the
optima alone, without other metrics, the audit and the losses.
"""

from __future__ import annotations

import importlib.util
import time
from functools import partial
from typing import Any

import numpy as np

import dse
import scenarios
from benchmarks.harness import Bench, Result, Way
from benchmarks.uncertain import deciding_now
from dse.sweeping.points import chunk_work
from dse.uncertain import indices
from formulations.uncertainty.worlds import of_values
from results.uncertainty.indices import matrices, of
from scenarios.questions import question
from scenarios.uncertain import at_samples

TITLE = "Which uncertain number matters"
NAMES = ("machine.energy_per_word", "machine.time_per_flop")
KEPT = ["objective", "bound", "gap", "status"]
NEAR = 0.02
"""Estimators agree to this: SALib divides by the variance of A alone."""
SALIB = importlib.util.find_spec("SALib") is not None
Array = np.ndarray[Any, Any]


def benches(rows: tuple[int, ...] = (128, 16_384)) -> list[Bench]:
    """Indices from so many rows of samples; by hand only of the fewest."""
    return [_bench(n, by_hand=n == min(rows)) for n in rows]


def _bench(rows: int, *, by_hand: bool) -> Bench:
    asked = _asked()
    name = "SciPy SLSQP + SALib" if SALIB else "SciPy SLSQP + sobol_indices"
    others = (Way(name, partial(_by_hand, asked, rows), points=4 * rows),) if by_hand else ()
    return Bench(
        f"indices of the least energy, {4 * rows} worlds",
        Way("dse.what_matters", lambda: _ours(asked, rows), bound="yes", points=4 * rows),
        others,
        Way("optima alone", lambda: _optima(asked, rows), bound="yes", points=4 * rows),
        check=_check,
        rounds=3,
        remark=partial(_by_the_processor, asked, rows),
    )


def _asked() -> dse.Scenario:
    goal = {"minimize": "energy"}
    data = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": deciding_now.BODIES, "flops_per_pair": deciding_now.FLOPS},
        "decide": {"processors": {"max": deciding_now.MOST}, "memory": {}},
        "objective": goal,
        "limits": {"time": {"max": deciding_now.DEADLINE}},
        "uncertain": {NAMES[0]: {"lognormal": [3e-6, 1.3]}, NAMES[1]: {"uniform": [0.9e-9, 1.2e-9]}},
    }
    return dse.load(data)


def _values(asked: dse.Scenario, rows: int) -> dict[str, Array]:
    found = question(asked).uncertain
    assert found is not None, "two costs are uncertain"
    cube = matrices(rows, 2, 0).reshape(-1, 2)
    return {path: m.quantile(cube[:, i]) for i, (path, m) in enumerate(found.marginals.items())}


def _ours(asked: dse.Scenario, rows: int) -> float:
    return indices.matters(asked, rows, progress=False, workers=1).indices[0].total[0].value


def _optima(asked: dse.Scenario, rows: int) -> float:
    """The same index from the objective alone, without other metrics, the audit and the losses."""
    ready = chunk_work.ready(scenarios.grid(at_samples(asked, _values(asked, rows))), KEPT)
    y = chunk_work.everything(ready)["objective"].reshape(4, rows)
    found = of(y[0], y[1], y[2:])
    assert found is not None, "the optimum varies"
    return found[1][0].value


def _by_hand(asked: dse.Scenario, rows: int) -> float:
    values = _values(asked, rows)
    terms = deciding_now._terms(of_values(question(asked), values))
    y = np.array([_slsqp(*(t[i] if k % 2 == 0 else t for k, t in enumerate(terms))) for i in range(4 * rows)])
    y = y.reshape(4, rows)
    if SALIB:
        from SALib.analyze import sobol

        # SALib has a row of A, then that row with each column from B, then B
        order = np.stack([y[0], y[2], y[3], y[1]], axis=1).ravel()
        problem = {"num_vars": 2, "names": list(NAMES), "bounds": [[0.0, 1.0]] * 2}
        return float(sobol.analyze(problem, order, calc_second_order=False)["ST"][0])
    from scipy.stats import sobol_indices

    found = sobol_indices(func={"f_A": y[0][None], "f_B": y[1][None], "f_AB": y[2:, None]}, n=rows)
    return float(found.total_order.ravel()[0])


def _slsqp(time_c: Array, time_a: Array, energy_c: Array, energy_a: Array) -> float:
    """The least energy of one world."""
    return deciding_now._slsqp((time_c[None], time_a, energy_c[None], energy_a))


def _check(ours: Any, theirs: Any) -> str:
    off = abs(theirs - ours) / ours
    return f"yes ({off:.0e})" if off <= NEAR else f"NO: off by {theirs / ours - 1:+.1e}"


def _by_the_processor(asked: dse.Scenario, rows: int, _: Result) -> str:
    began = time.process_time()
    _optima(asked, rows)
    seconds = time.process_time() - began
    return f"processor time of the optima {seconds:.2g} s, {1e6 * seconds / (4 * rows):.3g} us each"
