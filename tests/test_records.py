"""``dse.system.records.dataclass`` makes the classes that ``dataclasses.dataclass`` makes."""

import copy
import dataclasses
import inspect
import pickle
from dataclasses import field
from typing import Any

import pytest

from dse.system.records import dataclass

WAYS = ({"frozen": True, "slots": True}, {"frozen": True}, {"slots": True}, {"frozen": True, "eq": False})


class Plain:
    """Some fields of each sort."""

    a: int
    b: tuple[float, ...] = ()
    c: list[int] = field(default_factory=list)
    seen: float = field(default=0.0, compare=False)
    hidden: str = field(default="", repr=False)


class Later:
    """A field that is set after the others."""

    a: int
    twice: int = field(init=False)
    known: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", 2 * self.a)


class One:
    """One field, and a method of its own."""

    a: Any

    def __repr__(self) -> str:
        return "mine"


class Nothing:
    """No fields."""


def twins(plain: type, **way: bool) -> tuple[type, type]:
    """The class by both decorators, under the same name."""
    inside = {k: v for k, v in plain.__dict__.items() if k not in {"__dict__", "__weakref__"}}
    copies = [type(plain.__name__, (), {k: copy.copy(v) for k, v in inside.items()}) for _ in range(2)]
    return dataclass(**way)(copies[0]), dataclasses.dataclass(**way)(copies[1])


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize(
    ("plain", "values"),
    [
        (Plain, {"a": 1}),
        (Plain, {"a": 1, "b": (2.0,), "c": [3], "seen": 4.0}),
        (Later, {"a": 3}),
        (One, {"a": 1}),
        (Nothing, {}),
    ],
)
def test_objects_behave_alike(plain: type, values: dict[str, Any], way: dict[str, bool]):
    ours, theirs = twins(plain, **way)
    one, other = ours(**values), theirs(**values)
    assert repr(one).partition("object at")[0] == repr(other).partition("object at")[0]
    assert dataclasses.asdict(one) == dataclasses.asdict(other)
    assert (one == ours(**values)) == (other == theirs(**values))
    assert one != other
    assert ours.__match_args__ == theirs.__match_args__
    assert hasattr(one, "__dict__") == hasattr(other, "__dict__")
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert dataclasses.asdict(copy.copy(one)) == dataclasses.asdict(copy.copy(other))
    assert (ours.__hash__ is None) == (theirs.__hash__ is None)


def test_what_does_not_count_is_not_compared():
    ours, _ = twins(Plain, frozen=True)
    assert ours(1, seen=1.0) == ours(1, seen=2.0)
    assert ours(1) != ours(2)
    assert "hidden" not in repr(ours(1))


def test_equal_objects_have_one_hash():
    ours, _ = twins(One, frozen=True, slots=True)
    assert len({ours(1), ours(1), ours(2)}) == 2
    not_a_number = float("nan")
    assert ours(not_a_number) == ours(not_a_number)  # as in a tuple


@pytest.mark.parametrize("slots", [True, False])
def test_frozen_objects_stay_as_they_are(slots: bool):
    ours, theirs = twins(Plain, frozen=True, slots=slots)
    for made in (ours, theirs):
        one = made(1)
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'a'"):
            one.a = 2
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'a'"):
            del one.a
        assert dataclasses.replace(one, a=2).a == 2


def test_missing_and_unknown_values_are_refused():
    ours, _ = twins(Plain, frozen=True, slots=True)
    with pytest.raises(TypeError, match=r"__init__\(\) missing 1 required positional argument: 'a'"):
        ours()
    with pytest.raises(TypeError, match="unexpected keyword argument 'd'"):
        ours(1, d=2)


def test_factories_are_asked_for_each_object():
    ours, _ = twins(Plain, slots=True)
    assert ours(1).c is not ours(1).c


@dataclass(frozen=True, slots=True)
class Base:
    """A class to inherit from."""

    a: int


@dataclass(frozen=True, slots=True)
class Derived(Base):
    """Inherits a field."""

    b: int = 2


def test_fields_are_inherited():
    assert repr(Derived(1)) == "Derived(a=1, b=2)"
    assert Derived(1) != Base(1)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_objects_are_pickled(protocol: int):
    assert pickle.loads(pickle.dumps(Derived(1, 3), protocol)) == Derived(1, 3)


def test_an_object_that_holds_itself_is_told():
    ours, _ = twins(Plain, slots=True)
    one = ours(1)
    one.c.append(one)
    assert "..." in repr(one)


def test_a_subclass_asked_first_leaves_the_init_with_the_class_that_made_it():
    made = dataclass(frozen=True)(type("Base", (), {"__annotations__": {"a": int}, "a": 3}))
    below = type("Below", (made,), {})
    assert below(5).a == 5
    assert "__init__" not in vars(below)
    assert str(inspect.signature(made)) == str(inspect.signature(below)) == "(a: int = 3) -> None"
    assert made().a == 3
