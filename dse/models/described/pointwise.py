"""Equations that take plain numbers only, run on arrays: one design after another."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dse.models.arithmetic import CannotTake

Equations = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def run(equations: Equations, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Run equations on floats; on arrays, which are spread over each other, design by design.

    Where they fail at some designs the numbers there are NaN, with a RuntimeWarning that says how many and why; where
    they fail at all, what they raise is passed on.
    """
    arrays = {n: v for n, v in values.items() if isinstance(v, np.ndarray) and v.ndim}
    if not arrays:
        return {n: _number_from_black_box(n, v) for n, v in equations(values).items()}
    spread = dict(zip(arrays, np.broadcast_arrays(*arrays.values()), strict=True))
    shape = next(iter(spread.values())).shape
    found: dict[str, Any] = {}
    failures: list[Exception | SystemExit] = []
    for place in np.ndindex(shape):
        try:
            at = equations({**values, **{n: v[place] for n, v in spread.items()}})
            numbers = {n: _number_from_black_box(n, v) for n, v in at.items()}
        except (Exception, SystemExit) as problem:  # a stranger's code may raise anything
            failures.append(problem)
            continue
        for name, number in numbers.items():
            found.setdefault(name, np.full(shape, np.nan))[place] = number
    if failures and not found:
        raise failures[0]
    if failures:
        why = f"{type(failures[0]).__name__}: {failures[0]}"
        text = f"the model could not be evaluated at {len(failures)} of {np.prod(shape)} designs ({why})"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return found


def _number_from_black_box(name: str, value: Any) -> np.float64:
    """Read what a black box says of a metric: one number, in whatever it is wrapped."""
    if np.iscomplexobj(value):
        raise TypeError(f"{value} is a complex number")
    try:
        numbers = np.asarray(value, dtype=float).ravel()
    except TypeError as problem:  # an interval, a polynomial
        raise CannotTake(f"{name} is no plain number: {problem}") from problem
    if numbers.size != 1:
        raise ValueError(f"the equations give {numbers.size} numbers for {name}, not one")
    return np.float64(numbers[0])
