"""Where one question overtakes another along a number: the curves, and each place where their order changes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dse.quantities import show
from dse.system.records import dataclass
from results.dataset import STATUS_CODES
from results.export.jsonable import plain
from results.variables import CROSSINGS_AT, SHOWN_NAMES, WHOLE

if TYPE_CHECKING:
    import xarray as xr

CROSSING_WIDTH = 1e-6
"""How narrowly a crossing is enclosed, relative."""
CROSSING_DIGITS = 8
EQUAL_WITHIN = 1e-9
"""What differs by no more, relative, has no order."""
EVENLY, BY_RATIO, AS_LISTED = "evenly", "evenly by ratio", "as the file lists them"
NO_NUMBER = frozenset({"infeasible", "error", "unbounded"})
WHERE_COMPARABLE = "at which it has an order"
PLACES_TOLD = 3


@dataclass(frozen=True, slots=True)
class End:
    """One end of what encloses a crossing: the value there, and of both questions status, number and proved bound."""

    at: float
    status: tuple[str, str]
    numbers: tuple[float | None, float | None]
    bounds: tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where the order of two questions changes, between ``low`` and ``high``.

    ``pair``: their names; ``before`` and ``after``: what holds on either side, in words. ``proved``: from below where
    to above where bounds prove what is said of both sides; None where nothing does.
    """

    pair: tuple[str, str]
    before: str
    after: str
    low: End
    high: End
    proved: tuple[End, End] | None = None

    @property
    def at(self) -> float:
        """The middle."""
        return (self.low.at + self.high.at) / 2.0


@dataclass(frozen=True, slots=True)
class Curve:
    """One number of every question along another one.

    ``path``: what changes, in ``unit`` at ``values``: those searched, of which there are ``searched``, and both ends of
    each crossing; ``name`` and ``name_unit``: what is compared. ``numbers``, ``bounds`` and ``status``: of each
    question at each value; ``spacing``: how the values are spaced, in words. ``names`` and ``labels``: as of a
    ``Side``. ``whole``: only whole values mean anything.
    """

    path: str
    unit: str
    values: tuple[float, ...]
    searched: int
    names: tuple[str, ...]
    name: str
    name_unit: str
    numbers: tuple[tuple[float, ...], ...]
    bounds: tuple[tuple[float, ...], ...]
    status: tuple[tuple[str, ...], ...]
    crossings: tuple[Crossing, ...]
    spacing: str
    certified: bool
    maximize: bool
    attributes: Mapping[str, str]
    labels: tuple[str, ...]
    whole: bool = False

    def sentences(self) -> list[str]:
        """Say what was found, and on which grid it was searched for."""
        found = [s for c in self.crossings for s in self._told(c)]
        if not self.crossings:
            found = [f"no crossing: {self._order()}"]
        found += self._without_order()
        ends = f"{self._value(self.values[0])} to {self._value(self.values[-1])}"
        found.append(
            f"searched at {self.searched} {'whole ' * self.whole}values of {self.path} from {ends}, {self.spacing}; "
            "between two of them further crossings may hide"
        )
        if not self.certified:
            found.append(
                f"{self.name} is read at the designs found, which are proved best for their objective only"
            )
        return found

    def _order(self) -> str:
        states = {s for one in self.status for s in one}
        if states & NO_NUMBER:
            return "the order stays as it is at every value searched"
        columns = [c for c in zip(*self.numbers, strict=True) if comparable(*c)]
        where = "at every value searched" + (
            f" {WHERE_COMPARABLE}" if len(columns) < len(self.values) else ""
        )
        if not columns:
            return f"at no value searched has {self.name} an order"
        firsts = set.intersection(
            *({k for k, x in enumerate(c) if math.isclose(x, min(c), rel_tol=EQUAL_WITHIN)} for c in columns)
        )
        if len(firsts) == len(self.names):
            return f"all have the same {self.name} {where}"
        if not firsts:
            return f"the order with the baseline stays as it is {where}"
        return f"{self.names[min(firsts)]} has the least {self.name} {where}"

    def _without_order(self) -> list[str]:
        """Say at which values numbers are undefined, or infinite in more than one question."""
        columns = zip(*self.numbers, *self.status, strict=True)
        answered = len(self.names)
        at = [
            v
            for v, c in zip(self.values, columns, strict=True)
            if not set(c[answered:]) & NO_NUMBER and not comparable(*c[:answered])
        ]
        if not at:
            return []
        few = ", ".join(self._value(v) for v in at[:PLACES_TOLD]) + (", …" if len(at) > PLACES_TOLD else "")
        return [f"{self.name} has no order where it is undefined, or infinite for more than one: at {few}"]

    def _told(self, c: Crossing) -> list[str]:
        ends = f"{self._value(c.low.at)} and {self._value(c.high.at)}"
        at = f" between {ends}" if self.whole else f" = {self._value(c.at)}"
        found = [f"{self.path}{at}: below, {c.before}; above, {c.after}"]
        if c.proved is None:
            found.append(f"  enclosed by {ends}; not proved by bounds")
        else:
            low, high = c.proved
            found.append(f"  proved at {self._value(low.at)}: {self._end(c, low)}")
            found.append(f"  proved at {self._value(high.at)}: {self._end(c, high)}")
        return found

    def _end(self, c: Crossing, end: End) -> str:
        told = []
        for label, status, number, bound in zip(c.pair, end.status, end.numbers, end.bounds, strict=True):
            if number is None:
                told.append(f"{label} {status}")
                continue
            text = f"{label} {show(number, self.name_unit, CROSSING_DIGITS)}"
            if bound is not None and bound != number:
                text += f" (bound {show(bound, self.name_unit, CROSSING_DIGITS)})"
            told.append(text)
        return ", ".join(told)

    def _value(self, value: float) -> str:
        return show(value, self.unit, CROSSING_DIGITS)

    def record(self) -> dict[str, Any]:
        """Return all of it as JSON has it, numbers in SI units."""
        label_of = dict(zip(self.names, self.labels, strict=True))
        return {
            "path": self.path,
            "unit": self.unit,
            "values": list(self.values),
            "name": self.name,
            "name_unit": self.name_unit,
            "spacing": self.spacing,
            "certified": self.certified,
            "curves": [
                {"label": label, "numbers": plain(a), "bounds": plain(b), "status": list(s)}
                for label, a, b, s in zip(self.labels, self.numbers, self.bounds, self.status, strict=True)
            ],
            "crossings": [
                {
                    "between": [label_of[n] for n in c.pair],
                    "at": c.at,
                    "before": c.before,
                    "after": c.after,
                    "low": _end_record(c.low),
                    "high": _end_record(c.high),
                    "proved": None if c.proved is None else [_end_record(e) for e in c.proved],
                }
                for c in self.crossings
            ],
        }

    def to_dataset(self, base: int = 0) -> xr.Dataset:
        """Return the curves as a dataset along the number and ``question``, with ratios to the baseline's."""
        import numpy as np
        import xarray as xr

        along = self.path.replace(".", "_").removeprefix("given_")
        codes = {s.value: code for s, code in STATUS_CODES.items()}
        dims = (along, "question")
        unit = self.name_unit or "1"
        numbers = np.array(self.numbers, float).T
        with np.errstate(all="ignore"):
            ratios = numbers / numbers[:, [base]]
        flags = {"flag_values": list(codes.values()), "flag_meanings": " ".join(codes)}
        told = f"{self.name} as a multiple of that of {self.names[base]}"
        found = {
            "objective": (dims, numbers, {"units": unit, "long_name": self.name}),
            "bound": (
                dims,
                np.array(self.bounds, float).T,
                {"units": unit, "long_name": f"bound of {self.name}"},
            ),
            "status": (
                dims,
                np.array([[codes[s] for s in one] for one in self.status], np.int8).T,
                {"long_name": "status of the answer", **flags},
            ),
            "ratio.objective": (dims, ratios, {"units": "1", "long_name": told}),
        }
        coords = {
            along: (
                along,
                list(self.values),
                {"units": self.unit or "1", "long_name": self.path, "path": self.path}
                | ({WHOLE: 1} if self.whole else {}),
            ),
            "question": coordinate(self.labels, self.names),
        }
        places = [f"{c.at!r}: {c.before}; then {c.after}" for c in self.crossings]
        title = f"{self.name} of {' and '.join(self.names)} over {self.path}"
        about = {
            "title": title,
            "crossings": "\n".join(places),
            CROSSINGS_AT: [c.at for c in self.crossings],
        }
        return xr.Dataset(
            found,
            coords,
            {
                **about,
                "objectives": json.dumps({self.name: "max" if self.maximize else "min"}),
                **self.attributes,
            },
        )


def coordinate(labels: Sequence[str], names: Sequence[str]) -> tuple[str, list[str], dict[str, str]]:
    """Return the coordinate of the questions: their labels, and how people are shown them."""
    other = {label: name for label, name in zip(labels, names, strict=True) if label != name}
    about = {SHOWN_NAMES: json.dumps(other, ensure_ascii=False)} if other else {}
    return "question", list(labels), {"long_name": "question", **about}


def _end_record(end: End) -> dict[str, Any]:
    return {
        "at": end.at,
        "status": list(end.status),
        "numbers": plain(end.numbers),
        "bounds": plain(end.bounds),
    }


def ends_of(number: float | None, bound: float | None) -> tuple[float, float] | None:
    """Return between which numbers the best value lies; None where that is not proved."""
    if number is None or bound is None or not (math.isfinite(number) and math.isfinite(bound)):
        return None
    return min(number, bound), max(number, bound)


def comparable(*numbers: float) -> bool:
    """Tell whether numbers have an order: none is undefined, and one at most is infinite (of each sign)."""
    infinite = [x for x in numbers if math.isinf(x)]
    return not any(map(math.isnan, numbers)) and len(infinite) == len(set(infinite))


def pairs(count: int, base: int) -> list[tuple[int, int]]:
    """Return which questions are compared: each with the baseline."""
    return [(base, k) for k in range(count) if k != base]


def spaced(values: Sequence[float]) -> str:
    """Say how values are spaced."""
    if len(values) > 2 and min(values) > 0:
        ratios = [b / a for a, b in pairwise(values)]
        if max(ratios) <= min(ratios) * (1 + 1e-9):
            return BY_RATIO
    steps = [b - a for a, b in pairwise(values)]
    return EVENLY if max(steps) <= min(steps) * (1 + 1e-9) else AS_LISTED
