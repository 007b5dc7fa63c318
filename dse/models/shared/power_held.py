"""What the powers of kernels that run on one machine have in common, and what leaks."""

from __future__ import annotations

from dse.models.model import MACHINE_PREFIX, Model
from dse.models.shared.sums import Term

PROCESSORS, LEAKAGE = "processors", MACHINE_PREFIX + "leakage_power"


def energy_terms(model: Model) -> tuple[Term, ...]:
    """Return what a model's energy is the sum of; nothing where the model does not say."""
    return next((s.terms for s in model.sums if s.metric == "energy"), ())


def drawn(term: Term) -> bool:
    """Whether a part of an energy is a power times the time of the run."""
    return "time" in term.factors


def factors_of_power(term: Term) -> tuple[str, ...]:
    """Return the factors of a part of an energy without the time."""
    return tuple(f for f in term.factors if f != "time")


def of_machine(term: Term) -> bool:
    """Whether a power is the machine's, or its processors', whatever runs on them."""
    return all(f == PROCESSORS or f.startswith(MACHINE_PREFIX) for f in factors_of_power(term))


def leakage(model: Model) -> Term | None:
    """Return the part of a model's energy that leaks in its processors."""
    return next((t for t in energy_terms(model) if set(factors_of_power(t)) == {PROCESSORS, LEAKAGE}), None)


def leaks(model: Model) -> bool:
    """Whether a model's processors leak, so that those which a kernel does not use may do so."""
    return leakage(model) is not None


def held_together(model: Model) -> frozenset[str]:
    """Return the limits that are about what kernels hold of the machine at the same time.

    Such a limit has the name of the machine parameter that it rests on (``memory_capacity``).
    """
    return frozenset(x.name for x in model.limits) & {q.name for q in model.machine}
