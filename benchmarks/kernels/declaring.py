"""``python -m benchmarks.kernels.declaring``: measure what ``solvers/work.csv`` declares, ``--write`` it.

Each ready question below is asked along a grid of two numbers; what a point costs there is held against what its way
counts (``Path.work``), and the seconds of each kind of work are fitted in least squares of logarithms, beginning with
the numbers that are declared now. Costs of reading, writing and auditing stay as they are.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import dse
import scenarios
from dse.sweeping.points import chunk_work
from scenarios import Grid
from solvers import work
from solvers.answer import answer
from solvers.side_by_side import run_apart

QUESTIONS = [
    "partition_sa_as_published",
    "roofline_platform_least_energy",
    "nbody_least_energy",
    "nbody_memory_for_efficiency",
    "lu_deadline",
    "lu_least_time",
    "kernels_machine_for_75_gflops_per_watt",
    "kernels_clock_for_a_portfolio",
    "matmul_deadline",
    "matmul_block_decided",
    "fft_naive_energy_delay",
    "matmul_average_power_deadline",
    "nbody_least_time_power",
    "strassen_least_time_power",
    "nbody_least_energy_processor_power",
    "matmul_energy_delay_squared",
    "fft_least_time_power",
    "roofline_free_throttling",
    "nbody_voltage_by_the_alpha_power_law",
    "gemm_fastest_tile_in_cache",
    "hardware_units_or_caches",
    "fft_deadline",
    "partition_cheapest_run",
    "dvfs_one_setting",
    "partition_twelve_regions_whole",
    "blocks_half_power",
    "blocks_fastest_actual_power",
    "blocks_least_energy_deadline",
    "dvfs_deadline",
    "dvfs_energy_budget",
    "station_least_power",
    "station_least_cost",
    "partition_grace_h100_divisible",
    "partition_twelve_regions_divisible",
    "platforms_least_power",
    "platforms_longest_mtbf",
    "kernels_overlap_within_memory",
    "kernels_nbody_and_fft_deadline",
    "dvfs_switching_cost",
    "hardware_cores_by_pins_and_bandwidth",
    "gemm_cheapest_tokens",
    "platforms_least_cost_15_years",
    "matmul_machine_for_75_gflops_per_watt",
    "partition_three_processors_link",
    "matmul_two_level_deadline",
    "blocks_one_kind_throttled",
    "roofline_platform_node_power",
    "roofline_intensity_for_efficiency",
    "serving_bandwidth_for_token_deadline",
    "serving_nodes_for_uncertain_load",
    "nbody_mean_power_between_readings",
    "nbody_deadline_in_95_of_100_worlds",
    "nbody_fewest_processors_within_time_and_energy",
]
LARGE = (
    "nbody_deadline",
    "lu_deadline",
    "nbody_memory_for_efficiency",
    "matmul_deadline",
    "nbody_least_time_power",
)
"""Questions that are also asked at so many points that what answers them is compiled."""
MANY = 250_000
SECONDS = 4.0
BESIDE = 16
"""Points that are answered one by one go side by side; so many are measured."""
KEPT = (
    "alone trial",
    "alone other",
    "alone boxes",
    "alone design",
    "table conflict",
    "table conflict design",
    "chunk variable",
    "audit",
    "audit point",
)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a point took, in seconds, and how many units of each work it is."""

    name: str
    seconds: float
    units: Mapping[str, float]


def asked(name: str, points: int) -> Grid:
    """Return a grid over a factor of ten below two numbers of a ready question: a limit, an input, a machine's."""
    source = _raw(name)
    source.pop("sweep", None)
    question = scenarios.grid(dse.load(source)).question(())
    found: dict[str, float] = {}
    for x in question.limits:
        for side, end in (("max", x.maximum), ("min", x.minimum)):
            if end and end > 0 and x.within is None and not any(p.startswith("limits") for p in found):
                found[f"limits.{x.name}.{side}"] = float(end)
    numbers = {n: v for n, v in question.given.items() if isinstance(v, int | float) and v > 0}
    own = [n for n in source.get("given", {}) if n in numbers]
    of_machine = [n for n in numbers if n.startswith("machine.")]
    found.update({f"given.{n}": float(numbers[n]) for n in own[:1]})
    found.update({n: float(numbers[n]) for n in of_machine[:1]})
    two = list(found.items())[:2]
    count = round(points ** (1 / len(two)))
    source["sweep"] = {
        f"axis{k}": {"path": p, "start": v / 10.0, "stop": v, "num": count, "spacing": "log"}
        for k, (p, v) in enumerate(two)
    }
    return scenarios.grid(dse.load(source))


def _raw(name: str) -> dict[str, Any]:
    import tomllib

    file = Path(scenarios.__file__).parent / "library" / f"{name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def seen(name: str, points: int, part: int, *, alone: bool = False) -> Iterator[Seen]:
    """Measure a question on a grid of so many points, of which about ``part`` along each axis are answered.

    ``alone``: only how long one point takes by itself.
    """
    at = chunk_work.ready(asked(name, points))
    if at.path is not None and not alone:
        # whole lines of limits: what is done once for each set of given numbers is shared by them
        kinds = zip(at.plan.shape, at.grid.targets, strict=True)
        region = tuple(slice(0, n if t.kind == "limit" else min(part, n)) for n, t in kinds)
        spent = _spent(at, region)
        if spent * 50 < SECONDS and points < MANY:
            region = tuple(slice(0, n) for n in at.plan.shape)
            spent = _spent(at, region)
        yield Seen(name, spent / math.prod(s.stop for s in region), _units(lambda: at.path.work))
    middle = at.grid.question(tuple(n // 2 for n in at.plan.shape))
    if points < MANY:
        # the first one imports what it needs
        answer(middle, neighbours=False)
        tasks = [partial(answer, middle, neighbours=False)] * BESIDE
        began = time.process_time()
        run_apart(tasks)
        spent = (time.process_time() - began) / BESIDE
        yield Seen(f"{name}, alone", spent, _units(lambda: work.alone(middle)))


def _spent(at: chunk_work.Ready, region: tuple[slice, ...]) -> float:
    """Processor seconds of a block; what is compiled is compiled before."""
    assert at.path is not None
    at.path.solve(at.plan, tuple(slice(0, min(2, s.stop)) for s in region))
    began = time.process_time()
    at.path.solve(at.plan, region)
    return time.process_time() - began


def _units(declared: Any) -> dict[str, float]:
    """Return how many units of each work a number of declared seconds is made of."""
    names = list(work.declared())
    found = {}
    for name in names:
        with mock.patch.object(work, "declared", lambda name=name: {n: float(n == name) for n in names}):
            found[name] = float(declared())
    return {n: u for n, u in found.items() if u}


def fitted(every: list[Seen]) -> dict[str, float]:
    """Fit the seconds of each work: least squares of the logarithms of what points took."""
    from scipy.optimize import least_squares

    names = [n for n in work.declared() if any(n in s.units for s in every)]
    units = np.array([[s.units.get(n, 0.0) for n in names] for s in every])
    took = np.log([max(s.seconds, 1e-9) for s in every])
    start = np.log([work.declared()[n] for n in names])

    def off(logs: Any) -> Any:
        # a little towards what is declared: works that only ever come together cannot be told apart
        return np.concatenate([np.log(units @ np.exp(logs)) - took, 0.05 * (logs - start)])

    return dict(zip(names, np.exp(least_squares(off, start).x).tolist(), strict=True))


def write(found: Mapping[str, float]) -> None:
    """Write the table anew, two digits each."""
    file = Path(work.__file__).parent / work.TABLE
    lines = file.read_text(encoding="utf-8").splitlines()
    rows = list(csv.reader(line for line in lines if not line.startswith("#")))
    told = [line for line in lines if line.startswith("#")] + [",".join(rows[0])]
    for name, old, unit in rows[1:]:
        told.append(f"{name},{found[name]:.1e},{unit}" if name in found else f"{name},{old},{unit}")
    file.write_text("\n".join(told) + "\n", encoding="utf-8")


def main() -> None:
    """Measure, print what is declared beside what was measured, and write it where that is asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels.declaring", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="QUESTION", help="ready questions (default: a choice of them)"
    )
    parser.add_argument("--write", action="store_true", help=f"write solvers/{work.TABLE}")
    parser.add_argument("--alone", action="store_true", help="only what questions take by themselves")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    every = []
    names = options.names or QUESTIONS
    for name, points in [
        *((n, 1000) for n in names),
        *((n, MANY) for n in LARGE if not options.alone and (n in names or not options.names)),
    ]:
        for s in seen(name, points, 3 if points < MANY else 20, alone=options.alone):
            every.append(s)
            declared = sum(work.declared()[n] * u for n, u in s.units.items())
            print(
                f"{s.name:50} took {s.seconds:.1e}, declared {declared:.1e} ({', '.join(s.units)})",
                flush=True,
            )
    found = {n: c for n, c in fitted(every).items() if n not in KEPT}
    for name, one in found.items():
        print(f"{name:34} {one:.1e} s, declared {work.declared()[name]:.1e}")
    if options.write:
        write(found)


if __name__ == "__main__":
    main()
