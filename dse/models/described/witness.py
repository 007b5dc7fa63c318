"""Whether equations are plain arithmetic: run them once on numbers that allow nothing else.

Symbols, intervals and arrays mean what the equations mean only where these never look at a number: compare it,
look it up in a table, write it as text, ask for its type, hand it to a routine that wants a float. A witness can be
added, multiplied and given to the helpers of ``dse.models.arithmetic``; whatever else is done to it is refused and
remembered, even where the equations catch the refusal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from types import FrameType
from typing import Any, NoReturn

from dse.models import arithmetic
from dse.models.model import Model, evaluate

LONGEST_WITNESS = 160
MAY_ASK = ("dse", "dataclasses", "copy", "fractions")
"""Packages that may ask for the type of a witness: our own, and what only looks for containers, or kinds of its own."""
HELPERS = {helper.dispatch for helper in vars(arithmetic).values() if hasattr(helper, "dispatch")}
"""What chooses by type which of our helpers runs."""


class NotArithmetic(TypeError):
    """Equations did to a number what is not arithmetic; the text says what."""


class Witness:
    """A number that nobody may look at; ``seen`` collects what was tried."""

    __slots__ = ("seen",)
    __array_ufunc__ = None
    seen: list[str]

    def __init__(self, seen: list[str]) -> None:
        self.seen = seen

    def _stay(self, _other: Any = None) -> Witness:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __pos__ = _stay
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = _stay

    def _refuse(self, what: str) -> NoReturn:
        self.seen.append(what)
        raise NotArithmetic(what)

    def _compared(self, _other: Any) -> NoReturn:
        self._refuse("compares a number that varies")

    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _compared

    def _judged(self) -> NoReturn:
        self._refuse("asks whether a number that varies is 0")

    def _looked_up(self) -> NoReturn:
        self._refuse("looks a number that varies up in a table")

    __bool__, __hash__ = _judged, _looked_up

    def _converted(self, *_more: Any, **_options: Any) -> NoReturn:
        self._refuse("hands a number that varies to what takes plain numbers only")

    __float__ = __int__ = __index__ = __complex__ = __array__ = _converted
    __abs__ = __round__ = __floor__ = __ceil__ = __trunc__ = _converted
    __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __divmod__ = __rdivmod__ = _converted
    __iter__ = __len__ = __getitem__ = _converted

    def _written(self, *_format: Any) -> NoReturn:
        self._refuse("writes a number that varies as text")

    __str__ = __repr__ = __format__ = _written

    @property  # type: ignore[misc]  # what isinstance reads may only be read
    def __class__(self) -> type:
        """Its type, which our own helpers may ask for, and nobody else: not even by ``isinstance``."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__") == "abc":
            frame = frame.f_back
        asking = "" if frame is None else str(frame.f_globals.get("__name__"))
        helped = asking == "functools" and frame is not None and frame.f_locals.get("dispatch") in HELPERS
        if not helped and asking.partition(".")[0] not in MAY_ASK:
            self._refuse("asks for the type of a number that varies")
        return Witness

    def __getattr__(self, name: str) -> NoReturn:
        if not name.startswith("__"):
            self.seen.append(f"asks a number that varies for its {name}")
        raise AttributeError(name)


def refusal(model: Model, values: Mapping[str, Any], free: Iterable[str]) -> str:
    """Say why a model's equations are not plain arithmetic in the inputs ``free``; empty where they are.

    ``values``: all other inputs, as plain numbers and texts.
    """
    seen: list[str] = []
    varying = {name: Witness(seen) for name in free}
    if not varying:
        return ""
    try:
        evaluate(model, {**values, **varying})
    except NotArithmetic:
        pass
    except (Exception, SystemExit) as problem:  # a stranger's code may raise anything
        seen.append(f"{type(problem).__name__}: {problem}")
    return seen[0][:LONGEST_WITNESS] if seen else ""


def _same(witness: Witness, *_others: Any) -> Witness:
    return witness


def _either(a: Any, b: Any) -> Witness:
    return a if isinstance(a, Witness) else b


for _helper in (arithmetic.log, arithmetic.exp, arithmetic.log2, arithmetic.some, arithmetic.pick):
    _helper.register(Witness)(_same)
for _helper in (arithmetic.at_most, arithmetic.at_least):
    _helper.register(Witness)(_same)
for _register in (
    arithmetic.register_maximum,
    arithmetic.register_minimum,
    arithmetic.register_reaches,
    arithmetic.register_differs,
):
    _register(Witness)(_either)
