"""[models]: metrics of fitted models as functions in definitions, and the ranges of their measurements as limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dse import models
from dse.models.described.fitted import Function, fit_of, functions, limits
from dse.models.model import ModelLimit
from dse.names import UnknownName
from dse.system.records import dataclass
from scenarios.define.trees import Expression, fitted_calls
from scenarios.language.errors import Findings, shown
from scenarios.language.schema import Shape

# how much of an argument is repeated beside a limit
_LONGEST_ARGUMENT = 60


def read(shape: Shape, findings: Findings) -> dict[str, Function] | None:
    """Return the functions that a file's definitions may use, by name.

    None where a model cannot be one; every mistake is noted.
    """
    found: dict[str, Function] = {}
    before = findings.count
    for family, named in shape.models.items():
        key = f"models.{family}"
        try:
            fit = fit_of(models.get(named))
        except UnknownName:
            findings.unknown(key, "fitted model", named, models.fitted_names())
            continue
        except models.ModelFileError as error:
            for wrong in error.problems:
                right = f"{shown(named)} is read as a model file; `dse fit --model posynomial` writes one"
                findings.add(key, f"model file {error.file}: {wrong}", right)
            continue
        if fit is None:
            wrong = f"{named} is not a fitted model, and only such are functions"
            findings.add(
                key, wrong, 'write a model file such as "./gemm.toml", or make it a kernel: [[kernels]]'
            )
            continue
        found |= {f.name: f for f in functions(family, fit)}
    return found if findings.count == before else None


def unused(shape: Shape, trees: Iterable[Expression], findings: Findings) -> None:
    """Note fitted models that no definition asks."""
    used = {r.function.family for r in ranges(trees)}
    for family in shape.models.keys() - used:
        wrong = f"no definition uses a function of {family}"
        findings.add(f"models.{family}", wrong, f"write {family}.METRIC(…) under [define], or leave it out")


@dataclass(frozen=True, slots=True)
class Range:
    """What one fitted model is asked at.

    ``names``: the sides of its range that are limits there: the fit's name of each, and the question's.
    """

    function: Function
    of: tuple[Expression, ...]
    written: tuple[str, ...]
    names: Mapping[str, str]

    def ratios(self, of: Sequence[Any]) -> dict[str, Any]:
        """Return a ratio that is <= 1 inside for each of these limits, at arguments (SI) on any arithmetic."""
        every = self.function.fit.ratios(self.function.columns(of))
        return {self.names[n]: ratio for n, ratio in every if n in self.names}

    def limits(self) -> Iterator[ModelLimit]:
        """Go through these limits."""
        told = zip(self.function.takes, self.of, self.written, strict=True)
        renamed = [(c.name, text) for c, _, text in told if text != c.name]
        for x in limits(self.function.fit):
            if x.name not in self.names:
                continue
            side = x.name.split(".")[1]
            where = ", ".join(f"{n} = {_shortened(text)}" for n, text in renamed if side in ("hull", n))
            formula = f"{x.formula}, where {where}" if where else x.formula
            yield replace(x, name=self.names[x.name], formula=formula)


def ranges(trees: Iterable[Expression]) -> tuple[Range, ...]:
    """Return where expressions ask fitted models, each place once.

    The limits of the first one are called ``gemm.measured_range.m.max`` and so on, those of the second
    ``gemm.measured_range.2.m.max``; a column that gets the same number at both has its limits once.
    """
    found: list[Range] = []
    places: dict[str, list[tuple[Expression, ...]]] = {}
    for tree in trees:
        for call in fitted_calls(tree):
            function = call.fitted
            assert function is not None, "that is what was asked for"
            known = places.setdefault(function.family, [])
            if call.of not in known:
                known.append(call.of)
                names = dict(_sides_with_names(function, known))
                found.append(Range(function, call.of, call.written, names))
    return tuple(found)


def _sides_with_names(
    function: Function, places: Sequence[tuple[Expression, ...]]
) -> Iterator[tuple[str, str]]:
    """Go through the sides that the last of these places adds, with the names of their limits."""
    *earlier, last = places
    new = {c.name for i, c in enumerate(function.takes) if all(last[i] != of[i] for of in earlier)}
    for x in limits(function.fit):
        first, side, rest = x.name.split(".")
        if side in new or side == "hull":
            middle = "" if not earlier else f"{len(places)}."
            yield x.name, f"{function.family}.{first}.{middle}{side}.{rest}"


def range_limits(trees: Iterable[Expression]) -> Iterator[ModelLimit]:
    """Go through the limits that the ranges of fitted models set to a question."""
    for reach in ranges(trees):
        yield from reach.limits()


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_ARGUMENT else f"{text[: _LONGEST_ARGUMENT - 1]}…"
