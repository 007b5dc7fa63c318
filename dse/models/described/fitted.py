"""A model fitted to measurements: one column as a sum, softmax or maximum of monomials of others.

y = sum of plain terms + (sum over groups of (sum of the group's terms)^s)^(1/s), each term c prod x_j^e_j with c > 0;
s is the sharpness. ``posynomial``: plain terms only; ``max``: s is infinite, the largest group counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from dse.models.model import Model, ModelLimit
from dse.quantities import Quantity, show
from dse.system.records import dataclass

POSYNOMIAL, SOFTMAX, MAX = "posynomial", "softmax", "max"
FORMS = (POSYNOMIAL, SOFTMAX, MAX)
RANGE = "measured_range"
KIND = "fitted model"
"""What a file of such a model says that it is."""
LOW, HIGH = "_low", "_high"
QUANTILES = 101
"""Of the errors on runs held out, evenly spaced."""
# how far beyond its runs a search may go where measured_range is waived
BEYOND_RUNS = 1e6

PROMISES = {
    POSYNOMIAL: "posynomial; where it is minimised or has an upper limit, the question is a geometric program",
    SOFTMAX: "softmax; where it is minimised or has an upper limit, it is one more variable of a geometric program",
    MAX: "maximum; where it is minimised or has an upper limit, it is one more variable of a geometric program",
}
ELSEWHERE = (
    "where it is a divisor, has a lower limit or is maximised, the question is solved by branch and bound"
)


class NotPositive(ZeroDivisionError):
    """A fitted function was asked at 0; the message says of which column."""


@dataclass(frozen=True, slots=True)
class Term:
    """c times a product of powers: ``exponents`` by column; ``group`` 0: a plain term; ``interval`` of c."""

    coefficient: float
    exponents: Mapping[str, float]
    group: int = 0
    interval: tuple[float, float] | None = None

    def at(self, x: Mapping[str, Any], centre: Mapping[str, float]) -> Any:
        """Return the term on any arithmetic; powers are of x relative to the ``centre``, which is near 1."""
        c = self.coefficient * math.prod(centre.get(n, 1.0) ** e for n, e in self.exponents.items())
        value: Any = c
        for n, e in self.exponents.items():
            one = x[n] / centre[n] if n in centre else x[n]
            value = value * (one if e == 1.0 else one**e)
        return value

    def text(self, c: str | None = None) -> str:
        """Write the term: ``2.5e-12 m n^0.5``."""
        powers = (n if e == 1.0 else f"{n}^{e:.4g}" for n, e in self.exponents.items() if e)
        return " ".join(filter(None, [f"{self.coefficient:.4g}" if c is None else c, *powers]))


@dataclass(frozen=True, slots=True)
class Column:
    """A column that the fit is a function of, with the least and greatest value among the runs (SI)."""

    name: str
    unit: str
    least: float
    greatest: float
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Facet:
    """A side of the convex hull of the runs in logarithms: product of columns^exponents <= ``greatest``."""

    exponents: Mapping[str, float]
    greatest: float


@dataclass(frozen=True, slots=True)
class Derived:
    """A quantity that follows exactly from the columns and the target: a sum of terms."""

    name: str
    unit: str
    terms: tuple[Term, ...]
    meaning: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A fitted model as its file states it.

    ``error``: what the file says of held-out errors, by key; ``residuals``: ``QUANTILES`` of
    log(measured/modelled) of runs held out, from the least to the greatest, or none; ``digest``: SHA-256 of the file.
    """

    name: str
    target: str
    unit: str
    columns: tuple[Column, ...]
    form: str
    terms: tuple[Term, ...]
    source: str
    sharpness: float = math.inf
    title: str = ""
    meaning: str = ""
    hull: tuple[Facet, ...] = ()
    derived: tuple[Derived, ...] = ()
    error: Mapping[str, Any] = field(default_factory=dict)
    residuals: tuple[float, ...] = ()
    notes: str = ""
    digest: str = ""

    def centre(self) -> dict[str, float]:
        """Return the middle of the runs in logarithms, by column."""
        return {c.name: math.sqrt(c.least) * math.sqrt(c.greatest) for c in self.columns}

    def value(self, x: Mapping[str, Any]) -> Any:
        """Return the target (SI) at columns ``x`` (SI) on any arithmetic: the fitted function itself."""
        zero = next((n for n, v in x.items() if isinstance(v, int | float) and v == 0), None)
        if zero is not None:
            raise NotPositive(f"{zero} of {self.name} is 0, and it was fitted to numbers above 0")
        return _sum_or_softmax(self.terms, self.sharpness, x, self.centre())

    def equations(self, g: Any) -> Mapping[str, Any]:
        """The target by the fitted function, what follows from it, and each end of the range of the runs as a limit."""
        x = {c.name: getattr(g, c.name) for c in self.columns}
        y = self.value(x)
        names = [self.target, *self._ends(), *(d.name for d in self.derived)]
        return {n: self._metric(n, x, y) for n in names} | dict(self.ratios(x))

    def metric(self, name: str, x: Mapping[str, Any]) -> Any:
        """Return one metric of the model (SI) at columns ``x`` (SI) on any arithmetic. KeyError: there is none."""
        return self._metric(name, x, self.value(x))

    def _metric(self, name: str, x: Mapping[str, Any], y: Any) -> Any:
        if name == self.target:
            return y
        if name in self._ends():
            return y * self._ends()[name]
        derived = {d.name: d.terms for d in self.derived}
        return _sum_of_terms(derived[name], {**x, self.target: y}, self.centre())

    def _ends(self) -> dict[str, float]:
        ends = self.interval
        return {} if ends is None else {self.target + LOW: ends[0], self.target + HIGH: ends[1]}

    @property
    def interval(self) -> tuple[float, float] | None:
        """What measured/modelled lies between with the file's confidence, by the runs held out."""
        return (self.error["low"], self.error["high"]) if {"low", "high"} <= self.error.keys() else None

    def ratios(self, x: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Go through the sides of the range of the runs: the name of each and a ratio that is <= 1 inside."""
        for c in self.columns:
            yield f"{RANGE}.{c.name}.min", c.least / x[c.name]
            yield f"{RANGE}.{c.name}.max", x[c.name] / c.greatest
        for i, facet in enumerate(self.hull, 1):
            yield f"{RANGE}.hull.{i}", Term(1 / facet.greatest, facet.exponents).at(x, self.centre())

    def formula(self) -> str:
        """Write the function with four digits, one term on a line where there are many."""
        plain = [t.text() for t in self.terms if t.group == 0]
        groups = [
            " + ".join(t.text() for t in self.terms if t.group == g)
            for g in range(1, 1 + max((t.group for t in self.terms), default=0))
        ]
        if self.form == MAX:
            plain.append(f"max({', '.join(groups)})")
        elif groups:
            s = f"{self.sharpness:.4g}"
            plain.append(f"({' + '.join(f'({g})^{s}' for g in groups)})^(1/{s})")
        return " + ".join(plain)


def _sum_of_terms(terms: Sequence[Term], x: Mapping[str, Any], centre: Mapping[str, float]) -> Any:
    total: Any = terms[0].at(x, centre)
    for t in terms[1:]:
        total = total + t.at(x, centre)
    return total


def _sum_or_softmax(
    terms: Sequence[Term], sharpness: float, x: Mapping[str, Any], centre: Mapping[str, float]
) -> Any:
    from dse.models.arithmetic import maximum  # with NumPy, which listing models does without

    plain = [t for t in terms if t.group == 0]
    numbers = sorted({t.group for t in terms} - {0})
    parts = [_sum_of_terms(plain, x, centre)] if plain else []
    if numbers:
        # groups relative to what they come to at the centre: high powers stay within floating-point numbers
        size = max(_sum_of_terms([t for t in terms if t.group == g], centre, centre) for g in numbers)
        inner = [
            _sum_of_terms([_scaled_term(t, 1 / size) for t in terms if t.group == g], x, centre)
            for g in numbers
        ]
        if len(inner) == 1:
            top = inner[0]
        elif math.isinf(sharpness):
            top = maximum(inner[0], *inner[1:])
        else:
            powers = [g**sharpness for g in inner]
            total = powers[0]
            for p in powers[1:]:
                total = total + p
            top = total ** (1 / sharpness)
        parts.append(top * size)
    found = parts[0]
    for p in parts[1:]:
        found = found + p
    return found


def _scaled_term(t: Term, factor: float) -> Term:
    return Term(t.coefficient * factor, t.exponents, t.group)


def model(fitted: Fitted) -> Model:
    """Return the fit as a model: its columns are inputs, its target is a metric, its range always holds."""
    source = fitted.source or "measurements"
    inputs = tuple(
        Quantity(
            c.name,
            c.name,
            c.unit,
            c.meaning or f"column {c.name} of the measurements",
            source,
            floor=c.least / BEYOND_RUNS,
            ceiling=c.greatest * BEYOND_RUNS,
            open=True,
        )
        for c in fitted.columns
    )
    notes = "\n\n".join(
        filter(None, (f"    {fitted.target} = {fitted.formula()}", told(fitted), fitted.notes))
    )
    return Model(
        name=fitted.name,
        title=fitted.title or f"{fitted.target} as measured, a {fitted.form} of {_column_names(fitted)}",
        source=source,
        machine=(),
        inputs=inputs,
        metrics=tuple(_fitted_metrics(fitted, source)),
        limits=limits(fitted),
        equations=fitted.equations,
        notes=notes,
    )


@dataclass(frozen=True, slots=True)
class Function:
    """A metric of a fitted model as a function of its columns, in their order: ``gemm.latency(m, n, k)``.

    ``family``: what the file that uses it calls the model.
    """

    family: str
    fit: Fitted
    metric: Quantity

    @property
    def name(self) -> str:
        """What it is called: "gemm.latency"."""
        return f"{self.family}.{self.metric.name}"

    @property
    def takes(self) -> tuple[Column, ...]:
        """The columns it takes."""
        return self.fit.columns

    @property
    def call(self) -> str:
        """How it is written: "gemm.latency(m, n, k)"."""
        return f"{self.name}({_column_names(self.fit)})"

    def columns(self, of: Sequence[Any]) -> dict[str, Any]:
        """Return its arguments by column."""
        return {c.name: x for c, x in zip(self.takes, of, strict=True)}

    def at(self, of: Sequence[Any]) -> Any:
        """Return its value (SI) at arguments (SI) on any arithmetic."""
        return self.fit.metric(self.metric.name, self.columns(of))


def functions(family: str, fit: Fitted) -> tuple[Function, ...]:
    """Return every metric of a fit as a function; see ``Function``."""
    return tuple(Function(family, fit, q) for q in _fitted_metrics(fit, fit.source or "measurements"))


def limits(fit: Fitted) -> tuple[ModelLimit, ...]:
    """Return the sides of the range of the runs as limits, in the order of ``Fitted.ratios``."""
    return tuple(_limits_of_ranges(fit, fit.source or "measurements"))


def fit_of(model: Model) -> Fitted | None:
    """Return the fit that a model was made from; None for a model that was written."""
    owner = getattr(model.equations, "__self__", None)
    return owner if isinstance(owner, Fitted) else None


def told(fitted: Fitted) -> str:
    """Say in words what the form permits, and how far off runs were that were held out."""
    parts = [f"Its form is a {PROMISES[fitted.form]}; {ELSEWHERE}."]
    e = fitted.error
    if {"mean", "split"} <= e.keys():
        parts.append(f"Its mean error on runs left out of the fit is {e['mean']:.1%} ({e['split']}).")
    if fitted.interval is not None:
        low, high = fitted.interval
        parts.append(
            f"{e.get('confidence', 0.9):.0%} of these runs lie between {low:.3g} and {high:.3g} times what it predicts."
        )
    return " ".join(parts)


def _column_names(fitted: Fitted) -> str:
    return ", ".join(c.name for c in fitted.columns)


def _fitted_metrics(fitted: Fitted, source: str) -> Iterator[Quantity]:
    meaning = fitted.meaning or f"{fitted.target}, fitted to measurements"
    yield Quantity(fitted.target, fitted.target, fitted.unit, meaning, source)
    if fitted.interval is not None:
        share = f"{fitted.error.get('confidence', 0.9):.0%} of runs held out"
        for end, which in ((LOW, "least"), (HIGH, "greatest")):
            about = f"{which} {fitted.target} that {share} lead one to expect"
            yield Quantity(fitted.target + end, "", fitted.unit, about, source)
    for d in fitted.derived:
        formula = " + ".join(t.text() for t in d.terms)
        yield Quantity(d.name, d.name, d.unit, d.meaning or f"{d.name} = {formula}", source)


def _limits_of_ranges(fitted: Fitted, source: str) -> Iterator[ModelLimit]:
    beyond = "the runs end here: beyond them the fit is an extrapolation"
    for c in fitted.columns:
        yield ModelLimit(f"{RANGE}.{c.name}.min", f"{c.name} >= {show(c.least, c.unit)}", beyond, source)
        yield ModelLimit(f"{RANGE}.{c.name}.max", f"{c.name} <= {show(c.greatest, c.unit)}", beyond, source)
    for i, facet in enumerate(fitted.hull, 1):
        formula = f"{Term(1.0, facet.exponents).text('')} <= {facet.greatest:.4g}"
        yield ModelLimit(f"{RANGE}.hull.{i}", formula, "a side of the convex hull of the runs", source)
