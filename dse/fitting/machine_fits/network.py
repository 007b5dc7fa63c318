"""Fitting latency and bandwidth of a network from the times of messages and of collectives.

A message of n bytes takes α + n/B (Hockney 1994). A collective of p members on n bytes takes s(p) α + v(p) n/B,
where s steps and v volumes follow from its algorithm (Thakur, Rabenseifner and Gropp 2005, sections 3 and 4;
costs of combining are left out). Which algorithm ran is not in the data: of the usual ones that which fits best
is taken, one for each collective. Everything is linear in α and 1/B, and neither can be negative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product

import numpy as np

from dse.fitting.errors import FittingError
from dse.fitting.machine_fits import linear
from dse.fitting.machine_fits.result import NOT_VISIBLE, Estimate, Fit, Runs
from dse.fitting.outliers import Outlier, Residuals, outliers
from dse.fitting.reading import Column, Measurements
from dse.fitting.statistics import Errors, correlated, dependent, errors, summary
from dse.quantities import show
from dse.system.arrays import Array
from dse.system.records import dataclass

WORD = 8.0
"""Bytes of a word, where nothing else is said."""
_VAGUE = 0.5
# sums of squares that differ by less tell no algorithms apart
_ALIKE_SQUARES = 1.05
_FEWEST_MESSAGES = 4

_Count = Callable[[Array], Array]


def _tree(p: Array) -> Array:
    found: Array = np.ceil(np.log2(p) - 1e-9)
    return found


def _others(p: Array) -> Array:
    return p - 1


def _shares(p: Array) -> Array:
    return (p - 1) / p


def _scaled_count(factor: float, count: _Count) -> _Count:
    def many(p: Array) -> Array:
        return factor * count(p)

    return many


def _sum_of_counts(first: _Count, second: _Count) -> _Count:
    def many(p: Array) -> Array:
        return first(p) + second(p)

    return many


@dataclass(frozen=True, slots=True)
class Algorithm:
    """How a collective goes: steps and volumes (in sizes of the whole) on its longest way, by number of members."""

    name: str
    steps: _Count
    volumes: _Count


_RING = Algorithm("ring", _others, _shares)
COLLECTIVES: Mapping[str, tuple[Algorithm, ...]] = {
    "send": (Algorithm("one message", np.ones_like, np.ones_like),),
    "broadcast": (
        Algorithm("binomial tree", _tree, _tree),
        Algorithm("scatter and allgather", _sum_of_counts(_tree, _others), _scaled_count(2, _shares)),
    ),
    "reduce": (
        Algorithm("binomial tree", _tree, _tree),
        Algorithm("reduce-scatter and gather", _scaled_count(2, _tree), _scaled_count(2, _shares)),
    ),
    "allreduce": (
        Algorithm("ring", _scaled_count(2, _others), _scaled_count(2, _shares)),
        Algorithm("halving and doubling", _scaled_count(2, _tree), _scaled_count(2, _shares)),
        Algorithm("recursive doubling", _tree, _tree),
    ),
    "allgather": (_RING, Algorithm("recursive doubling", _tree, _shares)),
    "reduce_scatter": (_RING, Algorithm("recursive halving", _tree, _shares)),
    "alltoall": (
        Algorithm("pairwise", _others, _shares),
        Algorithm("Bruck", _tree, _scaled_count(0.5, _tree)),
    ),
    "scatter": (Algorithm("binomial tree", _tree, _shares),),
    "gather": (Algorithm("binomial tree", _tree, _shares),),
}
"""Algorithms by collective. The size is that of the whole: of the vector of each member (broadcast, reduce,
allreduce), or of the parts of all members together (allgather, reduce_scatter, alltoall, scatter, gather)."""

COLUMNS = (
    Column("size", "byte", ("message_size", "message", "length"), required=True, positive=True),
    Column("time", "s", ("T", "latency"), required=True, positive=True),
    Column("members", "", ("ranks", "processes", "p"), positive=True),
    Column("collective", "", ("operation", "op"), text=True, choices=tuple(COLLECTIVES)),
)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The algorithm of each collective, the matrix of steps and bytes, what α and 1/B then are, and the error."""

    algorithms: tuple[Algorithm, ...]
    rows: Array
    found: Array
    squares: float


def check(numbers: Mapping[str, Array], run: Callable[[int], str]) -> Sequence[tuple[int, str]]:
    """Return what makes runs useless: numbers of members that are none, and too few runs."""
    wrong: list[tuple[int, str]] = []
    members = numbers.get("members", np.zeros(0))
    odd = np.isfinite(members) & ((members < 1) | (members % 1 != 0))
    wrong += [
        (i, f"{run(i)} has {members[i]:g} members, not a whole number from 1")
        for i in np.flatnonzero(odd).tolist()
    ]
    many = numbers["size"].size if "size" in numbers else _FEWEST_MESSAGES
    if 0 < many < _FEWEST_MESSAGES:
        wrong.append((-1, f"{many} runs are too few: at least {_FEWEST_MESSAGES} are needed"))
    return wrong


def fit(runs: Measurements, name: str, date: str, confidence: float, word_size: float = WORD) -> Fit:
    """Fit latency and bandwidth; raises FittingError where the runs do not tell them apart."""
    time = runs.numbers["time"]
    kinds = _collectives_in_order(runs)
    tried = _choices_with_fits(runs, kinds)
    best = tried[0]
    if dependent(best.rows / time[:, None], ("latency", "bandwidth")):
        wrong = "latency and bandwidth cannot be separated: the time per step is the same in all runs"
        raise FittingError(runs.source, [f"{wrong}; add messages of other sizes"])
    model = best.rows @ best.found
    folds, signed = linear.held_out(best.rows, time)
    of = np.array(_collectives_of_runs(runs))
    parts: dict[str, Errors] = {}
    if len(kinds) > 1:
        parts = {f"time of {k}": errors(model[of == k], time[of == k]) for k in kinds}
    return Fit(
        model="network",
        name=name,
        source=runs.source,
        digest=runs.digest,
        date=date,
        confidence=confidence,
        method="non-negative least squares of relative errors of time = steps * latency + volume / bandwidth",
        parameters=_network_estimates(best, time, confidence, word_size),
        errors={"time": errors(model, time), **parts},
        runs=Runs(
            {"time": time, **{k: runs.numbers[k] for k in ("size", "members") if k in runs.numbers}},
            {"time": model},
            tuple(of.tolist()),
        ),
        validation={f"time of runs held out, {folds} folds": summary(signed)},
        notes=_notes(kinds, tried),
        correlation=_network_correlation(best, model),
    )


def suspects(runs: Measurements) -> tuple[Outlier, ...]:
    """Return the runs whose time lies far from a robust fit."""
    time, kinds = runs.numbers["time"], _collectives_in_order(runs)
    choices = product(*(COLLECTIVES[k] for k in kinds))
    found = [linear.robust(_steps_and_bytes(runs, kinds, each), time) for each in choices]
    best = min(found, key=lambda e: float(np.median(np.abs(e))))
    return outliers(runs, {"time": Residuals("s", time, best)}, 2)


def _collectives_of_runs(runs: Measurements) -> tuple[str, ...]:
    named = runs.texts.get("collective", ("send",) * runs.runs)
    return tuple(n.lower() for n in named)


def _collectives_in_order(runs: Measurements) -> tuple[str, ...]:
    kinds = tuple(dict.fromkeys(_collectives_of_runs(runs)))
    if "members" not in runs.numbers and set(kinds) != {"send"}:
        wrong = "column members is missing: a collective takes longer the more take part"
        raise FittingError(runs.source, [wrong])
    return kinds


def _steps_and_bytes(runs: Measurements, kinds: Sequence[str], algorithms: Sequence[Algorithm]) -> Array:
    """Return steps, and bytes on the longest way, of every run."""
    size, of = runs.numbers["size"], np.array(_collectives_of_runs(runs))
    members = runs.numbers.get("members", np.full(runs.runs, 2.0))
    steps, volumes = np.zeros(runs.runs), np.zeros(runs.runs)
    for kind, algorithm in zip(kinds, algorithms, strict=True):
        own = of == kind
        steps[own], volumes[own] = algorithm.steps(members[own]), algorithm.volumes(members[own])
    return np.stack([steps, volumes * size], axis=1)


def _choices_with_fits(runs: Measurements, kinds: tuple[str, ...]) -> list[_Chosen]:
    """Return every choice of algorithms with its fit, the best first."""
    time = runs.numbers["time"]
    alone = np.array(_collectives_of_runs(runs)) != "send"
    if (alone & (runs.numbers.get("members", np.full(runs.runs, 2.0)) < 2)).any():
        raise FittingError(runs.source, ["a collective of one member sends nothing: leave these runs out"])
    found = []
    for each in product(*(COLLECTIVES[k] for k in kinds)):
        rows = _steps_and_bytes(runs, kinds, each)
        x = linear.relative(rows, time)
        found.append(_Chosen(each, rows, x, float(((rows @ x / time - 1) ** 2).sum())))
    return sorted(found, key=lambda c: c.squares)


def _network_estimates(best: _Chosen, time: Array, confidence: float, word: float) -> tuple[Estimate, ...]:
    low, high = linear.intervals(best.rows, time, best.found, confidence)
    latency, per_byte = (float(x) for x in best.found)
    about = partial(_doubt, low=low, high=high)
    bandwidth = Estimate(
        "bandwidth",
        1 / per_byte if per_byte else np.inf,
        "byte/s",
        1 / float(high[1]),
        1 / float(low[1]) if low[1] else np.inf,
        "bytes per second of long messages",
        about(per_byte, 1),
        written=False,
    )
    return (
        Estimate(
            "time_per_message",
            latency,
            "s/message",
            float(low[0]),
            float(high[0]),
            "latency: time of a message of any length",
            about(latency, 0),
        ),
        Estimate(
            "time_per_word",
            per_byte * word,
            "s/word",
            float(low[1]) * word,
            float(high[1]) * word,
            f"time to send one word of {word:g} bytes",
            about(per_byte, 1),
        ),
        Estimate("word_size", word, "byte", word, word, "bytes in a word, as given, not fitted"),
        bandwidth,
    )


def _network_correlation(best: _Chosen, model: Array) -> tuple[tuple[str, str, float], ...]:
    """Return the correlation of the estimates of latency and time per word, where the runs show both."""
    if not (best.found > 0).all():
        return ()
    return correlated(best.rows / model[:, None], ("time_per_message", "time_per_word"))


def _doubt(value: float, place: int, *, low: Array, high: Array) -> str:
    if value == 0:
        return NOT_VISIBLE
    wide = max(value - float(low[place]), float(high[place]) - value) / value
    return f"uncertain by {100 * wide:.0f} %" if wide > _VAGUE else ""


def _notes(kinds: tuple[str, ...], tried: list[_Chosen]) -> tuple[str, ...]:
    best = tried[0]
    notes = []
    for i, kind in enumerate(kinds):
        if kind == "send":
            continue
        alike = [
            c.algorithms[i].name
            for c in tried
            if c.squares <= _ALIKE_SQUARES * best.squares + 1e-12
            and all(
                a is b for k, (a, b) in enumerate(zip(c.algorithms, best.algorithms, strict=True)) if k != i
            )
        ]
        others = [n for n in dict.fromkeys(alike) if n != best.algorithms[i].name]
        doubt = f"; {' and '.join(others)} would fit as well, with another latency" if others else ""
        notes.append(f"{kind} as {best.algorithms[i].name}{doubt}")
    latency, per_byte = (float(x) for x in best.found)
    told = [f'link_latency = "{show(latency, "s", 4)}"']
    told += [f'link_bandwidth = "{show(1 / per_byte, "byte/s", 4)}"'] if per_byte else []
    return (*notes, f"in the model partition this link is {', '.join(told)}")
