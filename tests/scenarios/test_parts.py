"""The pieces of which a scenario consists: what they take, in which order they complain, and how they are told."""

from __future__ import annotations

import copy
import pickle

import pytest

from scenarios.language.parts import Mistakes
from scenarios.language.schema import Bounds, Decide, Goal, Shape


def test_every_mistake_is_found_with_its_place() -> None:
    """All mistakes of all keys at once, in the order of the language, unknown keys last."""
    data = {
        "model": 3,
        "decide": {"p": {"min": True, "odd": 1}, "q": 5},
        "objective": {"front": {"points": 1.5}},
        "kernels": "x",
    }
    with pytest.raises(Mistakes) as caught:
        Shape.model_validate(data)
    found = [(m.place, m.kind) for m in caught.value.found]
    assert found == [
        (("model",), "scenario"),
        (("kernels",), "list"),
        (("decide", "p", "min"), "scenario"),
        (("decide", "p", "odd"), "extra"),
        (("decide", "q"), "table"),
        (("objective", "front", "points"), "scenario"),
    ]


def test_a_part_tells_what_was_said() -> None:
    """Dumps leave out what is asked to be left out; a copy with other values knows them as said."""
    goal = Goal(minimize="energy")
    assert goal.model_dump(exclude_none=True) == {"minimize": ("energy",), "measures": {}}
    assert goal.model_dump(exclude_unset=True) == {"minimize": ("energy",)}
    other = Decide(min=1).model_copy(update={"integer": True})
    assert other.model_fields_set == {"min", "integer"}
    assert other.model_dump(exclude_defaults=True) == {"min": 1.0, "integer": True}
    shape = Shape(model="nbody", limits={"time": {"max": 3}})
    assert shape.limits == {"time": Bounds(max=3)}
    assert shape == pickle.loads(pickle.dumps(shape)) == copy.deepcopy(shape)


def test_defaults_are_not_shared() -> None:
    """A table that the file does not have is another one in each question."""
    one, two = Shape(model="nbody"), Shape(model="nbody")
    one.given["bodies"] = 3
    assert two.given == {}
