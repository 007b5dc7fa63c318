"""``dataclass`` as in the standard library, at a fifth of the time that defining a class takes.

``dataclasses.dataclass`` writes six methods of each class as text and compiles them when the class is defined. With all
classes that a question loads, that was a fifth of the time of a first answer. Here only ``__init__`` is compiled, when
it is first used; the other methods are the same functions for all classes. Fields, ``replace``, ``asdict``,
``__match_args__`` and slots are the standard library's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen: bool = False, slots: bool = False, eq: bool = True) -> Callable[[type], type]:
        """As ``dataclasses.dataclass``, with those of its parameters that are used here."""
        plain = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)
        return lambda cls: _with_methods(plain(cls), frozen=frozen, slots=slots, eq=eq)


class _Init:
    """Stands for the ``__init__`` of a class until it is first asked for: many classes of a process are never used."""

    def __init__(self, made: type, fields: tuple[Field[Any], ...], *, frozen: bool) -> None:
        self.made, self.fields, self.frozen = made, fields, frozen

    def __get__(self, one: Any, owner: type) -> Callable[..., None]:
        method = _init(self.made, self.fields, frozen=self.frozen)
        self.made.__init__ = method  # type: ignore[misc]
        bound: Callable[..., None] = method.__get__(one, owner)
        return bound


class _Factory:
    """Stands in a signature for what a factory makes, as in the standard library."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _with_methods(made: type, *, frozen: bool, slots: bool, eq: bool) -> type:
    """Add what the class does not define itself."""
    fields = dataclasses.fields(made)
    methods: dict[str, Any] = {"__init__": _Init(made, fields, frozen=frozen), "__repr__": _repr}
    if eq:
        values = _field_getter(tuple(f.name for f in fields if f.compare))
        methods["__eq__"] = _eq(values)
        methods["__hash__"] = _hash(values) if frozen else None
    if frozen:
        methods |= {"__setattr__": _no_assignment, "__delattr__": _no_deletion}
        if slots:
            methods |= {"__getstate__": _state, "__setstate__": _set_state}
    for name, method in methods.items():
        if name not in made.__dict__:
            setattr(made, name, method)
    return made


def _init(made: type, fields: tuple[Field[Any], ...], *, frozen: bool) -> Callable[..., None]:
    """Return the method that sets all fields, from its text."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_factory": _FACTORY}
    parameters, lines = ["self"], []
    for i, field in enumerate(fields):
        name = value = field.name
        default = ""
        if field.default is not MISSING:
            known[f"_{i}"], default = field.default, f"=_{i}"
        elif field.default_factory is not MISSING:
            known[f"_{i}"], default = field.default_factory, "=_factory"
            value = f"_{i}() if {name} is _factory else {name}" if field.init else f"_{i}()"
        if field.init:
            parameters.append(name + default)
        elif not value.startswith("_"):
            continue
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"]), known)
    method: Callable[..., None] = known["__init__"]
    method.__qualname__ = f"{made.__qualname__}.__init__"
    method.__annotations__ = {f.name: f.type for f in fields if f.init} | {"return": None}
    return method


def _field_getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function from an object to the values of some fields."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


def _eq(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, object], bool]:
    def equal(self: Any, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hash(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    def hashed(self: Any) -> int:
        return hash(values(self))

    return hashed


@recursive_repr()
def _repr(self: Any) -> str:
    told = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{self.__class__.__qualname__}({', '.join(told)})"


def _no_assignment(_self: object, name: str, _value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _no_deletion(_self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
