"""Model files: a fitted model as TOML, read strictly (data, never code) and written.

Everything wrong with a file is told at once. A file is identified by the SHA-256 of what it holds.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from numbers import Real
from pathlib import Path
from typing import Any

from dse.models.described.fitted import (
    FORMS,
    HIGH,
    KIND,
    LOW,
    MAX,
    POSYNOMIAL,
    QUANTILES,
    RANGE,
    SOFTMAX,
    Column,
    Derived,
    Facet,
    Fitted,
    Term,
)
from dse.names import did_you_mean
from dse.quantities import UnitError, plural, si_unit
from dse.system import files

FORMAT = 1
SUFFIX = ".toml"
MOST_FILE_TERMS, MOST_FILE_COLUMNS, MOST_FACETS = 200, 20, 200
STEEPEST = 30.0
SHARPEST_FILED = 50.0
# what a question or a dataset calls something else
TAKEN = frozenset({"flop", "word", "message", "instruction", "machine", "stretch", "halvings", RANGE})
SHORT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_TITLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,99}")


class ModelFileError(ValueError):
    """A model file cannot be used; ``problems`` lists everything that is wrong with it."""

    def __init__(self, file: str, problems: Sequence[str]) -> None:
        self.file, self.problems = file, tuple(problems)
        super().__init__(file, self.problems)

    def __str__(self) -> str:
        if len(self.problems) == 1:
            return f"model file {self.file}: {self.problems[0]}"
        return "\n".join(
            [f"model file {self.file}: {len(self.problems)} mistakes", *(f"  {p}" for p in self.problems)]
        )


def is_file(name: object) -> bool:
    """Whether a model is meant by the path of a file, such as "./gemm.toml"."""
    return isinstance(name, str) and name.endswith(SUFFIX)


@lru_cache(maxsize=1)
def shipped() -> Mapping[str, Any]:
    """Return the fitted models that come with dse: name -> file; none of them is read."""
    entries = (Path(__file__).parents[1] / "measured").iterdir()
    return {e.name.removesuffix(SUFFIX): e for e in sorted(entries, key=lambda e: e.name) if is_file(e.name)}


def get(name: str) -> Fitted:
    """Return the fitted model of a file's path, or of a shipped one's name; raises ModelFileError, KeyError."""
    if not is_file(name):
        return read(shipped()[name].read_text(encoding="utf-8"), name)
    try:
        return read(name.text if isinstance(name, files.Held) else files.text(name), name)
    except OSError as error:
        raise ModelFileError(name, [f"it cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError as error:
        raise ModelFileError(name, [f"it is not UTF-8 text (byte {error.start})"]) from None


@lru_cache(maxsize=64)
def read(text: str, file: str) -> Fitted:
    """Read a model file's text; ``file`` names it in messages. Raises ModelFileError."""
    try:
        data = files.toml(text)
    except tomllib.TOMLDecodeError as error:
        raise ModelFileError(file, [f"it is not valid TOML: {error}"]) from None
    except files.Unreadable as error:
        raise ModelFileError(file, [str(error)]) from None
    reader = _Reader()
    import hashlib  # loads OpenSSL

    found = reader.fitted(data, hashlib.sha256(text.encode()).hexdigest())
    if found is None or reader.problems:
        raise ModelFileError(file, reader.problems)
    return found


class _Reader:
    """Reads a file's tables, noting every mistake."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def fitted(self, data: Mapping[str, Any], digest: str) -> Fitted | None:
        """Read the whole file; None where so much is wrong that nothing more can be said."""
        if "parameters" in data or "settings" in data:
            self.problems.append("it is a machine file: name it under machine, not under model")
            return None
        self._keys("", data, _TOP)
        if data.get("format") != FORMAT or data.get("kind") != KIND:
            self.problems.append(
                f'it must say format = {FORMAT} and kind = "{KIND}"; `dse fit` writes such files'
            )
            return None
        columns = self._columns(data.get("columns"))
        names = [c.name for c in columns]
        target = self._table(data, "target", ("name", "unit", "meaning"))
        name = self._name("target.name", target.get("name"), names)
        unit = self._unit("target.unit", target.get("unit", ""))
        form = data.get("form")
        if form not in FORMS:
            self.problems.append(f"form is one of {', '.join(FORMS)}, not {_quoted_value(form)}")
        sharpness = self._sharpness(data, form)
        terms = self._terms("terms", data.get("terms"), names)
        self._groups(form, terms)
        taken = [*names, name, name + LOW, name + HIGH]
        derived = self._derived(data.get("derived", []), [*names, name], taken)
        hull = self._hull(data.get("hull", []), names)
        error, residuals = self._error(data.get("error", {}))
        title = self._text("name", data.get("name"))
        if not _TITLE.fullmatch(title):
            self.problems.append("name is of letters, digits, blanks, '_', '-' and '.', 100 at most")
        if self.problems:
            return None
        made = Fitted(
            name=title,
            target=name,
            unit=unit,
            columns=tuple(columns),
            form=str(form),
            terms=terms,
            source=self._text("source", data.get("source", "")),
            sharpness=sharpness,
            title=self._text("title", data.get("title", "")),
            meaning=self._text("target.meaning", target.get("meaning", "")),
            hull=hull,
            derived=derived,
            error=error,
            residuals=residuals,
            notes=self._text("notes", data.get("notes", "")),
            digest=digest,
        )
        self._finite(made)
        return made

    def _keys(self, where: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
        for key in table.keys() - set(known):
            place = f"{where}.{key}" if where else key
            self.problems.append(f"there is no key {place}{did_you_mean(key, known)}")

    def _table(self, data: Mapping[str, Any], key: str, known: Sequence[str]) -> Mapping[str, Any]:
        table = data.get(key)
        if not isinstance(table, dict):
            self.problems.append(f"[{key}] is missing: a table with {', '.join(known)}")
            return {}
        self._keys(key, table, known)
        return table

    def _list(self, where: str, value: Any, most: int) -> list[Mapping[str, Any]]:
        if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
            self.problems.append(f"{where} are tables: write [[{where}]]")
            return []
        if len(value) > most:
            self.problems.append(f"there are {len(value)} {where}, {most} at most are read")
            return []
        return value

    def _text(self, where: str, value: Any) -> str:
        if not isinstance(value, str):
            self.problems.append(f"{where} is text, not {_quoted_value(value)}")
            return ""
        if any(not c.isprintable() and c != "\n" for c in value):
            self.problems.append(f"{where} holds control characters")
        return value

    def _name(self, where: str, value: Any, taken: Sequence[str]) -> str:
        if not isinstance(value, str) or not SHORT_NAME.fullmatch(value):
            self.problems.append(f"{where} is a name of letters, digits and '_', not {_quoted_value(value)}")
            return ""
        if value in TAKEN or value in taken:
            why = "is a reserved name" if value in TAKEN else "is given twice"
            self.problems.append(f"{where}: {value!r} {why}; choose another name")
        return value

    def _unit(self, where: str, value: Any) -> str:
        try:
            if not isinstance(value, str):
                raise UnitError(f"{_quoted_value(value)} is not a unit")
            if si_unit(value) != value:
                raise UnitError(
                    f"{value!r} is not an SI unit: such a file has SI units throughout, {si_unit(value)!r} here"
                )
        except UnitError as error:
            self.problems.append(f"{where}: {error}")
            return ""
        return value

    def _number(self, where: str, value: Any, low: float, high: float) -> float:
        if value is None:
            self.problems.append(f"{where} is missing: it is a number")
            return math.nan
        if isinstance(value, bool) or not isinstance(value, Real):
            self.problems.append(f"{where} is a number, not {_quoted_value(value)}")
            return math.nan
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number) or not low <= number <= high:
            self.problems.append(f"{where} = {value!r} is out of range: it lies between {low:g} and {high:g}")
            return math.nan
        return number

    def _columns(self, value: Any) -> list[Column]:
        if not isinstance(value, dict) or not value or not all(isinstance(v, dict) for v in value.values()):
            self.problems.append("columns are tables, one for each: [columns.m] with unit, least, greatest")
            return []
        if len(value) > MOST_FILE_COLUMNS:
            self.problems.append(f"there are {len(value)} columns, {MOST_FILE_COLUMNS} at most are read")
            return []
        found = []
        for name, table in value.items():
            where = f"columns.{name}"
            self._name(where, name, ())
            self._keys(where, table, ("unit", "least", "greatest", "meaning"))
            unit = self._unit(f"{where}.unit", table.get("unit", ""))
            least = self._number(f"{where}.least", table.get("least"), 1e-100, 1e100)
            greatest = self._number(f"{where}.greatest", table.get("greatest"), 1e-100, 1e100)
            if least > greatest:
                self.problems.append(f"{where}: least is above greatest")
            meaning = self._text(f"{where}.meaning", table.get("meaning", ""))
            found.append(Column(name, unit, least, greatest, meaning))
        return found

    def _sharpness(self, data: Mapping[str, Any], form: Any) -> float:
        if form != SOFTMAX:
            if "sharpness" in data:
                self.problems.append('sharpness is for form = "softmax" only: leave it out')
            return math.inf
        return self._number("sharpness", data.get("sharpness"), 1.0, SHARPEST_FILED)

    def _terms(self, where: str, value: Any, names: Sequence[str]) -> tuple[Term, ...]:
        found = []
        for i, table in enumerate(self._list(where, value, MOST_FILE_TERMS)):
            here = f"{where}[{i}]"
            self._keys(here, table, ("coefficient", "exponents", "group", "interval"))
            c = self._number(f"{here}.coefficient", table.get("coefficient"), 1e-300, 1e300)
            group = table.get("group", 0)
            if isinstance(group, bool) or not isinstance(group, int) or not 0 <= group <= MOST_FILE_TERMS:
                self.problems.append(
                    f"{here}.group is a whole number, 0 for a plain term, not {_quoted_value(group)}"
                )
                group = 0
            exponents = self._exponents(here, table.get("exponents", {}), names)
            found.append(Term(c, exponents, group, self._interval(here, table.get("interval"))))
        if not found:
            self.problems.append(f"there are no {where}: write [[{where}]] with coefficient and exponents")
        return tuple(found)

    def _interval(self, here: str, value: Any) -> tuple[float, float] | None:
        if value is None:
            return None
        if not isinstance(value, list) or len(value) != 2:
            self.problems.append(f"{here}.interval is two numbers, not {_quoted_value(value)}")
            return None
        low, high = (self._number(f"{here}.interval[{i}]", v, 0.0, 1e300) for i, v in enumerate(value))
        if low > high:
            self.problems.append(f"{here}.interval ends before it begins")
        return low, high

    def _exponents(self, here: str, value: Any, names: Sequence[str]) -> dict[str, float]:
        if not isinstance(value, dict):
            self.problems.append(
                f"{here}.exponents is a table such as {{ m = 1, n = 0.5 }}, not {_quoted_value(value)}"
            )
            return {}
        for name in value.keys() - set(names):
            there = f"; there are {', '.join(names)}"
            self.problems.append(
                f"{here}.exponents: there is no column {_quoted_value(name)}{did_you_mean(name, names) or there}"
            )
        return {
            n: self._number(f"{here}.exponents.{n}", e, -STEEPEST, STEEPEST)
            for n, e in value.items()
            if n in names
        }

    def _groups(self, form: Any, terms: Sequence[Term]) -> None:
        groups = {t.group for t in terms} - {0}
        if form == POSYNOMIAL and groups:
            self.problems.append(
                'a posynomial has no groups: leave group out, or say form = "softmax" or "max"'
            )
        elif form in (SOFTMAX, MAX) and terms and groups != set(range(1, len(groups) + 1)):
            self.problems.append(
                f"the groups of a {form} are 1, 2, …, without gaps; there are {sorted(groups)}"
            )
        elif form in (SOFTMAX, MAX) and terms and not groups:
            self.problems.append(f"a {form} needs terms with group = 1, 2, …")

    def _derived(self, value: Any, names: Sequence[str], taken: Sequence[str]) -> tuple[Derived, ...]:
        found: list[Derived] = []
        for i, table in enumerate(self._list("derived", value, MOST_FILE_COLUMNS)):
            here = f"derived[{i}]"
            self._keys(here, table, ("name", "unit", "meaning", "terms"))
            name = self._name(f"{here}.name", table.get("name"), [*taken, *(d.name for d in found)])
            unit = self._unit(f"{here}.unit", table.get("unit", ""))
            terms = self._terms(f"{here}.terms", table.get("terms"), names)
            found.append(Derived(name, unit, terms, self._text(f"{here}.meaning", table.get("meaning", ""))))
        return tuple(found)

    def _hull(self, value: Any, names: Sequence[str]) -> tuple[Facet, ...]:
        found = []
        for i, table in enumerate(self._list("hull", value, MOST_FACETS)):
            here = f"hull[{i}]"
            self._keys(here, table, ("exponents", "greatest"))
            greatest = self._number(f"{here}.greatest", table.get("greatest"), 1e-300, 1e300)
            found.append(Facet(self._exponents(here, table.get("exponents", {}), names), greatest))
        return tuple(found)

    def _error(self, value: Any) -> tuple[Mapping[str, Any], tuple[float, ...]]:
        if not isinstance(value, dict):
            self.problems.append("error is a table: [error]")
            return {}, ()
        self._keys("error", value, (*_ERRORS, "split", "residuals"))
        found: dict[str, Any] = {}
        for key in value.keys() & set(_ERRORS):
            least, most = _LEAST.get(key, 0.0), _MOST.get(key, 1e9)
            found[key] = self._number(f"error.{key}", value[key], least, most)
        if "split" in value:
            found["split"] = self._text("error.split", value["split"])
        if ("low" in value) != ("high" in value) or found.get("low", 0.0) > found.get("high", math.inf):
            self.problems.append("error.low and error.high are the two ends of an interval")
        residuals = value.get("residuals", [])
        if not isinstance(residuals, list) or len(residuals) not in (0, QUANTILES):
            told = f", not {plural(len(residuals), 'number')}" if isinstance(residuals, list) else ""
            self.problems.append(f"error.residuals is a list of {QUANTILES} evenly spaced quantiles{told}")
            return found, ()
        listed = tuple(
            self._number(f"error.residuals[{i}]", r, -100.0, 100.0) for i, r in enumerate(residuals)
        )
        if list(listed) != sorted(listed):
            self.problems.append("error.residuals go from the least to the greatest")
        return found, listed

    def _finite(self, made: Fitted) -> None:
        """Whether the function is a positive number at both ends of every column."""
        for which in ("least", "greatest"):
            try:
                y = float(made.value({c.name: getattr(c, which) for c in made.columns}))
            except (OverflowError, ZeroDivisionError):
                y = math.inf
            if not 0 < y < math.inf:
                self.problems.append(
                    f"with every column at its {which} value {made.target} comes to {y}, which is not a number"
                )


_ERRORS = ("confidence", "mean", "median", "greatest", "low", "high", "coverage", "runs")
_LEAST = dict.fromkeys(("low", "high", "confidence"), 1e-9)
_MOST = {"confidence": 1.0, "coverage": 1.0}
_TOP = ("format", "kind", "name", "title", "source", "notes", "form", "sharpness", "target", "columns", "terms",
        "derived", "hull", "error")  # fmt: skip


def _quoted_value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
