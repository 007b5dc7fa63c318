"""Whether equations are plain arithmetic: run them once on numbers that allow nothing else.

Symbols, intervals and arrays mean what the equations mean only where these never look at a number: compare it,
look it up in a table, write it as text, ask for its type, hand it to a routine that wants a float. A witness can be
added, multiplied and given to the helpers of ``dse.models.arithmetic``; whatever else is done to it is refused and
remembered, even where the equations catch the refusal.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NoReturn

from dse.models import arithmetic
from dse.models.model import Model, NoMapping, evaluate, unstated
from dse.models.shared.spaces import Space
from dse.system.records import dataclass

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


@dataclass(frozen=True, slots=True)
class Seen:
    """What one run of equations on witnesses showed.

    ``refusal``: why they are not plain arithmetic, empty where they are. ``fault``: what no numbers would mend: a name
    that does not exist, an input that the model does not declare, recursion without an end, no mapping of names.
    ``metrics``: what they return; None where they did not come to an end. ``forgotten``: declared limits that they do
    not return, also where all that is optional is stated.
    """

    refusal: str = ""
    fault: str = ""
    metrics: frozenset[str] | None = None
    forgotten: tuple[str, ...] = ()


def seen_of(model: Model, values: Mapping[str, Any], free: Iterable[str]) -> Seen:
    """Run a model's equations on witnesses for the inputs ``free``.

    ``values``: all other inputs, as plain numbers and texts. Without any witness they are not run.
    """
    seen: list[str] = []
    varying = {name: Witness(seen) for name in free}
    if not varying:
        return Seen()
    fault, metrics, forgotten = "", None, tuple[str, ...]()
    try:
        metrics = frozenset(evaluate(model, {**values, **varying}))
        forgotten = _never_returned(model, {**values, **varying}, metrics)
    except NotArithmetic:
        pass
    except (Exception, SystemExit) as problem:  # a stranger's code may raise anything
        text = str(problem) if isinstance(problem, NoMapping) else f"{type(problem).__name__}: {problem}"
        if not seen and _is_fault(problem):
            fault = text + line_of_equations(problem.__traceback__)
        seen.append(text)
    return Seen(seen[0][:LONGEST_WITNESS] if seen else "", fault, metrics, forgotten)


def returned_of(model: Model, values: Mapping[str, Any]) -> Seen:
    """Say what a model's equations return at ``values``, where nothing varies, and which faults they have.

    They are run on witnesses all the same, which a simulator that reads its numbers first does not take.
    """
    return replace(
        seen_of(model, values, [n for n, v in values.items() if not isinstance(v, str)]), refusal=""
    )


def _never_returned(model: Model, values: Mapping[str, Any], returned: frozenset[str]) -> tuple[str, ...]:
    """Return the declared limits that are not returned, also where all that is optional is stated."""
    lacking = tuple(x.name for x in model.limits if x.name not in returned)
    absent = unstated(model, values) if lacking else ()
    if not absent:
        return lacking
    try:
        found = evaluate(model, {**values, **{n: Witness([]) for n in absent}})
    except (Exception, SystemExit):  # what they would return is not known
        return ()
    return tuple(n for n in lacking if n not in found)


def _is_fault(problem: BaseException) -> bool:
    """Whether equations raise it whatever their numbers are."""
    undeclared = isinstance(problem, AttributeError) and isinstance(problem.obj, Space)
    return undeclared or isinstance(problem, NameError | RecursionError | NoMapping)


def refusal(model: Model, values: Mapping[str, Any], free: Iterable[str]) -> str:
    """Say why a model's equations are not plain arithmetic in the inputs ``free`` (see ``seen_of``); else empty."""
    return seen_of(model, values, free).refusal


def line_of_equations(at: TracebackType | None) -> str:
    """Return the line of a stranger's equations in which an exception was raised; empty where there is none."""
    found = ""
    while at is not None:
        code = at.tb_frame.f_code
        home = str(at.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        line = linecache.getline(code.co_filename, at.tb_lineno).strip()
        if home not in {"dse", "pint", "scenarios", "numpy", "functools"} and line:
            found = f" in {Path(code.co_filename).name}, line {at.tb_lineno}: {line}"
        at = at.tb_next
    return found


def _same(witness: Witness, *_others: Any) -> Witness:
    return witness


def _either(a: Any, b: Any) -> Witness:
    return a if isinstance(a, Witness) else b


for _helper in (
    arithmetic.log,
    arithmetic.exp,
    arithmetic.log2,
    arithmetic.some,
    arithmetic.pick,
    arithmetic.uneven,
    arithmetic.fractional_power,
):
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
