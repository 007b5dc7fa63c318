"""What flops, bytes and accesses cost in energy, by the fit of the roofline to the runs; how well the times fit."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence

from dse import fitting
from dse.measuring.figures import BESIDE, PARAMETERS
from dse.measuring.loops.kernels import STREAMS
from dse.measuring.loops.tasks import OUTER
from dse.measuring.runs import Run
from dse.models import machine_parameters
from dse.names import some_of
from dse.quantities import plural
from dse.system.records import dataclass

_FIT_OF = {"single": "", "double": "_double"}
_SWEPT = ("polynomial", OUTER)
_ELSEWHERE = (
    ("energy_per_byte_L1", "J/byte", "triad", "L1", "bytes"),
    ("energy_per_byte_L2", "J/byte", "triad", "L2", "bytes"),
    ("energy_per_access", "J/access", "random", "memory", "accesses"),
)
_KNOWN = {
    "kernel": frozenset(
        {*_SWEPT, *STREAMS, *(kernel for w in (*PARAMETERS, *BESIDE) for kernel in w.kernels)}
    ),
    "precision": frozenset({"", *_FIT_OF}),
    "level": frozenset({"", "L1", "L2", "L3", "memory"}),
}
"""Names of runs of which something is made."""
_TOLD = 5


@dataclass(frozen=True, slots=True)
class Cost:
    """A machine parameter that does not follow from times alone: SI value, how it was found, what is doubtful."""

    name: str
    value: float
    unit: str
    how: str
    doubt: str = ""


def stated(watts: float) -> list[Cost]:
    """Return the costs of a machine that draws the same power whatever runs."""
    how, doubt = "the power was stated, not measured", "all of the stated power counts as constant"
    nothing = f"{doubt}: nothing is left for operations"
    flops = [Cost(f"energy_per_flop{mark}", 0.0, "J/flop", how, nothing) for mark in _FIT_OF.values()]
    others = [Cost("energy_per_byte", 0.0, "J/byte", how, nothing)]
    others += [Cost(name, 0.0, unit, how, nothing) for name, unit, *_ in _ELSEWHERE]
    return [*flops, *others, Cost("constant_power", watts, "W", how, doubt)]


def fitted(runs: Sequence[Run], threads: int, name: str) -> tuple[list[Cost], list[str]]:
    """Return the energies of operations and the powers by the fit of the roofline, and what there is to note.

    The fit in single precision gives what both have in common. All runs have an energy. Where the fit is refused,
    the mean power counts as constant, with a doubt that says so.
    """
    found: dict[str, Cost] = {}
    notes: list[str] = []
    for precision, mark in _FIT_OF.items():
        chosen = _sweep(runs, precision, threads)
        columns = {k: [getattr(r, k) for r in chosen] for k in ("flops", "bytes", "time", "energy")}
        try:
            made = _fitted_costs(fitting.fit(columns, "roofline", name), precision)
        except fitting.FittingError as problem:
            told = "; ".join(problem.problems)
            notes.append(
                f"energies in {precision} precision are not known: the fit of the roofline says {told}"
            )
            made = {}
        found = made | found
        for flop_or_byte, unit in ((f"energy_per_flop{mark}", "J/flop"), ("energy_per_byte", "J/byte")):
            nothing = Cost(flop_or_byte, 0.0, unit, "left at 0", "the runs do not show it")
            found.setdefault(flop_or_byte, nothing)
    if "constant_power" not in found:
        found["constant_power"] = _mean_power(runs)
    return [*found.values(), *_elsewhere(runs, threads, found)], notes


def _fitted_costs(fit: fitting.Fit, precision: str) -> dict[str, Cost]:
    """Return what a fit says beside times, by the names of a machine's parameters."""
    wrong = fit.errors["energy"]
    how = (
        f"roofline fitted to {wrong.runs} runs of all intensities in {precision} precision; errors of energy "
        f"{wrong.mean:.1%} on average, {wrong.greatest:.1%} at most; {fit.confidence:.0%} interval"
    )
    found = {}
    for e in fit.parameters:
        name = f"{e.name}{_FIT_OF[precision]}" if e.name == "energy_per_flop" else e.name
        if name in machine_parameters() and not name.startswith("time_per_") and math.isfinite(e.value):
            found[name] = Cost(name, e.value, e.unit, f"{how} {e.low:.4g} to {e.high:.4g} {e.unit}", e.doubt)
    return found


def _mean_power(runs: Sequence[Run]) -> Cost:
    watts = sum(r.energy or 0.0 for r in runs) / sum(r.time for r in runs)
    doubt = "the fit of the roofline was refused: all power counts as constant"
    return Cost("constant_power", watts, "W", f"mean power of {len(runs)} runs", doubt)


def _elsewhere(runs: Sequence[Run], threads: int, known: Mapping[str, Cost]) -> list[Cost]:
    """Return what bytes of caches and random accesses cost beyond constant power and the flops beside them."""
    constant, flop = known.get("constant_power"), known.get("energy_per_flop_double")
    if constant is None or flop is None:
        return []
    found = []
    for name, unit, kernel, level, amount in _ELSEWHERE:
        costs = [
            ((r.energy or 0.0) - constant.value * r.time - flop.value * r.flops) / float(getattr(r, amount))
            for r in runs
            if (r.kernel, r.level, r.threads) == (kernel, level, threads) and getattr(r, amount) > 0
        ]
        if costs:
            value = statistics.median(costs)
            how = f"energy of {len(costs)} runs of {kernel}, less constant power and flops as fitted; median"
            doubt = (
                ""
                if value > 0
                else f"it is too small beside the constant power to be measured ({value:.3g} {unit} by the median)"
            )
            found.append(Cost(name, max(0.0, value), unit, how, doubt))
    return found


def misses(runs: Sequence[Run], times: Mapping[str, float], threads: int) -> tuple[float, float, int]:
    """Return how far max(W τ_flop, Q τ_byte) misses the polynomials' times: mean, greatest, and of how many runs.

    ``times``: the machine's times by parameter name.
    """
    found = []
    for precision, mark in _FIT_OF.items():
        flop, byte = times.get(f"time_per_flop{mark}"), times.get("time_per_byte")
        if flop and byte:
            chosen = _sweep(runs, precision, threads)
            found += [abs(max(r.flops * flop, r.bytes * byte) / r.time - 1) for r in chosen]
    return (statistics.fmean(found), max(found), len(found)) if found else (math.nan, math.nan, 0)


def _sweep(runs: Sequence[Run], precision: str, threads: int) -> list[Run]:
    return [
        r
        for r in runs
        if r.kernel in _SWEPT and (r.precision, r.level, r.threads) == (precision, "memory", threads)
    ]


def left_out(runs: Sequence[Run]) -> Iterator[str]:
    """Name the kernels, precisions and levels of which nothing is made: they may be mistyped."""
    for column, known in _KNOWN.items():
        odd = dict.fromkeys(getattr(r, column) for r in runs if getattr(r, column) not in known)
        if odd:
            count = sum(getattr(r, column) in odd for r in runs)
            names, usual = some_of([f"{n!r}" for n in odd], _TOLD), ", ".join(sorted(filter(None, known)))
            yield f"nothing is made of {plural(count, 'run')} whose {column} is {names} (known: {usual})"
