"""Several models on one machine: a plain model, made for one question, that adds up what each of them costs.

Kernel k runs r_k times; one run takes t_k and costs E_k, by its own model. One after the other

    T = Σ r_k t_k        E = Σ r_k E_k

since processors that a kernel does not use are off. Where they are not (``idle``), all p = max p_k of them leak
as long as the whole lasts. Kernels that overlap take as long as the longest of them. What each of them spends on its
work is added up; memory is held, and the machine draws power, as long as the whole lasts:

    T = max r_k t_k      E = Σ r_k (what is not drawn over time) + T (Σ memory power_k + leakage of max p_k, or π1)

That is the least time that any overlap can reach: every kernel is as fast as if it were alone. Only what cannot be
exceeded together is held together: memory adds up against the capacity, and where the machine states a usable power
the whole takes at least as long as all energy above the constant power needs under it.

Which part of an energy is drawn over time, and with what, is read from a model's own ``sums``. Where one kernel does
not say its energy, or its work, neither does the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add, mul
from types import SimpleNamespace
from typing import Any

from dse.models.arithmetic import maximum
from dse.models.model import MACHINE_PREFIX, Model, ModelLimit, Unknown
from dse.models.shared.kernel_quantities import REPEAT, WHOLE
from dse.models.shared.power_held import (
    LEAKAGE,
    PROCESSORS,
    drawn,
    energy_terms,
    factors_of_power,
    held_together,
    leakage,
    of_machine,
)
from dse.models.shared.sums import Held, Sum, Term
from dse.models.shared.totals import totals
from dse.models.shared.unions import union
from dse.quantities import Quantity
from dse.system.records import dataclass

# what a metric of the whole takes of every kernel, beside its time
TAKEN = {
    "energy": ("energy",),
    "power": ("energy",),
    "performance": ("performance",),
    "efficiency": ("energy", "performance"),
    "energy_delay": ("energy",),
}
USABLE_POWER = "usable_power"
LABELS = ("flop", "word", "message", "instruction")
"""Units of what is counted."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel: its name, its model, and those of the model's inputs that are one number for all kernels."""

    name: str
    model: Model
    shared: frozenset[str] = frozenset()

    def at(self, name: str) -> str:
        """Return the name that an input has in the whole: "memory", or "forces.memory" of its own."""
        return name if name in self.shared else f"{self.name}.{name}"

    def known(self, name: str) -> str:
        """Return the name that an input, metric or machine parameter of the model has in the whole."""
        if name.startswith(MACHINE_PREFIX):
            return name
        return self.at(name) if any(q.name == name for q in self.model.inputs) else f"{self.name}.{name}"


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of a kernel: what its model says of it, and the numbers it was given."""

    kernel: Kernel
    repeat: Any
    given: Mapping[str, Any]
    machine: Mapping[str, Any]
    found: Mapping[str, Any]

    def product(self, factors: Iterable[str]) -> Any | None:
        """Return a product of inputs, metrics and machine parameters; None where one is not stated."""
        numbers = [self._number(name) for name in factors]
        return None if any(n is None for n in numbers) else reduce(mul, numbers)

    def _number(self, name: str) -> Any:
        if name.startswith(MACHINE_PREFIX):
            return self.machine.get(name.removeprefix(MACHINE_PREFIX))
        return self.found.get(name, self.given.get(name))

    def work(self) -> Any | None:
        """Return the flops of one run; None where the model does not say."""
        stated = self.product(self.kernel.model.work) if self.kernel.model.work else None
        if stated is None and "performance" in self.found:
            return self.found["performance"] * self.found["time"]
        return stated

    def spent(self) -> Any | None:
        """Return the energy of one run that is not drawn over time."""
        parts = [self.product(t.factors) for t in energy_terms(self.kernel.model) if not drawn(t)]
        return _sum_from_first(p for p in parts if p is not None)


@dataclass(frozen=True, slots=True)
class Equations:
    """The equations of several kernels on one machine, on any arithmetic."""

    kernels: tuple[Kernel, ...]
    overlap: bool = False
    idle: bool = False

    def __call__(self, g: Any) -> Mapping[str, Any]:
        """Return the metrics of the whole, and each kernel's own metrics and limits under its name."""
        runs = [_kernel_run(k, g) for k in self.kernels]
        if self.overlap:
            time, energy = _overlapped(runs)
        else:
            time = _sum_from_first(r.repeat * r.found["time"] for r in runs)
            energy = (
                _idling(runs, time) if self.idle else _all((r.repeat, r.found.get("energy")) for r in runs)
            )
        found = totals(time, energy, _all((r.repeat, r.work()) for r in runs))
        held: dict[str, list[Any]] = {}
        for run in runs:
            for name, value in run.found.items():
                if self.overlap and name in held_together(run.kernel.model):
                    held.setdefault(name, []).append(value)
                else:
                    found[f"{run.kernel.name}.{name}"] = value
        return found | {name: _sum_from_first(values) for name, values in held.items()}


@dataclass(frozen=True, slots=True)
class _Needs:
    """The machine parameters that the kernels' choices make necessary."""

    kernels: tuple[Kernel, ...]

    def __call__(self, choices: Mapping[str, str]) -> tuple[str, ...]:
        asked = [k for k in self.kernels if k.model.needs is not None]
        every = [name for k in asked for name in k.model.needs(_choices_of_kernel(k, choices))]  # type: ignore[misc]
        return tuple(dict.fromkeys(every))


@dataclass(frozen=True, slots=True)
class _Unused:
    """The inputs that the kernels' choices leave without a part; a shared one where it plays none in any."""

    kernels: tuple[Kernel, ...]

    def __call__(self, choices: Mapping[str, str]) -> Container[str]:
        used: set[str] = set()
        every: set[str] = set()
        for k in self.kernels:
            idle = k.model.unused(_choices_of_kernel(k, choices)) if k.model.unused is not None else ()
            names = {q.name for q in k.model.inputs}
            every |= {k.at(n) for n in names}
            used |= {k.at(n) for n in names if n not in idle}
        return every - used


def _choices_of_kernel(kernel: Kernel, choices: Mapping[str, str]) -> dict[str, str]:
    named = [q.name for q in kernel.model.inputs if q.choices]
    return {n: choices[kernel.at(n)] for n in named if kernel.at(n) in choices}


def _kernel_run(kernel: Kernel, g: Any) -> _Run:
    every = vars(g)
    names = [q.name for q in kernel.model.inputs]
    given = {n: every[kernel.at(n)] for n in names if kernel.at(n) in every}
    labels = {n: every[n] for n in LABELS if n in every}
    found = kernel.model.equations(SimpleNamespace(machine=g.machine, **given, **labels))
    return _Run(kernel, every[f"{kernel.name}.{REPEAT.name}"], given, vars(g.machine), found)


def _sum_from_first(numbers: Iterable[Any]) -> Any | None:
    """Return a sum that begins with its first term, as a 0 has no unit; None of nothing."""
    listed = list(numbers)
    return reduce(add, listed) if listed else None


def _all(parts: Iterable[tuple[Any, Any | None]]) -> Any | None:
    """Return the sum of products; None where one is not known."""
    listed = list(parts)
    return None if any(x is None for _, x in listed) else _sum_from_first(repeat * x for repeat, x in listed)


def _largest_number(numbers: Mapping[str, Any]) -> Any:
    """Return the largest of several numbers; what has one name is one number."""
    listed = list(numbers.values())
    return listed[0] if len(listed) == 1 else maximum(*listed)


def _idling(runs: Sequence[_Run], time: Any) -> Any:
    """Return the energy of runs one after the other while all processors leak all the time."""
    processors: dict[str, Any] = {}
    parts: list[Any] = []
    for run in runs:
        leaks_here = leakage(run.kernel.model)
        if leaks_here is None:
            parts.append(run.repeat * run.found["energy"])
            continue
        processors[run.kernel.known(PROCESSORS)] = run.product((PROCESSORS,))
        others = (run.product(t.factors) for t in energy_terms(run.kernel.model) if t is not leaks_here)
        parts += [run.repeat * p for p in others if p is not None]
    leaking = _largest_number(processors) * runs[0].machine[LEAKAGE.removeprefix(MACHINE_PREFIX)]
    return _sum_from_first([*parts, leaking * time])


def _overlapped(runs: Sequence[_Run]) -> tuple[Any, Any]:
    """Return time and energy of kernels that run at the same time."""
    spent = [(run, s) for run in runs if (s := run.spent()) is not None]
    times = [run.repeat * run.found["time"] for run in runs]
    capped = [run.repeat * s * run.given.get("throttle", 1.0) for run, s in spent if _capped(run)]
    if capped:
        times.append(_sum_from_first(capped) / runs[0].machine[USABLE_POWER])
    time = times[0] if len(times) == 1 else maximum(*times)
    powers: list[Any] = []
    shared: dict[tuple[str, ...], dict[str, Any]] = {}
    for run in runs:
        for term in filter(drawn, energy_terms(run.kernel.model)):
            power = run.product(factors_of_power(term))
            if power is None:
                continue
            if of_machine(term):
                named = " ".join(run.kernel.known(f) for f in factors_of_power(term))
                shared.setdefault(factors_of_power(term), {})[named] = power
            else:
                powers.append(power)
    powers += [_largest_number(same) for same in shared.values()]
    drawing = [p * time for p in powers]
    return time, _sum_from_first([*(run.repeat * s for run, s in spent), *drawing])


def _capped(run: _Run) -> bool:
    return USABLE_POWER in run.machine and any(q.name == USABLE_POWER for q in run.kernel.model.machine)


def refusal(model: Model) -> str:
    """Say why a model cannot be a kernel; nothing where it can."""
    lists = model.structure
    if lists is not None and lists.machines:
        return "runs on a map of machines; a kernel runs on the one machine of the question"
    if lists is not None:
        return "is asked about lists; a kernel is a model of single inputs on one machine"
    return "" if "time" in {q.name for q in model.metrics} else "does not say what time a run has"


def untold(kernels: Sequence[Kernel]) -> dict[str, tuple[str, Kernel]]:
    """Return the metrics that the whole has not: of each what is not said, and by which kernel first."""
    found: dict[str, tuple[str, Kernel]] = {}
    for k in kernels:
        said = {q.name for q in k.model.metrics}
        for metric, needed in TAKEN.items():
            lacking = next((n for n in needed if n not in said), None)
            if lacking is not None:
                found.setdefault(metric, (lacking, k))
    return found


def composed(kernels: Sequence[Kernel], *, overlap: bool = False, idle: bool = False) -> Model:
    """Return the model of several kernels on one machine.

    ``overlap``: they run at the same time, not one after the other. ``idle``: processors that a kernel does not use
    leak. Raises ValueError where kernels have a machine parameter or a shared input of one name in different units.
    """
    every = tuple(kernels)
    models = Counter(k.model.name for k in every)
    named = " + ".join(f"{n} × {model}" if n > 1 else model for model, n in models.items())
    way = ", overlapped" if overlap else ", idle processors leaking" if idle else ""
    inputs = [(k.at(q.name), k, q) for k in every for q in k.model.inputs]
    metrics = (_renamed(q, f"{k.name}.{q.name}", k) for k in every for q in k.model.metrics)
    sources = dict.fromkeys(k.model.source for k in every)
    lacking = untold(every)
    added = () if overlap else ("time",) if idle or "energy" in lacking else ("time", "energy")
    return Model(
        name=f"{named}{way}",
        title=f"{', '.join(f'{k.name} ({k.model.name})' for k in every)} on one machine{way}",
        source="; ".join(sources),
        machine=union((q.name, q) for k in every for q in k.model.machine),
        inputs=(*(_quantity_of_kernel(REPEAT, k) for k in every), *_inputs_of_kernels(inputs)),
        metrics=(*(q for q in WHOLE if q.name not in lacking), *metrics),
        limits=tuple(_limits_of_kernels(every, overlap)),
        valid=tuple(_prefixed(x, k) for k in every for x in k.model.valid),
        equations=Equations(every, overlap, idle),
        notes=__doc__ or "",
        one_of=_groups_of_kernels(every, lambda m: m.one_of),
        any_of=_groups_of_kernels(every, lambda m: m.any_of),
        needs=_Needs(every) if any(k.model.needs for k in every) else None,
        unused=_Unused(every) if any(k.model.unused for k in every) else None,
        unknowns=tuple(_unknowns_of_kernels(every)),
        black_box=next((k.model.black_box for k in every if k.model.black_box), ""),
        further=tuple(dict.fromkeys(_further(every))),
        sums=tuple(_sums_over_kernels(every, added)),
        hardware=_hardware(every, overlap=overlap, idle=idle),
    )


def _quantity_of_kernel(q: Quantity, kernel: Kernel) -> Quantity:
    return _renamed(q, f"{kernel.name}.{q.name}", kernel)


def _renamed(q: Quantity, name: str, kernel: Kernel) -> Quantity:
    return replace(q, name=name, meaning=f"{kernel.name}: {q.meaning}")


def _inputs_of_kernels(named: Iterable[tuple[str, Kernel, Quantity]]) -> tuple[Quantity, ...]:
    return union((n, q if n == q.name else _renamed(q, n, k)) for n, k, q in named)


def _limits_of_kernels(kernels: Sequence[Kernel], overlap: bool) -> Iterator[ModelLimit]:
    together: dict[str, None] = {}
    for k in kernels:
        for x in k.model.limits:
            if not (overlap and x.name in held_together(k.model)):
                yield _prefixed(x, k)
            elif x.name not in together:
                together[x.name] = None
                yield replace(x, meaning=f"all kernels at the same time: {x.meaning}")


def _prefixed(limit: ModelLimit, kernel: Kernel) -> ModelLimit:
    return replace(limit, name=f"{kernel.name}.{limit.name}", meaning=f"{kernel.name}: {limit.meaning}")


def _groups_of_kernels(
    kernels: Sequence[Kernel], of: Callable[[Model], tuple[tuple[str, ...], ...]]
) -> tuple[tuple[str, ...], ...]:
    every = (tuple(k.at(n) for n in group) for k in kernels for group in of(k.model))
    return tuple(dict.fromkeys(every))


def _further(kernels: Sequence[Kernel]) -> Iterator[str]:
    for k in kernels:
        yield from (n if n.startswith(MACHINE_PREFIX) else k.at(n) for n in k.model.further)


def _unknowns_of_kernels(kernels: Sequence[Kernel]) -> Iterator[Unknown]:
    for k in kernels:
        yield Unknown(f"{k.name}.{REPEAT.name}", integer=True, why="it counts runs")
        yield from (replace(u, name=k.at(u.name)) for u in k.model.unknowns)


def _sums_over_kernels(kernels: Sequence[Kernel], added: Sequence[str]) -> Iterator[Sum]:
    """Declare which totals of the whole are sums over kernels, and what each kernel's own totals are made of."""
    for metric in added:
        parts = (Term(k.name, (f"{k.name}.{REPEAT.name}", f"{k.name}.{metric}")) for k in kernels)
        yield Sum(metric, "kernel", tuple(parts))
    for k in kernels:
        for s in k.model.sums:
            terms = tuple(Term(t.name, tuple(map(k.known, t.factors))) for t in s.terms)
            yield Sum(f"{k.name}.{s.metric}", s.by, terms)


def _hardware(kernels: Sequence[Kernel], *, overlap: bool, idle: bool) -> tuple[Held, ...]:
    """Return what the whole keeps busy; nothing where a kernel's model does not say what it does.

    One after the other each kernel keeps what it uses while it runs. Processors that idle, and those of kernels that
    overlap, are kept until the end: as many as the kernel has that uses most. Memories of kernels that overlap add up.
    """
    if not all(k.model.hardware for k in kernels):
        return ()
    found: list[Held] = []
    most: dict[tuple[str, ...], None] = {}
    for k in kernels:
        for h in k.model.hardware:
            counts = tuple(tuple(map(k.known, names)) for names in h.counts)
            if (overlap or idle) and not h.memory:
                most |= dict.fromkeys(counts)
                continue
            alone = (f"{k.name}.{REPEAT.name}", *map(k.known, h.time))
            found.append(
                replace(h, name=f"{k.name}: {h.name}", counts=counts, time=("time",) if overlap else alone)
            )
    return (*((Held("processors", tuple(most)),) if most else ()), *found)
