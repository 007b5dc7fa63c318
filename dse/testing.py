"""The contract of a model, as a class of tests that a package inherits for a model of its own.

    from dse.testing import ModelContract

    class TestMine(ModelContract):
        model = "mine"

``pytest`` then tries on that model everything that dse relies on: that it is found and imported, that each quantity
says its unit, meaning and source, that units prove themselves, that arrays, Pyomo expressions, posynomials and
intervals give what plain floats give, and that the machines and scenarios that come with it can be used. Plain
``assert`` statements, so that any runner will do.
"""

from __future__ import annotations

import inspect
import math
import pickle
import random
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import scenarios
from dse import machines, models
from dse.models.described import plugins
from dse.models.model import MACHINE_PREFIX, Model
from dse.quantities import Quantity, kind, registry

# other orders of multiplication and powers of the libraries: a few units in the last place
RTOL = 1e-12
# sums of a handful of terms that may be of very different size
ADDED = 1e-9
LABELS = ("flop", "word", "message", "instruction", "byte")
# the units that reports, limits and fronts rely on in metrics of these names
COMMON = {
    "time": "s",
    "energy": "J",
    "power": "W",
    "energy_delay": "J*s",
    "cost": "USD",
    "mtbf": "s",
    "area": "m^2",
}


class ModelContract:
    """What dse relies on in a model. Set ``model`` to its name.

    ``typical``: a value of SI size for each parameter that the points tried should lie around, by name
    ("clock", "machine.flops_per_cycle"); a machine that comes with the model says it for machine parameters,
    and a default for what has one. ``not_symbolic``: metrics that no formula can give (infinite by intent, say).
    ``numbers``: parameters that the equations need as plain numbers (exponents, say), and that nobody can decide.
    ``seed``, ``tries``: of the points. Of a black box nothing symbolic is asked.
    """

    model: ClassVar[str]
    typical: ClassVar[Mapping[str, float]] = {}
    not_symbolic: ClassVar[frozenset[str]] = frozenset()
    numbers: ClassVar[frozenset[str]] = frozenset()
    seed: ClassVar[int] = 1
    tries: ClassVar[int] = 10

    def plain(self) -> Model:
        """Return the model whose equations are tried: of a model over lists override it with an expanded one."""
        found = models.get(self.model)
        assert found.expand is None or found.structure is None or found.structure.optional, (
            f"{self.model} takes lists: override plain() to return it expanded over an example of them"
        )
        return found

    @cached_property
    def subject(self) -> Model:
        """The model under test."""
        return self.plain()

    def points(self) -> list[dict[str, Any]]:
        """Return the points tried: a value of every parameter, texts where it is a choice.

        Parameters with which it is another model are left out: override plain() to try ``extended`` ones.
        """
        chance = random.Random(self.seed)
        further = self.subject.further
        parameters = {n: q for n, q in self.subject.parameters().items() if n not in further}
        typical = self._typical()
        return [
            {n: _random_value(q, typical.get(n), chance) for n, q in parameters.items()}
            for _ in range(self.tries)
        ]

    def _typical(self) -> dict[str, float]:
        found = {n: q.default for n, q in self.subject.parameters().items() if isinstance(q.default, float)}
        for name in self._names("machines"):
            known = machines.get(name).parameters
            found |= {MACHINE_PREFIX + n: v for n, v in known.items()}
        return found | dict(self.typical)

    def _unknown(self, x: Mapping[str, Any]) -> dict[str, float]:
        """Return the numbers of a point that are unknowns where something is decided."""
        return {n: v for n, v in x.items() if not isinstance(v, str) and n not in self.numbers}

    def _formulas(self) -> bool:
        return not getattr(self.subject, "black_box", False)

    def _names(self, folder: str) -> list[str]:
        return [f.stem for offer in plugins.offers().get(self.model, ()) for f in plugins.of(offer, folder)]

    # What it says of itself

    def test_it_is_found_by_its_name(self) -> None:
        """The name leads to the model, and nothing else has that name."""
        assert self.model in models.names()
        assert models.get(self.model).name == self.model
        assert not [message for message in models.broken() if repr(self.model) in message]

    def test_it_says_what_it_is_and_where_it_comes_from(self) -> None:
        """Title and source are there, and the equations have a docstring: the model's page shows it."""
        model = models.get(self.model)
        assert model.title.strip(), "a model has a title"
        assert model.source.strip(), "a model names its source"
        assert inspect.getdoc(self.subject.equations), "the equations have a docstring"

    def test_every_quantity_has_a_unit_a_meaning_and_a_source(self) -> None:
        """Units are read, and domains have their ends in order."""
        for q in (*self.subject.inputs, *self.subject.machine, *self.subject.metrics):
            assert kind(q.unit), q.name
            assert q.meaning.strip(), f"{q.name} has no meaning"
            assert q.source.strip(), f"{q.name} has no source"
            assert q.minimum <= q.floor < q.ceiling <= max(q.maximum, 1e30), (
                f"{q.name}: {q.minimum} <= {q.floor} < {q.ceiling} <= {q.maximum} does not hold"
            )
        for limit in self.subject.limits:
            assert limit.meaning.strip(), f"{limit.name} has no meaning"
            assert limit.source.strip(), f"{limit.name} has no source"

    def test_names_mean_what_they_mean_elsewhere(self) -> None:
        """Time is in seconds and so on, and a machine parameter has one unit in all models."""
        for q in self.subject.metrics:
            assert COMMON.get(q.name, q.unit) == q.unit, f"{q.name} is in {q.unit}, not in {COMMON[q.name]}"
        known = models.machine_parameters()
        for q in models.get(self.model).machine:
            assert known[q.name].unit == q.unit, f"machine.{q.name} is in {known[q.name].unit} elsewhere"

    def test_it_goes_to_other_processes(self) -> None:
        """A sweep's workers receive the model pickled."""
        model = models.get(self.model)
        assert pickle.loads(pickle.dumps(model)).name == model.name

    # What it computes

    def test_it_returns_what_it_declares(self) -> None:
        """Every metric and at most the declared limits, as numbers."""
        limits = {limit.name for limit in self.subject.limits}
        for x in self.points():
            found = models.evaluate(self.subject, x)
            assert set(found) - limits == {q.name for q in self.subject.metrics}
            for name, value in found.items():
                assert not math.isnan(float(value)), f"{name} is not a number at {x}"

    def test_totals_are_the_sums_it_declares(self) -> None:
        """The parts of a total that ``sums`` declares are made of numbers there are, and add up to it."""
        known = {*self.subject.parameters(), *(q.name for q in self.subject.metrics)}
        for declared in self.subject.sums:
            names = {n for term in declared.terms for n in term.factors} | {declared.metric}
            assert names <= known, f"the sum of {declared.metric} uses {', '.join(names - known)}"
        for x in self.points():
            numbers = {**x, **models.evaluate(self.subject, x)}
            for declared in self.subject.sums:
                terms = [math.prod(float(numbers[n]) for n in term.factors) for term in declared.terms]
                if all(map(math.isfinite, terms)):
                    whole = f"{declared.metric} by {declared.by}"
                    assert math.isclose(sum(terms), float(numbers[declared.metric]), rel_tol=ADDED), whole

    def test_units_prove_themselves(self) -> None:
        """With units for numbers, every metric has its declared unit, every limit none, and the value is the same."""
        units, parameters = registry(), self.subject.parameters()
        labels = {k: units.Quantity(1.0, k) for k in LABELS}
        for x in self.points():
            dressed = {
                k: v if isinstance(v, str) else units.Quantity(v, parameters[k].unit) for k, v in x.items()
            }
            found, wanted = (
                models.evaluate(self.subject, dressed, **labels),
                models.evaluate(self.subject, x),
            )
            declared = {q.name: q.unit for q in self.subject.metrics}
            for name, value in found.items():
                unit = declared.get(name, "")
                number = units.Quantity(1.0, "") * value
                assert number.dimensionality == units.Quantity(1.0, unit).dimensionality, (
                    f"{name} comes out in {number.units}, declared is {unit or 'a plain number'}"
                )
                _agree(number.m_as(unit), wanted[name], f"{name} with units")

    def test_arrays_give_what_floats_give(self) -> None:
        """NumPy and labelled arrays, point by point."""
        import numpy as np
        import xarray as xr

        rows = self.points()
        texts = {k: v for k, v in rows[0].items() if isinstance(v, str)}
        rows = [x | texts for x in rows]
        columns = {k: np.array([x[k] for x in rows]) for k in rows[0] if k not in texts}
        labelled = {k: xr.DataArray(v, dims="point") for k, v in columns.items()}
        single = [models.evaluate(self.subject, x) for x in rows]
        for point in (columns, labelled):
            found = models.evaluate(self.subject, {**point, **texts})
            for name in single[0]:
                values = np.broadcast_to(np.asarray(found[name]), (len(rows),))
                for value, one in zip(values, single, strict=True):
                    _agree(float(value), one[name], f"{name} of arrays")

    def test_formulas_give_what_floats_give(self) -> None:
        """Pyomo expressions of every number have the value that floats have."""
        import pyomo.environ as pyo

        import formulations.pyomo_models.pyomo_model  # noqa: F401  (teaches the helpers what a Pyomo expression is)

        menus = {n for n, q in self.subject.parameters().items() if q.menu}
        for x in self.points() if self._formulas() else ():
            block = pyo.ConcreteModel()
            unknown = {k: v for k, v in self._unknown(x).items() if not menus or k in menus}
            block.x = pyo.Var(list(unknown), initialize=unknown)
            found = models.evaluate(self.subject, {k: block.x[k] if k in unknown else x[k] for k in x})
            for name, wanted in models.evaluate(self.subject, x).items():
                if name not in self.not_symbolic:
                    _agree(float(pyo.value(found[name])), wanted, f"{name} as a formula")

    def test_posynomials_give_what_floats_give(self) -> None:
        """Where a metric is a ratio of posynomials, it has the value that floats have; elsewhere nothing fails."""
        from formulations.arithmetics.posynomial import Ratio, symbol

        for x in self.points() if self._formulas() else ():
            unknown = self._unknown(x)
            found = models.evaluate(self.subject, {k: symbol(k) if k in unknown else x[k] for k in x})
            for name, wanted in models.evaluate(self.subject, x).items():
                ratio = found[name]
                if isinstance(ratio, Ratio) and _has_known_unknowns(ratio, unknown):
                    value = ratio.numerator(**unknown) / ratio.denominator(**unknown)
                    _agree(float(value), wanted, f"{name} as a ratio of posynomials")

    def test_intervals_enclose_what_floats_give(self) -> None:
        """Over a box around a point every metric lies within what interval arithmetic says."""
        from formulations.arithmetics.intervals import Interval

        parameters, chance = self.subject.parameters(), random.Random(self.seed)
        for x in self.points() if self._formulas() else ():
            box = {n: _interval_around(parameters[n], v) for n, v in self._unknown(x).items()}
            found = models.evaluate(self.subject, {n: Interval(*box[n]) if n in box else x[n] for n in x})
            inside = {n: chance.uniform(*box[n]) if n in box else x[n] for n in x}
            for at in (x, inside):
                for name, value in models.evaluate(self.subject, at).items():
                    held = Interval.of(found[name])
                    assert float(held.lo) <= float(value) <= float(held.hi), (
                        f"{name} = {value} at {at} lies outside {held}"
                    )

    # What comes with it

    def test_its_machines_can_be_read(self) -> None:
        """Machine files that come with the model are read, and say where their values come from."""
        for name in self._names("machines"):
            machine = machines.get(name)
            assert machine.source.strip(), f"{name} has no source"
            assert all(s.strip() for s in machine.provenance.values()), f"{name}: a value has no source"

    def test_its_scenarios_can_be_asked(self) -> None:
        """Scenarios that come with the model are right, and so is the one that ``dse new`` writes."""
        texts = {n: scenarios.library()[n].read_text(encoding="utf-8") for n in self._names("scenarios")}
        texts[f"dse new {self.model}"] = scenarios.template(self.model)
        for name, text in texts.items():
            assert scenarios.grid(scenarios.from_text(text, name)).size >= 1, name


def _random_value(q: Quantity, typical: float | None, chance: random.Random) -> float | str:
    if q.choices:
        return chance.choice(q.choices)
    if q.menu:
        return float(chance.randint(1, len(q.menu)))
    low, high = _tried_interval(q, typical)
    if low <= 0:
        return chance.uniform(low, high)
    return min(max(math.exp(chance.uniform(math.log(low), math.log(high))), low), high)


def _tried_interval(q: Quantity, typical: float | None) -> tuple[float, float]:
    """Return where values of a quantity are tried: around what is typical of it, within its domain."""
    if typical is None and math.isfinite(q.maximum):
        width = q.maximum - q.minimum
        return q.minimum + 0.05 * width, q.maximum - 0.05 * width
    centre = 10.0 if typical is None else typical
    low, high = sorted((centre / 10, centre * 10))
    return max(low, q.minimum), min(high, q.maximum)


def _interval_around(q: Quantity, value: float) -> tuple[float, float]:
    if q.menu:
        return value, value
    low, high = sorted((0.9 * value, 1.1 * value))
    return max(low, q.minimum), min(high, q.maximum)


def _has_known_unknowns(ratio: Any, unknown: Mapping[str, float]) -> bool:
    """Tell whether a ratio has no unknowns but those of the point (maxima are unknowns of their own)."""
    from formulations.arithmetics.maxima import names_in

    return names_in((ratio.numerator, ratio.denominator)) <= unknown.keys()


def _agree(found: float, wanted: float, what: str) -> None:
    same = found == wanted or math.isclose(found, wanted, rel_tol=RTOL)
    assert same, f"{what} is {found!r}, of floats {wanted!r}"
