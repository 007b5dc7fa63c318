"""One model, many arithmetics: each gives what plain floats give."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import formulations.pyomo_models.pyomo_model  # noqa: F401  (teaches log what a Pyomo expression is)
from dse import models
from dse.models.model import Model
from dse.quantities import registry
from formulations.arithmetics.posynomial import Ratio, symbol

# other orders of multiplication and powers of the libraries: a few units in the last place
RTOL = 1e-12
# unknowns beyond which a few are drawn: maxima inside maxima of Pyomo expressions grow without bound
MANY = 100

Points = Callable[..., st.SearchStrategy[dict[str, Any]]]
Plain = Callable[[str], Model]
# questions that state several levels of memory, or a network, have models with more metrics
STATED = ("roofline, levels", "blocks, levels", "nbody, torus", "fft, fat tree", "matmul_two_level, torus")
every_model = pytest.mark.parametrize("name", [*models.names(), *STATED])
SPREAD = [n for n in models.names() if {"processors", "nodes"} & {q.name for q in models.get(n).inputs}]
# computed by way of a division by zero, which Pyomo has no number for
BY_INFINITY = {"balance_low", "balance_high"}
# the last two that a model has
AXES = (
    "global_batch",
    "data_parallel",
    "processors",
    "nodes",
    "throttle",
    "machine.time_per_flop",
    "share.a.cpu",
    "machine.gpu.time_per_flop",
    "setting.a",
    "phases.a.bytes",
    "count.big",
    "throttle.big",
    "machine.frequency",
    "machine.count.card",
    "levels.full.frequency",
    "sockets.big.full.of 4",
)
every_distributed_model = pytest.mark.parametrize("name", SPREAD)


def numbers(x: Mapping[str, Any]) -> dict[str, float]:
    return {k: v for k, v in x.items() if not isinstance(v, str)}


@every_model
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_arrays_give_what_floats_give(plain: Plain, points: Points, name: str, data: st.DataObject):
    """NumPy, labelled arrays and floats agree, point by point and broadcast along named dimensions."""
    model = plain(name)
    fixed = {q.name: data.draw(st.sampled_from(q.choices)) for q in model.inputs if q.choices}
    rows = [data.draw(points(name, **fixed)) for _ in range(3)]
    single = [models.evaluate(model, x) for x in rows]
    columns = {k: np.array([x[k] for x in rows]) for k in numbers(rows[0])} | fixed
    labelled = {k: v if isinstance(v, str) else xr.DataArray(v, dims="point") for k, v in columns.items()}
    # labels cost most of the time of a large model: one point in five
    both = len(rows[0]) <= MANY or data.draw(st.integers(0, 4)) == 0
    for point in (columns, labelled) if both else (columns,):
        found = models.evaluate(model, point)
        for metric in single[0]:
            np.testing.assert_allclose(found[metric], [s[metric] for s in single], rtol=RTOL, err_msg=metric)


@every_model
def test_labelled_axes_spread_over_a_grid(plain: Plain, name: str):
    """Two axes of different names make a grid of the metrics."""
    model = plain(name)
    quantities = model.parameters()
    x = {k: q.choices[0] if q.choices else max(q.minimum, 2.0) for k, q in quantities.items()}
    *_, first, second = (k for k in AXES if k in x)
    x[first] = xr.DataArray([1.0, 2.0, 4.0], dims="a")
    x[second] = xr.DataArray([1.0, 2.0], dims="b")
    found = models.evaluate(model, x)
    assert dict(found["energy" if "energy" in found else "cost"].sizes) == {"a": 3, "b": 2}


@every_model
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_pyomo_expressions_give_what_floats_give(
    plain: Plain, points: Points, name: str, data: st.DataObject
):
    model = plain(name)
    x = data.draw(points(name))
    block = pyo.ConcreteModel()
    # tables that a menu picks from are numbers: maxima of expressions inside maxima grow without bound
    menus = {k for k, q in model.parameters().items() if q.menu}
    symbols = {k: v for k, v in numbers(x).items() if not menus or k in menus}
    if len(symbols) > MANY:
        symbols = {k: symbols[k] for k in data.draw(st.sets(st.sampled_from(sorted(symbols)), max_size=8))}
    block.x = pyo.Var(list(symbols), initialize=symbols)
    found = models.evaluate(model, {k: block.x[k] if k in symbols else x[k] for k in x})
    once: dict[int, Any] = {}
    for metric, wanted in models.evaluate(model, x).items():
        if metric not in BY_INFINITY:
            assert worth(found[metric], once) == pytest.approx(wanted, rel=RTOL, abs=0), metric


def worth(expression: Any, once: dict[int, Any]) -> Any:
    """The value of an expression of Pyomo; a part that it has several times is evaluated once, which Pyomo does not."""
    if not hasattr(expression, "is_expression_type") or not expression.is_expression_type():
        return pyo.value(expression)
    if id(expression) not in once:
        once[id(expression)] = expression._apply_operation([worth(a, once) for a in expression.args])
    return once[id(expression)]


@pytest.mark.parametrize("name", [n for n in SPREAD if n != "fft"])
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_every_metric_is_a_ratio_of_posynomials(points: Points, name: str, data: st.DataObject):
    """With machine and design unknown alike, nothing but fft leaves the ratios; values agree."""
    model = models.get(name)
    x = data.draw(points(name))
    given_ = {"exponent": x["exponent"]} if "exponent" in x else {}
    unknown = {k: v for k, v in x.items() if k not in given_}
    found = models.evaluate(model, {k: symbol(k) for k in unknown} | given_)
    for metric, wanted in models.evaluate(model, x).items():
        assert isinstance(found[metric], Ratio), metric
        value = found[metric].numerator(**unknown) / found[metric].denominator(**unknown)
        assert value == pytest.approx(wanted, rel=RTOL, abs=0), metric


@every_model
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_pint_proves_the_units_of_every_metric(plain: Plain, points: Points, name: str, data: st.DataObject):
    """With flop, word and message as labels, every metric has its declared unit and every limit has none."""
    model = plain(name)
    x = data.draw(points(name))
    units = registry()
    quantities = model.parameters()
    dressed = {k: v if isinstance(v, str) else units.Quantity(v, quantities[k].unit) for k, v in x.items()}
    labels = {k: units.Quantity(1.0, k) for k in ("flop", "word", "message", "instruction", "byte")}
    found, wanted = models.evaluate(model, dressed, **labels), models.evaluate(model, x)
    limits = {limit.name for limit in model.limits}
    assert set(found) | limits == {q.name for q in model.metrics} | limits
    # what is chosen among names may leave a limit without a role
    assert limits <= set(found) or model.unused is not None
    for q in model.metrics:
        value = units.Quantity(1.0, "") * found[q.name]
        assert value.dimensionality == units.Quantity(1.0, q.unit).dimensionality, q.name
        assert value.m_as(q.unit) == pytest.approx(wanted[q.name], rel=RTOL, abs=0), q.name
    for limit in limits & set(found):
        value = units.Quantity(1.0, "") * found[limit]
        assert value.m_as("") == pytest.approx(wanted[limit], rel=RTOL, abs=0), limit


@every_distributed_model
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_metrics_follow_from_time_and_energy(points: Points, name: str, data: st.DataObject):
    """Power is energy over time, energy_delay their product; performance/power is efficiency."""
    model = models.get(name)
    x = data.draw(points(name))
    got = models.evaluate(model, x)
    processors = x.get("processors") or x["nodes"] * x["cores"]
    assert got["power"] == pytest.approx(got["energy"] / got["time"], rel=RTOL)
    assert got["energy_delay"] == pytest.approx(got["energy"] * got["time"], rel=RTOL)
    assert got["performance"] / got["power"] == pytest.approx(got["efficiency"], rel=RTOL)
    assert got["performance"] * got["time"] == pytest.approx(got["flops"] * processors, rel=RTOL)
    assert got["power_per_processor"] * processors == pytest.approx(got["power"], rel=RTOL)


@every_distributed_model
def test_a_machine_without_a_capacity_has_no_such_limit(name: str):
    """What the machine does not state bounds nothing; word_size enters no equation."""
    model = models.get(name)
    x = {
        k: q.choices[0] if q.choices else 2.0
        for k, q in model.parameters().items()
        if not q.optional or k == "machine.max_message"
    }
    found = models.evaluate(model, x)
    assert not any("capacity" in limit for limit in found)
    assert all(math.isfinite(v) for v in found.values())


@every_distributed_model
def test_a_machine_that_costs_nothing_is_infinitely_good(name: str):
    """Any cost may be zero, even all of a kind: the quotients are infinite, nothing fails."""
    model = models.get(name)
    x = {k: q.choices[0] if q.choices else 2.0 for k, q in model.parameters().items()}
    free = {k: 0.0 for k in x if "energy" in k or "power" in k}
    assert models.evaluate(model, x | free)["efficiency"] == math.inf
    instant = {k: 0.0 for k in x if "machine.time" in k or "_time_per" in k}
    found = models.evaluate(model, x | instant)
    assert (found["time"], found["performance"], found["power"]) == (0.0, math.inf, math.inf)
