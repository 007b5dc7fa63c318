"""The one comparer: a paper's table of statements beside the functions that compute them.

``data/PAPER/statements.csv`` has a line for every statement (columns in ``sources.Line``); a paper's code registers a
function for each line by its id:

    answers = Answers("tang2017")

    @answers("m_51")
    def balanced(case: str) -> bool: ...

A function takes the columns of the line's cases that its parameters name, as text, and gives back a number, a text,
a yes or no (bool), a ``Found``, several of these (a list), or None where there is no such case.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any, TypeVar

from dse.papers.report import Row, Value, Verdict
from dse.papers.sources import Line, cases, lines, rounding
from dse.system.records import dataclass

# two ways of floating-point arithmetic to one number
EXACT_AGREEMENT = 1e-12
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Found:
    """What a function finds for one case of a statement.

    ``paper`` is what the printed formula gives, for a line without a printed value; ``corrected`` what the corrected
    formula gives; ``tolerance`` replaces that of the line, ``slack`` is added to it (relative, what the rounding of
    printed inputs explains). ``told`` are further values for the line's texts with {names}.
    """

    ours: Value | bool
    paper: Value | bool | None = None
    corrected: Value | bool | None = None
    remark: str = ""
    tolerance: float | None = None
    slack: float = 0.0
    told: Mapping[str, object] = field(default_factory=dict)


class Answers:
    """The functions of one paper by the id of the line that they answer."""

    def __init__(self, paper: str, **given: Callable[[Mapping[str, str]], Any]) -> None:
        """Register for a paper; ``given``: further parameters of functions, each made from a case."""
        self.paper = paper
        self._given = given
        self._functions: dict[str, Callable[..., Any]] = {}

    def __call__(self, *ids: str) -> Callable[[F], F]:
        """Register a function for lines of the table; ValueError where a line has one already."""

        def register(function: F) -> F:
            for name in ids:
                if name in self._functions:
                    msg = f"{self.paper}: two functions for {name!r}"
                    raise ValueError(msg)
                self._functions[name] = function
            return function

        return register

    def text(self, line: str) -> str:
        """Return what the paper prints for a line, as text; KeyError where there is no such line."""
        return lines(self.paper)[line].printed

    def printed(self, line: str) -> float:
        """Return the number that the paper prints for a line."""
        return float(self.text(line))

    def faults(self) -> list[str]:
        """Return what does not fit: lines without a function, functions without a line, unknown parameters."""
        wanted = {n for n, line in lines(self.paper).items() if line.statement.fault != Verdict.UNCHECKED}
        told = [f"{self.paper}: no function for the line {n!r}" for n in wanted - self._functions.keys()]
        told += [f"{self.paper}: no line for the function {n!r}" for n in self._functions.keys() - wanted]
        for name in wanted & self._functions.keys():
            known = {column for case in cases(self.paper, lines(self.paper)[name].over) for column in case}
            lacking = [
                p for p in _required_arguments(self._functions[name]) if p not in known | self._given.keys()
            ]
            told += [f"{self.paper}: {name!r} has no column {p!r} in its cases" for p in lacking]
        return sorted(told)

    def rows(self, progress: Callable[[int], None] = lambda done: None) -> Iterator[Row]:
        """Yield every statement beside what its function finds, in the order of the table.

        ``progress`` is told how many lines are done. Raises ValueError where table and functions do not fit.
        """
        if faults := self.faults():
            raise ValueError("; ".join(faults))
        for done, name in enumerate(lines(self.paper)):
            progress(done)
            yield from self.rows_of(name)

    def rows_of(self, name: str) -> Iterator[Row]:
        """Yield the cases of one line; ValueError where there is none, or a text names what no case has."""
        line = lines(self.paper)[name]
        if line.statement.fault == Verdict.UNCHECKED:
            yield Row(line.statement, "", "stated", "")
            return
        function = self._functions[name]
        parameters, none = _required_arguments(function), True
        for case in cases(self.paper, line.over):
            values = _Case(self._given, case)
            if line.printed and not line.printed.format_map(values):
                continue
            found = function(**{p: values[p] for p in parameters})
            for one in found if isinstance(found, list) else [found]:
                if one is not None:
                    none = False
                    yield judged(line, values, one if isinstance(one, Found) else Found(one))
        if none:
            msg = f"{self.paper}: no case of the line {name!r} has a value"
            raise ValueError(msg)


class _Case(dict[str, Any]):
    """The columns of a case, and whatever else is made from them when it is asked for."""

    def __init__(
        self, given: Mapping[str, Callable[[Mapping[str, str]], Any]], case: Mapping[str, str]
    ) -> None:
        super().__init__(case)
        self._given = given

    def __missing__(self, name: str) -> Any:
        if name not in self._given:
            msg = f"neither a column nor a value that was found: {name!r}; there is {', '.join(self)}"
            raise ValueError(msg)
        self[name] = self._given[name](self)
        return self[name]


def _required_arguments(function: Callable[..., Any]) -> list[str]:
    wanted = inspect.signature(function).parameters.values()
    return [p.name for p in wanted if p.default is inspect.Parameter.empty]


def judged(line: Line, case: dict[str, Any], found: Found) -> Row:
    """Set a case beside what was found for it; ValueError where neither the line nor the function has a value."""
    printed = line.printed.format_map(case)
    paper = _as_value(found.paper) if found.paper is not None else _number_or_text(printed)
    if paper == "":
        msg = f"{line.id}: the paper's value stands neither in the table nor in what the function gives"
        raise ValueError(msg)
    corrected = None if found.corrected is None else _as_value(found.corrected)
    # a text that needs no correction is not shown twice
    corrected = None if isinstance(corrected, str) and corrected == paper else corrected
    case.update(found.told)
    remark = "; ".join(part for part in (line.remark.format_map(case), found.remark) if part)
    return Row(
        line.statement,
        line.item.format_map(case),
        paper,
        _as_value(found.ours),
        line.unit.format_map(case),
        corrected,
        _tolerance(line, printed, found),
        remark,
        line.typed,
    )


def _tolerance(line: Line, printed: str, found: Found) -> float:
    """Return the relative difference allowed; what corrects a print must hold to the last digit."""
    if found.tolerance is not None:
        return found.tolerance
    if line.tolerance == "print":
        return (
            EXACT_AGREEMENT
            if found.corrected is not None
            else rounding(printed) + found.slack + EXACT_AGREEMENT
        )
    if line.tolerance.startswith("+-"):
        return float(line.tolerance.removeprefix("+-")) / abs(float(printed))
    return float(line.tolerance or EXACT_AGREEMENT) + found.slack


def _as_value(value: Value | bool) -> Value:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else float(value)


def _number_or_text(text: str) -> Value:
    try:
        return float(text)
    except ValueError:
        return text
