"""What programs with a whole number held say of the nodes beside: bounds that hold, and close where they may."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from formulations.arithmetics.posynomial import Posynomial
from formulations.canonical import Canonical, arrays
from formulations.row_keys import RowKey
from solvers.geometric.kernel import gp
from solvers.geometric.programs.nodes import Held, Nodes, bounded_beside
from solvers.outcome import INFEASIBLE, OPTIMAL

MOST = 20
powers = st.floats(-2, 2).map(lambda x: round(x, 2))
sizes = st.floats(0.1, 10).map(lambda x: round(x, 3))


def power_of(factor: float, p: float, m: float) -> Posynomial:
    """A factor times powers of both numbers."""
    return Posynomial({tuple((n, x) for n, x in (("m", m), ("p", p)) if x): factor})


def problem(goal: Posynomial, limit: Posynomial) -> Canonical:
    """Least ``goal`` over a whole number p and a real m, where ``limit`` is at most 1."""
    one = Posynomial({(): 1.0})
    low, high = np.zeros((1, 2)), np.log([[MOST, 1e3]])
    pairs = [(goal, one), (limit, one)]
    return arrays(("p", "m"), pairs, (RowKey("limit", "model"),), low, high, {0: None}, (1,))


def with_each(c: Canonical) -> gp.Result:
    """The optima with p held at each value."""
    low, high = (np.repeat(end, MOST, 0) for end in (c.low, c.high))
    low[:, 0] = high[:, 0] = np.log(np.arange(1, MOST + 1))
    return gp.solve(c.exponents, np.repeat(c.logc, MOST, 0), c.ptr, low, high, tol=1e-11)


@given(
    st.lists(st.tuples(sizes, powers, powers), min_size=2, max_size=4),
    sizes,
    powers,
    st.integers(2, MOST - 1),
)
def test_a_bound_holds_and_is_the_least_on_the_rising_side(
    terms: list[tuple[float, float, float]], size: float, power: float, p: int
) -> None:
    goal = Posynomial({})
    for s, a, b in terms:
        goal = goal + power_of(s, a, b)
    c = problem(goal, power_of(100 * size, power, -1.0))
    every = with_each(c)
    r = every.take([p - 1])
    held = Held(np.zeros(1, np.intp), r.y, r.multipliers, r.status)
    low, high = np.repeat(c.low, 2, 0), np.repeat(c.high, 2, 0)
    high[0, 0] = low[1, 0] = np.log(p)
    none = np.zeros((2, 0))
    nodes = Nodes(np.zeros(2, np.intp), low, high, none, none, np.full(2, -np.inf))
    bounds = bounded_beside(c, nodes, held).bound
    values = np.where(every.status == OPTIMAL, every.value, np.inf)
    least = np.array([values[:p].min(), values[p - 1 :].min()])
    assert (bounds <= least + 1e-9).all()
    if r.status[0] == OPTIMAL:
        # convex in log p: on one side of p at least nothing is better than there
        assert bounds.max() >= r.value[0] - 1e-8
    elif r.status[0] == INFEASIBLE:
        assert np.isposinf(bounds).any()
