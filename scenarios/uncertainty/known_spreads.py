"""Distributions that are known already: intervals of a machine file, errors of a fitted model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from dse import machines, models
from dse.machines import Machine
from dse.models.described.fitted import Fitted, fit_of
from dse.models.model import MACHINE_PREFIX
from dse.names import UnknownName
from dse.system.records import dataclass
from scenarios.define.composed import definitions_of
from scenarios.define.functions import ranges
from scenarios.define.trees import fitted_calls, names
from scenarios.distributions import HALVES, MOST_CUT, Marginal
from scenarios.language.errors import shown
from scenarios.language.schema import Shape, Spread
from scenarios.names import Roles
from scenarios.needs import without_effect
from scenarios.places import Place

SOURCES = ("machine", "residuals")
EVERY = f"{MACHINE_PREFIX}*"
# an interval whose halves differ by less than this share is one of a normal distribution
_EVEN = 0.05
_WRITE = "write a distribution, such as { normal = [mean, deviation] }"
_FACTOR = "make a plain number uncertain that a definition multiplies with: [given] error = 1, and … * error"


def read(shape: Shape, roles: Roles, place: Place, name: str, nominal: float | None) -> Marginal | None:
    """Return the distribution that a machine file or a fitted model states; None, and a mistake noted, without one.

    Intervals are read by ``of_interval``. Residuals are those of runs held out: measured/modelled, a factor, whose
    ``nominal`` value (SI; None where the file states none) is among them.
    """
    assert shape.uncertain is not None
    key, add = f"uncertain.{name}", roles.reader.findings.add
    origin = spread_of(shape.uncertain.spreads, name).from_
    if origin == "residuals":
        return _residuals(shape, roles, key, name, nominal)
    if origin != "machine":
        right = 'write { from = "machine" } or { from = "residuals" }'
        add(f"{key}.from", f"{shown(origin)} is not a source of a distribution", right)
        return None
    found = _machine_of_parameter(roles, place, name)
    menu = _entry_of_parameter(roles, name)[0]
    if menu in roles.machines and name.startswith(MACHINE_PREFIX):
        add(f"{key}.from", *_of_choice(roles, menu))
        return None
    if found is None:
        add(f"{key}.from", f"no single machine of a file or the catalogue states {name}", _WRITE)
        return None
    machine, own, changed = found
    ends = machine.intervals.get(own)
    if changed:
        add(
            f"{key}.from",
            f"the file states {name} itself, so the interval of {machine.name} is not its own",
            _WRITE,
        )
    elif ends is None or not _states(machine, own):
        add(f"{key}.from", f"machine {machine.name} states no interval of {own}", _WRITE)
    else:
        return of_interval(machine.parameters[own], ends, machine.confidence)
    return None


def spread_of(spreads: Mapping[str, Spread], name: str) -> Spread:
    """Return what the file says of an uncertain number: its own line, else that of all numbers of a machine."""
    return spreads.get(name) or spreads[EVERY]


def of_interval(value: float, ends: tuple[float, float], confidence: float | None) -> Marginal:
    """Return the distribution of a value that is known between two ends, with a confidence (None, 1: for sure).

    Where both are the same it is one value. An interval between whose ends a source leaves a value open is that of
    a uniform distribution. One of a fit, with its confidence, is that of a normal one where it is even and far from
    0, else of a lognormal one with the fitted value as its median, of which each half reaches its own end. Where it
    begins at 0, which the fit cannot pass, it is that of a normal one cut there; but where the value lies beyond its
    middle, or is no value within the interval, it is a bound that no run comes up to, and all below fits as well:
    uniform.
    """
    low, high = ends
    if low == high:
        return Marginal("values", (low,), weights=(1.0,))
    if confidence is None or (1 + confidence) / 2 >= 1 or (low == 0 and value > high / 2):
        return Marginal("uniform", (low, high))
    from scipy.special import ndtr, ndtri

    reach = float(ndtri((1 + confidence) / 2))
    if low == 0:
        return Marginal("normal", (value, (high - value) / reach), low=low)
    if not low < value < high:
        return Marginal("uniform", (low, high))
    deviation = (high - low) / 2 / reach
    even = abs((high - value) - (value - low)) <= _EVEN * (high - low)
    if low <= 0 or (even and float(ndtr(-value / deviation)) <= MOST_CUT):
        return Marginal("normal", (value, deviation))
    below, above = (math.exp(math.log(ratio) / reach) for ratio in (value / low, high / value))
    if abs(math.log(above / below)) <= _EVEN * math.log(above * below):
        return Marginal("lognormal", (value, math.sqrt(above * below)))
    return Marginal(HALVES, (value, below, above))


def stated(shape: Shape, roles: Roles, place: Place) -> Iterator[str]:
    """Go through what "machine.*" stands for: machine parameters with an interval, an effect, and no other role."""
    for name in _without_other_role(shape, roles):
        found = _machine_of_parameter(roles, place, name)
        if found is not None and not found[2] and _states(found[0], found[1]):
            yield name


def of_choices(shape: Shape, roles: Roles) -> Iterator[tuple[str, str]]:
    """Go through choices among machines whose intervals "machine.*" leaves out: what is wrong, what would be right."""
    spreads = shape.uncertain.spreads if shape.uncertain is not None else {}
    asked = [_entry_of_parameter(roles, n) for n in _without_other_role(shape, roles) if n not in spreads]
    for menu, choices in roles.machines.items():
        known = [m for m in map(_machine, choices) if m is not None]
        if any(_states(m, own) for of, own in asked if of == menu for m in known):
            yield _of_choice(roles, menu)


def _of_choice(roles: Roles, menu: str) -> tuple[str, str]:
    wrong = (
        f"{menu} is a choice among {', '.join(roles.machines[menu])}, and an interval is that of one machine"
    )
    right = (
        f'ask of each: [sweep.NAME] path = "{menu}" in place of [decide]; or give each number a distribution'
    )
    return wrong, right


def _without_other_role(shape: Shape, roles: Roles) -> Iterator[str]:
    taken = {*roles.decide, *roles.swept, *shape.define, *without_effect(roles.reader)}
    for name in roles.reader.parameters:
        if name.startswith(MACHINE_PREFIX) and name not in taken and not name.endswith(".word_size"):
            yield name


def _states(machine: Machine, own: str) -> bool:
    ends = machine.intervals.get(own)
    return own in machine.parameters and ends is not None and ends[0] < ends[1]


def correlations(
    shape: Shape, roles: Roles, place: Place, drawn: Iterable[str]
) -> Iterator[tuple[str, str, float]]:
    """Go through the correlations that a machine file states between numbers whose distribution is from it."""
    assert shape.uncertain is not None
    spreads = shape.uncertain.spreads
    of_file = [n for n in drawn if spread_of(spreads, n).from_ == "machine"]
    # each machine by what stands before its own numbers: two may be of one file, or of two of the same name
    stating = {
        n.removesuffix(found[1]): found[0]
        for n in of_file
        if (found := _machine_of_parameter(roles, place, n))
    }
    for prefix, machine in stating.items():
        for a, b, r in machine.correlation:
            if {prefix + a, prefix + b} <= set(of_file):
                yield prefix + a, prefix + b, r


def _entry_of_parameter(roles: Roles, name: str) -> tuple[str, str]:
    """Return what says which machine states a parameter, "machine" or "machine.cpu", and its name there."""
    own = name.removeprefix(MACHINE_PREFIX)
    entry = next((e for e in roles.reader.parts.machines if own.startswith(f"{e}.")), "")
    return (MACHINE_PREFIX + entry, own.removeprefix(f"{entry}.")) if entry else ("machine", own)


def _machine_of_parameter(roles: Roles, place: Place, name: str) -> tuple[Machine, str, bool] | None:
    """Return the machine that states a parameter, its name there, and whether the file changes it."""
    entry, own = _entry_of_parameter(roles, name)
    spec = place.specs.get(entry.removeprefix("machine").removeprefix("."))
    table = spec if isinstance(spec, Mapping) else {"base": spec}
    base = table.get("base")
    if name == own or not isinstance(base, str):
        return None
    machine = _machine(base)
    return None if machine is None or own not in machine.parameters else (machine, own, own in table)


def _machine(named: str) -> Machine | None:
    try:
        return machines.get(named)
    except (UnknownName, machines.MachineError):
        return None


def _residuals(shape: Shape, roles: Roles, key: str, name: str, nominal: float | None) -> Marginal | None:
    reader = roles.reader
    asked = [a for a in _asked_fits(shape, roles) if a.fit.residuals]
    # two models may share a name, and one file may be asked under two; what is drawn tells them apart
    fits = {a.fit.residuals: a for a in reversed(asked)}
    column = next((a.name for a in asked if name in a.columns), None)
    wrong, right = "", _FACTOR
    if reader.parameters[name].unit:
        wrong = f"residuals are factors, and {name} has the unit {reader.parameters[name].unit}"
    elif column is not None:
        wrong = f"{name} is what {column} is asked at, and residuals are a factor of what it predicts"
    elif not fits:
        wrong, right = "no fitted model here has residuals", _WRITE
    elif len(fits) > 1:
        told = ", ".join(a.name for a in reversed(fits.values()))
        wrong = f"several fitted models have residuals, and nothing says whose are meant: {told}"
        right = "write a distribution, such as { lognormal = [median, geometric standard deviation] }"
    else:
        (one,) = fits.values()
        # 1 is what the model predicts, also where all runs were slower
        low, high = (math.exp(end) for end in (min(one.fit.residuals[0], 0), max(one.fit.residuals[-1], 0)))
        if nominal is None or low <= nominal <= high:
            return Marginal("residuals", one.fit.residuals)
        wrong = (
            f"{name} is given as {nominal:.6g}, and residuals of {one.name} go from {low:.4g} to {high:.4g}"
        )
    reader.findings.add(f"{key}.from", wrong, right)
    return None


@dataclass(frozen=True, slots=True)
class _AskedFit:
    """A fitted model that a question asks: its ``name`` in the file, and the numbers that are its ``columns``."""

    name: str
    fit: Fitted
    columns: frozenset[str]


def _asked_fits(shape: Shape, roles: Roles) -> Iterator[_AskedFit]:
    """Go through the fitted models that a question asks: its model, its kernels, the functions of its definitions."""
    whole = [(shape.model, "")] if shape.model else []
    for named, prefix in (*whole, *((k.model, f"{k.name}.") for k in shape.kernels if k.model)):
        own = fit_of(models.get(named))
        if own is not None:
            yield _AskedFit(named, own, frozenset(prefix + c.name for c in own.columns))
    definitions = definitions_of(roles.reader.model)
    computed = {*roles.reader.metrics, *(d.name for d in definitions)}
    for r in ranges(d.tree for d in definitions):
        # an argument with a computed number in it may be a prediction times its error
        plain = (names(of).keys() for of in r.of if not fitted_calls(of) and not names(of).keys() & computed)
        yield _AskedFit(r.function.family, r.function.fit, frozenset(n for of in plain for n in of))
