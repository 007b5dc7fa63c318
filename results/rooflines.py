"""Rooflines: what a machine reaches at every intensity, by its own model, and where the designs stand under it."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import scenarios
from dse.models.model import MACHINE_PREFIX
from dse.models.platforms import roofline
from dse.system.records import dataclass
from formulations import evaluation
from results import designs_inside
from results.designs_inside import Designs
from scenarios.language.machine_files import shown_names
from scenarios.question import STRETCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import xarray as xr

    from results.telling.facts import Facts
    from scenarios.question import Question

Array = np.ndarray[Any, Any]
MODEL, CAP = roofline.ROOFLINE.name, roofline.USABLE_POWER.name
LAUNCH = MACHINE_PREFIX + roofline.LAUNCH_TIME.name
SHOWN = ("performance", "efficiency", "power")
WORK = frozenset({"flops", "bytes", "intensity"})
LOWEST_INTENSITY, HIGHEST_INTENSITY = 1 / 8, 256.0
BESIDE_RUNS = 4.0
ROOF_SAMPLES = 161
MOST_ROOFS = 8


@dataclass(frozen=True, slots=True)
class Roofline:
    """One machine at every intensity, in SI units, for runs so long that the launch time does not matter.

    ``name``: what tells it from the others, in words; ``intensity``: flops per byte of the curves; ``curves``: flops
    per second, flops per joule and watts there, by metric; ``units``: of the metrics. ``places``: the designs of
    this machine among the dataset's points, ``at``: their intensities, ``reached``: their metrics, ``nominal``:
    whether these are at the nominal values of what is uncertain, not the means that were optimised. ``uncapped``: the
    curves without a cap on power, none where the machine has no cap; ``regimes``: what bounds the machine, from which
    to which intensity, where its model says so.
    """

    name: str
    intensity: Array
    curves: Mapping[str, Array]
    units: Mapping[str, str]
    places: Array
    at: Array
    reached: Mapping[str, Array]
    uncapped: Mapping[str, Array] = field(default_factory=dict)
    regimes: tuple[tuple[float, float, str], ...] = ()
    nominal: bool = False


def of_machine(machine: str | Mapping[str, Any], **given: Any) -> Roofline:
    """Return the roofline of a machine: its name, or a table shaped like [machine].

    ``given``: what else the roofline model takes: ``precision``, ``level``, ``throttle``. Raises ScenarioError where
    there is no such machine, or it lacks what the model needs.
    """
    asked = {"model": MODEL, "machine": machine, "given": {"flops": 1.0, "intensity": 1.0, **given}}
    question = scenarios.grid(scenarios.load(asked)).question(())
    (found,) = _rooflines_of([Designs(question, np.zeros(0, int), {}, {})])
    return found


def of_solution(solution: Facts) -> tuple[Roofline, ...]:
    """Return the roofline under which an answer stands; empty where its model knows no intensity."""
    design = designs_inside.of_solution(solution)
    return _rooflines_of([design]) if design is not None else ()


def of_dataset(dataset: xr.Dataset, most: int = MOST_ROOFS) -> tuple[Roofline, ...]:
    """Return the rooflines of the machines of a sweep or a front: at most so many of them, the first."""
    return _rooflines_of(designs_inside.of_dataset(dataset), most)


def _rooflines_of(groups: Iterable[Designs], most: int = MOST_ROOFS) -> tuple[Roofline, ...]:
    alike: list[Designs] = []
    for group in groups:
        # of several kernels each has its own work, and only the intensity may be shared
        if any({"bytes", "intensity"} <= set(names) for names in group.question.model.one_of):
            alike += [own for at in _at_nominal(group) for own in _differing_in_work(at)]
    machines = [_inputs_of_curve(group) for group in alike[:most]]
    names = _machine_labels([_shown(group) for group in alike[:most]], machines)
    # along a curve a definition of the file may divide by 0
    with np.errstate(all="ignore"):
        return tuple(_roofline_of_group(*each) for each in zip(alike, machines, names, strict=False))


def _at_nominal(group: Designs) -> Iterator[Designs]:
    """Give designs what they reach at nominal numbers: a roof of these bounds no mean over samples.

    Designs of which a decided number is not known are left out.
    """
    question = group.question
    if question.uncertain is None:
        yield group
        return
    chosen = [*(d.name for d in question.decide), *([STRETCH.name] if STRETCH.name in group.numbers else [])]
    x = {n: group.number(n) for n in chosen}
    if all(v is not None for v in x.values()):
        inputs = {n: v for n, v in group.numbers.items() if n in question.given}
        with np.errstate(all="ignore"):
            reached = evaluation.metrics(replace(question, given={**question.given, **inputs}), x)
        yield replace(group, numbers={**inputs, **x, **reached})


def _shown(group: Designs) -> dict[str, str]:
    """Return the names of a group as people are shown them."""
    known = shown_names(group.question.scenario_text)
    return {n: known.get(name, name) for n, name in group.named.items()}


def _machine_labels(named: list[Mapping[str, str]], machines: list[dict[str, Any]]) -> list[str]:
    """Name the machines by what differs among them: names, then all that is not a cost, then their number."""
    if len(machines) < 2:
        return [""] * len(machines)
    plain = [{n: v for n, v in m.items() if not n.startswith(MACHINE_PREFIX)} for m in machines]
    found = _differing(named)
    if len(set(found)) < len(machines):
        found = [", ".join(filter(None, pair)) for pair in zip(found, _differing(plain), strict=True)]
    if len(set(found)) < len(machines):
        found = [", ".join(filter(None, (text, f"machine {i}"))) for i, text in enumerate(found, 1)]
    return found


def _differing(told: Sequence[Mapping[str, Any]]) -> list[str]:
    names = dict.fromkeys(n for m in told for n in m)
    differ = [n for n in names if len({str(m.get(n)) for m in told}) > 1]
    return [", ".join(_name_and_value(n, m[n]) for n in differ if n in m) for m in told]


def _name_and_value(name: str, value: Any) -> str:
    return value if isinstance(value, str) else f"{name.replace('_', ' ')} {value:.3g}"


def _differing_in_work(group: Designs) -> Iterator[Designs]:
    """Go through the designs of a group that differ in their work alone."""
    columns = [
        np.broadcast_to(v, group.places.shape)
        for n in _numeric_inputs(group)
        if np.ndim(v := group.number(n)) and n not in WORK
    ]
    if not columns:
        yield group
        return
    keys, member = np.unique(np.stack(columns), axis=1, return_inverse=True)
    for number in range(keys.shape[1]):
        own = member.ravel() == number
        numbers = {n: v[own] if np.ndim(v) else v for n, v in group.numbers.items()}
        yield replace(group, places=group.places[own], numbers=numbers)


def _numeric_inputs(group: Designs) -> list[str]:
    return [n for n in group.question.model.parameters() if group.number(n) is not None]


def _inputs_of_curve(group: Designs) -> dict[str, Any]:
    """Return all that the curves depend on: every input but the work, one number each."""
    numbers = {n: float(np.ravel(group.number(n))[0]) for n in _numeric_inputs(group) if n not in WORK}
    return {n: v for n, v in group.question.given.items() if isinstance(v, str)} | numbers


def _roofline_of_group(group: Designs, machine: Mapping[str, Any], name: str) -> Roofline:
    intensity, flops, data = (group.number(n) for n in ("intensity", "flops", "bytes"))
    if intensity is None:
        with np.errstate(divide="ignore", invalid="ignore"):
            intensity = np.divide(flops, data)
    at = np.broadcast_to(np.asarray(intensity, float), group.places.shape)
    inside = at[np.isfinite(at) & (at > 0)]
    low = min(LOWEST_INTENSITY, float(inside.min(initial=LOWEST_INTENSITY * BESIDE_RUNS)) / BESIDE_RUNS)
    high = max(HIGHEST_INTENSITY, float(inside.max(initial=HIGHEST_INTENSITY / BESIDE_RUNS)) * BESIDE_RUNS)
    along = np.geomspace(low, high, ROOF_SAMPLES)
    # all that is shown is per flop of long runs, so that any number of flops will do
    long = {n: v for n, v in machine.items() if n != LAUNCH}
    given = {**long, "flops": 1.0, "intensity": along}
    asked = replace(group.question, given=given, decide=())
    metrics = evaluation.metrics(asked, {})
    kept = [n for n in SHOWN if n in metrics and (group.number(n) is not None or not group.places.size)]
    return Roofline(
        name,
        along,
        _curves(metrics, kept, along),
        {n: evaluation.quantity(asked.model, n).unit for n in kept},
        group.places,
        at,
        {n: np.broadcast_to(_reached(group, n), at.shape) for n in kept},
        _uncapped(asked, kept, along),
        _regimes(asked, metrics, along),
        group.question.uncertain is not None,
    )


def _curves(metrics: Mapping[str, Any], kept: Sequence[str], along: Array) -> dict[str, Array]:
    return {n: np.broadcast_to(np.asarray(metrics[n], float), along.shape) for n in kept}


def _uncapped(asked: Question, kept: Sequence[str], along: Array) -> dict[str, Array]:
    """Return the curves of the machine without its cap, or without those of its parts."""
    free = {n: v for n, v in asked.given.items() if n.rpartition(".")[2] != CAP}
    if len(free) == len(asked.given):
        return {}
    return _curves(evaluation.metrics(replace(asked, given=free), {}), kept, along)


def _regimes(
    asked: Question, metrics: Mapping[str, Any], along: Array
) -> tuple[tuple[float, float, str], ...]:
    """Return the stretches along which a metric of cases stays the same, by what its cases mean."""
    cases = next((q for q in asked.model.metrics if q.flags and q.name in metrics), None)
    if cases is None:
        return ()
    codes = np.broadcast_to(np.asarray(metrics[cases.name], float), along.shape)
    starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist()]
    ends = [*starts[1:], len(along) - 1]
    return tuple(
        (float(along[a]), float(along[b]), cases.flags[int(codes[a])])
        for a, b in zip(starts, ends, strict=True)
    )


def _reached(group: Designs, name: str) -> Array:
    """Return a metric of the designs; there may be none where only a machine is asked for."""
    number = group.number(name)
    return np.zeros(0) if number is None else np.asarray(number, float)
