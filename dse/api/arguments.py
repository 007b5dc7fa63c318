"""Arguments of what Python programs call: what cannot be meant is refused in one message before anything else."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Collection, Mapping
from numbers import Integral, Real
from typing import ParamSpec, TypeVar

from dse.names import did_you_mean
from dse.system.amounts import MOST_POINTS_ASKED
from results.differing.sections import SECTIONS

P = ParamSpec("P")
R = TypeVar("R")


def checked(*names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Have a function refuse arguments of these names that cannot be meant; None is left to it where it is a default.

    Raises TypeError for what is of another kind, and ValueError for a number that is not possible.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        code = function.__code__
        places = code.co_varnames[: code.co_argcount]
        needed = places[: code.co_argcount - len(function.__defaults__ or ())]

        @functools.wraps(function)
        def run(*arguments: P.args, **options: P.kwargs) -> R:
            given = {**dict(zip(places, arguments, strict=False)), **options}
            for name in names:
                refuse_impossible(name, given.get(name), needed=name in needed and name in given)
            return function(*arguments, **options)

        return run

    return decorate


def refuse_impossible(name: str, value: object, *, needed: bool = False) -> None:
    """Refuse one argument as ``checked`` does, None where it is ``needed``."""
    if value is not None or needed:
        _CHECKS[name](name, value)


def _whole_number(least: int, name: str, value: object, *, most: int | None = None) -> None:
    wanted = (
        f"{name} is {value!r}; it may be a whole number from {least} {'on' if most is None else f'to {most}'}"
    )
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(wanted)
    if value < least or (most is not None and int(value) > most):
        raise ValueError(wanted)


def _number(what: str, name: str, value: object, *, zero: bool) -> None:
    wanted = f"{name} is {value!r}; it may be {what}, {'of at least' if zero else 'above'} 0"
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(wanted)
    if math.isnan(value) or value < 0 or (value == 0 and not zero):
        raise ValueError(wanted)


def _is_path(name: str, value: object) -> None:
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f'{name} is {value!r}; it may be a path, such as "study.zarr"')


def _is_client(name: str, value: object) -> None:
    if not callable(getattr(value, "submit", None)) or not hasattr(value, "scheduler_info"):
        raise TypeError(
            f'{name} is {value!r}; it may be a Dask client, such as distributed.Client("tcp://HOST:8786")'
        )


def _is_name(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}; it may be a name")


def _are_sections(name: str, value: object) -> None:
    _are_names(name, value)
    for section in value:  # type: ignore[attr-defined]
        if section not in SECTIONS:
            hint = did_you_mean(str(section), SECTIONS)
            raise ValueError(f"{name} is {value!r}; it may be a list of {', '.join(SECTIONS)}{hint}")


def _are_names(name: str, value: object) -> None:
    if isinstance(value, str):
        raise TypeError(f"{name} is {value!r}; it may be a list of names: [{value!r}]")
    if not isinstance(value, Collection) or not all(isinstance(n, str | os.PathLike) for n in value):
        raise TypeError(f"{name} is {value!r}; it may be a list of names")


_CHECKS: Mapping[str, Callable[[str, object], None]] = {
    "audit": functools.partial(_whole_number, 0),
    "client": _is_client,
    "columns": _are_names,
    "file": _is_path,
    "ignore": _are_sections,
    "machine": _is_name,
    "machines": _are_names,
    "metric": _is_name,
    "metrics": _are_names,
    "over": _is_name,
    "path": _is_path,
    "patience": functools.partial(_number, "a time in seconds", zero=True),
    "points": functools.partial(_whole_number, 2, most=MOST_POINTS_ASKED),
    "seconds": functools.partial(_number, "a time in seconds", zero=False),
    "solver": _is_name,
    "store": _is_path,
    "tolerance": functools.partial(_number, "a relative difference", zero=True),
    "workers": functools.partial(_whole_number, 1),
}
