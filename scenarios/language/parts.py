"""Pieces of a scenario: classes whose annotations say what each key may hold, checked without any library.

    class Front(Part):
        points: Annotated[int, Check(_count, float)] | None = None

An annotation is ``Annotated[type, Check(...)]``, a ``Part``, ``dict[str, ...]``, ``tuple[..., ...]``, or one of these
``| None``. What a ``Check`` returns is what the part holds. ``scenarios.language.part_schema`` writes them as JSON
Schema.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, Self, Union, get_args, get_origin, get_type_hints

Place = tuple[str | int, ...]
_WORDS = frozenset({"from"})
SCENARIO, EXTRA, TABLE, LIST = "scenario", "extra", "table", "list"


class Wrong(ValueError):
    """A value that a key cannot hold: what is wrong and what would be right. ``kind``: what kind of mistake it is."""

    def __init__(self, wrong: str, right: str = "", kind: str = SCENARIO) -> None:
        super().__init__(f"{wrong}; {right}")
        self.wrong, self.right, self.kind = wrong, right, kind


class Mistake(NamedTuple):
    """One mistake: where, of which kind, the value, and for kind SCENARIO what is wrong and what would be right."""

    place: Place
    kind: str
    value: Any
    wrong: str = ""
    right: str = ""


class Mistakes(ValueError):
    """All mistakes of one part."""

    def __init__(self, part: str, found: list[Mistake]) -> None:
        told = "; ".join(f"{'.'.join(map(str, m.place))}: {m.wrong or m.kind}" for m in found)
        super().__init__(f"{part}: {told}")
        self.found = tuple(found)


class Ends(NamedTuple):
    """A number with its ends, by the names that they have in a JSON Schema."""

    minimum: float | None = None
    maximum: float | None = None
    exclusiveMinimum: float | None = None  # noqa: N815
    exclusiveMaximum: float | None = None  # noqa: N815
    multipleOf: float | None = None  # noqa: N815


class Check(NamedTuple):
    """What reads a value (it raises ``Wrong``), and what stands for it in the JSON Schema: a type, or ``Ends``."""

    read: Callable[[Any], Any]
    shown: Any


Reader = Callable[[Any, Place, list[Mistake]], Any]
_READERS: dict[type, dict[str, Reader]] = {}


class Part:
    """A frozen piece of a scenario that takes no unknown key. Its attributes are the keys of the file.

    Raises Mistakes where the keywords do not have its shape.
    """

    model_fields: ClassVar[Mapping[str, Any]] = types.MappingProxyType({})
    """The keys that it takes, and what each holds where the file does not have it. The attribute ``from_`` is the key
    "from", which is a word of Python."""
    _others: ClassVar[str] = ""
    """The attribute that holds, by name, all keys that are none of its own; "": there may be none."""
    _least: ClassVar[int] = 0
    """How many keys say something at all, which editors are told: less is refused where the entry is read."""
    model_fields_set: frozenset[str]
    """The keys that were given."""

    def __init_subclass__(cls) -> None:
        own = {
            n.rstrip("_"): cls.__dict__[n] for n in cls.__annotations__ if n in cls.__dict__ and n[0] != "_"
        }
        cls.model_fields = types.MappingProxyType({**cls.model_fields, **own})

    def __init__(self, **data: Any) -> None:
        found: list[Mistake] = []
        self._fill(data, (), found)
        if found:
            raise Mistakes(type(self).__name__, found)

    @classmethod
    def model_validate(cls, data: Any) -> Self:
        """Read a mapping; raises Mistakes."""
        found: list[Mistake] = []
        made: Self = _read_part(cls, data, (), found)
        if found:
            raise Mistakes(cls.__name__, found)
        return made

    @classmethod
    def prepared(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Return the entries in the form in which they are read."""
        return data

    def complete(self) -> None:
        """Check keys against each other; raises Wrong."""

    def _fill(self, data: dict[str, Any], place: Place, found: list[Mistake]) -> None:
        before, data = len(found), self.prepared(data)
        values, own = self.__dict__, self._others
        if own:
            others = {n: v for n, v in data.items() if n == own or n not in self.model_fields}
            data = {n: v for n, v in data.items() if n not in others} | ({own: others} if others else {})
        for name, reader in readers(type(self)).items():
            if name in data:
                values[name] = reader(data[name], place if name == own else (*place, name), found)
            else:
                default = self.model_fields[name]
                values[name] = dict(default) if isinstance(default, dict) else default
            if name in _WORDS:
                values[f"{name}_"] = values[name]
        unknown = [n for n in data if n not in self.model_fields]
        found += [Mistake((*place, n), EXTRA, data[n]) for n in unknown]
        values["model_fields_set"] = frozenset(data) - set(unknown)
        if len(found) == before:
            try:
                self.complete()
            except Wrong as error:
                found.append(Mistake(place, error.kind, data, error.wrong, error.right))

    def __setattr__(self, name: str, value: Any) -> None:
        raise ValueError(f"{type(self).__name__} is frozen: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise ValueError(f"{type(self).__name__} is frozen: {name} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return dict(self) == dict(other)

    def __hash__(self) -> int:
        return hash((type(self), *(v for _, v in self)))

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return ((n, self.__dict__[n]) for n in self.model_fields)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in self)})"

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self:
        """Return the same with other values for some keys, which are not checked."""
        made = copy.copy(self)
        made.__dict__.update(update or {})
        made.__dict__["model_fields_set"] = self.model_fields_set | set(update or ())
        return made

    def model_dump(
        self,
        *,
        exclude: Collection[str] = (),
        exclude_none: bool = False,
        exclude_defaults: bool = False,
        exclude_unset: bool = False,
    ) -> dict[str, Any]:
        """Return it as nested mappings, without the keys excluded: by name, or which hold nothing, or the default."""
        told: dict[str, Any] = {}
        for name, value in self:
            nothing = exclude_none and value is None
            usual = exclude_defaults and value == self.model_fields[name]
            unset = exclude_unset and name not in self.model_fields_set
            if name not in exclude and not nothing and not usual and not unset:
                told[name] = _dumped(value, exclude_none, exclude_defaults, exclude_unset)
        others: dict[str, Any] = told.pop(self._others, {})
        return told | others


def kinds(part: type[Part]) -> dict[str, Any]:
    """Return the annotation of each key."""
    found = get_type_hints(part, include_extras=True)
    return {n: found[f"{n}_" if n in _WORDS else n] for n in part.model_fields}


def readers(part: type[Part]) -> dict[str, Reader]:
    """Return what reads each key, made when a part is first read."""
    if part not in _READERS:
        _READERS[part] = {n: _reader(kind) for n, kind in kinds(part).items()}
    return _READERS[part]


def _reader(kind: Any) -> Reader:
    if get_origin(kind) in (Union, types.UnionType):
        (inner,) = (_reader(k) for k in get_args(kind) if k is not type(None))
        return lambda value, place, found: None if value is None else inner(value, place, found)
    if get_origin(kind) is Annotated:
        return _reader_of(next(k for k in get_args(kind)[1:] if isinstance(k, Check)).read)
    if get_origin(kind) is dict:
        return _table_reader(_reader(get_args(kind)[1]))
    if get_origin(kind) is tuple:
        return _list(_reader(get_args(kind)[0]))
    return lambda value, place, found: _read_part(kind, value, place, found)


def _reader_of(read: Callable[[Any], Any]) -> Reader:
    def reader(value: Any, place: Place, found: list[Mistake]) -> Any:
        try:
            return read(value)
        except Wrong as error:
            found.append(Mistake(place, error.kind, value, error.wrong, error.right))
            return None

    return reader


def _table_reader(inner: Reader) -> Reader:
    def reader(value: Any, place: Place, found: list[Mistake]) -> Any:
        if not isinstance(value, Mapping):
            found.append(Mistake(place, TABLE, value))
            return {}
        return {name: inner(v, (*place, name), found) for name, v in value.items()}

    return reader


def _list(inner: Reader) -> Reader:
    def reader(value: Any, place: Place, found: list[Mistake]) -> Any:
        if not isinstance(value, list | tuple):
            found.append(Mistake(place, LIST, value))
            return ()
        return tuple(inner(v, (*place, i), found) for i, v in enumerate(value))

    return reader


def _read_part(part: type[Part], value: Any, place: Place, found: list[Mistake]) -> Any:
    if isinstance(value, part):
        return value
    if not isinstance(value, Mapping):
        found.append(Mistake(place, TABLE, value))
        return None
    made = object.__new__(part)
    made._fill(dict(value), place, found)
    return made


def _dumped(value: Any, no_none: bool, no_defaults: bool, no_unset: bool) -> Any:
    if isinstance(value, Part):
        return value.model_dump(exclude_none=no_none, exclude_defaults=no_defaults, exclude_unset=no_unset)
    if isinstance(value, dict):
        return {k: _dumped(v, no_none, no_defaults, no_unset) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_dumped(v, no_none, no_defaults, no_unset) for v in value)
    return value
