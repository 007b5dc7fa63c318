"""Frozen answers: what ``dse.solve`` said of every ready question on every machine of its model, to compare with.

``records.jsonl`` holds one question a line: its name, the scenario as a mapping, the place in its grid where it sweeps,
and the answer without what follows from it (metrics, units, texts). They are answers of an earlier version, not truths:
a difference is an error either there or here, to be understood before the records are made anew.

    python tests/frozen/frozen.py            compare all, and list the differences
    python tests/frozen/frozen.py --make     make the records anew (``make frozen``)
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import signal
import sys
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dse
import scenarios
from dse import machines
from dse.uncertain.worlds import decided_late
from results.export.jsonable import to_json
from solvers.answer import answer

HERE = Path(__file__).resolve().parent
RECORDS = HERE / "records.jsonl"
LIBRARY = HERE.parents[1] / "scenarios" / "library"
SECONDS = 20.0
"""Processor seconds after which a question is given up while records are made."""
VALUE, DESIGN, WORTH = 1e-8, 1e-6, 1e-4
"""Relative tolerances of objective and bound, of variables that are unique, and of sensitivities and ends."""
KEPT = (
    "status",
    "objective",
    "bound",
    "variables",
    "conflict",
    "conflicts",
    "ranges",
    "elasticities",
    "one_sided",
)
KEPT += ("alternatives", "runaway", "held")
OF_LIMITS = ("side", "binding", "elasticity", "one_sided", "next_change", "next_objective")

Record = dict[str, Any]


class TooLong(Exception):
    """A question took longer than it may."""


def questions() -> Iterator[Record]:
    """Every ready scenario as a question: its machines in turn, ends of its grid, each of its objectives alone."""
    for path in sorted(LIBRARY.glob("*.toml")):
        source = tomllib.loads(path.read_text(encoding="utf-8"))
        for label, goal in _goals(source):
            for machine in _machines(source):
                asked = {**source, **goal, **({} if machine is None else {"machine": machine})}
                name = "/".join(part for part in (path.stem, label, machine or "") if part)
                yield from _places(name, asked)


def _goals(source: Mapping[str, Any]) -> Iterator[tuple[str, Record]]:
    way, wanted = next(iter(source.get("objective", {}).items()), ("", ""))
    if not isinstance(wanted, list):
        yield "", {}
        return
    measures = source["objective"].get("measures", {})
    for name in wanted:
        own = {"measures": {name: measures[name]}} if name in measures else {}
        yield name, {"objective": {way: name, **own}}


def _machines(source: Mapping[str, Any]) -> Iterator[str | None]:
    yield None
    own = source.get("machine")
    if isinstance(own, str):
        # machines of data sheets are alike in form: those of the papers stand for them
        yield from (m.name for m in machines.every() if m.name != own and not m.figures)


def _places(name: str, asked: Record) -> Iterator[Record]:
    try:
        grid = scenarios.grid(decided_late(dse.load(asked)))
    except scenarios.ScenarioError:
        return  # not a machine of this model
    ends = dict.fromkeys((tuple(0 for _ in grid.shape), tuple(n - 1 for n in grid.shape)))
    for place in ends:
        at = {"place": list(place)} if place else {}
        yield {"name": " ".join([name, *map(str, place)]), "asked": asked, **at}


def told(record: Record) -> Record:
    """Answer a record's question; the answer as it is kept."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grid = scenarios.grid(decided_late(dse.load(record["asked"])))
        found = to_json(answer(grid.question(tuple(record.get("place", ())))))
    kept = {key: found[key] for key in KEPT if found[key] not in (None, "", [], {})}
    limits = {
        name: {key: state[key] for key in OF_LIMITS if state[key] not in (None, False)}
        for name, state in found["limits"].items()
    }
    return _short({**kept, **({"limits": limits} if limits else {})})


def _short(value: Any) -> Any:
    """Numbers with twelve digits, which is more than is compared."""
    if isinstance(value, dict):
        return {name: _short(v) for name, v in value.items()}
    if isinstance(value, list):
        return [_short(v) for v in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


def records() -> list[Record]:
    """All records."""
    return [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]


def differences(then: Record, now: Record) -> list[str]:
    """What differs between two answers of one question, beyond the tolerances."""
    found = [
        f"{key}: {then.get(key)} is now {now.get(key)}"
        for key in ("status", "runaway")
        if then.get(key) != now.get(key)
    ]
    scale = abs(then.get("objective", 0.0))
    found += [
        f"{key}: {then.get(key)} is now {now.get(key)}"
        for key in ("objective", "bound")
        if not _close(then.get(key), now.get(key), VALUE, VALUE * scale)
    ]
    old, new = (dict(side.get("variables", {})) for side in (then, now))
    loose = set(then.get("ranges", {})) | set(now.get("ranges", {}))
    found += _by_name(
        "variable",
        {n: v for n, v in old.items() if n not in loose},
        {n: v for n, v in new.items() if n not in loose},
        DESIGN,
    )
    ends = [
        {f"{n} {i}": v for n, pair in side.get("ranges", {}).items() for i, v in enumerate(pair)}
        for side in (then, now)
    ]
    found += _by_name("range", *ends, WORTH)
    worth = [side.get("elasticities", {}) for side in (then, now)]
    everywhere = dict.fromkeys([*worth[0], *worth[1]], 0.0)
    found += _by_name("parameter", {**everywhere, **worth[0]}, {**everywhere, **worth[1]}, WORTH, WORTH)
    for key in ("conflicts", "one_sided", "held"):
        if _sorted(then.get(key, [])) != _sorted(now.get(key, [])):
            found.append(f"{key}: {then.get(key)} is now {now.get(key)}")
    found += _by_name("feasible if", then.get("conflict", {}), now.get("conflict", {}), DESIGN)
    found += _by_name("limit", _flat(then), _flat(now), WORTH, WORTH)
    choices = [
        {json.dumps(a["choice"], sort_keys=True): a["status"] for a in side.get("alternatives", [])}
        for side in (then, now)
    ]
    found += _by_name("alternative", *choices, 0.0)
    best = [
        {json.dumps(a["choice"], sort_keys=True): a["objective"] for a in side.get("alternatives", [])}
        for side in (then, now)
    ]
    return found + _by_name("alternative", *best, VALUE)


def _flat(side: Record) -> dict[str, Any]:
    return {f"{n} {key}": v for n, state in side.get("limits", {}).items() for key, v in state.items()}


def _sorted(value: Any) -> list[str]:
    return sorted(
        json.dumps(v, sort_keys=True) for v in (value.items() if isinstance(value, dict) else value)
    )


def _by_name(
    what: str, then: Mapping[str, Any], now: Mapping[str, Any], relative: float, absolute: float = 0.0
) -> list[str]:
    return [
        f"{what} {n}: {then.get(n)} is now {now.get(n)}"
        for n in dict.fromkeys([*then, *now])
        if not _close(then.get(n), now.get(n), relative, absolute)
    ]


def _close(a: Any, b: Any, relative: float, absolute: float) -> bool:
    if isinstance(a, float | int) and isinstance(b, float | int):
        return math.isclose(a, b, rel_tol=relative, abs_tol=absolute)
    return bool(a == b)


@contextlib.contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _make() -> None:
    left_out = []
    with RECORDS.open("w", encoding="utf-8") as file:
        for record in questions():
            try:
                with _at_most(SECONDS):
                    found = told(record)
            except TooLong:
                left_out.append(record["name"])
                continue
            file.write(json.dumps({**record, "answer": found}, separators=(",", ":")) + "\n")
    for name in left_out:
        print(f"left out, over {SECONDS:g} s: {name}")


def _compare(part: str) -> int:
    wrong = 0
    for record in records():
        if not record["name"].startswith(part):
            continue
        different = differences(record["answer"], told(record))
        wrong += bool(different)
        for text in different:
            print(f"{record['name']}: {text}", flush=True)
    print(f"{wrong} questions differ")
    return int(wrong > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--make", action="store_true", help="make the records anew")
    parser.add_argument("part", nargs="?", default="", help="only questions whose name begins so")
    asked = parser.parse_args()
    sys.exit(_make() if asked.make else _compare(asked.part))
