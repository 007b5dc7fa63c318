"""Checks a scenario's shape, and says in the user's words what is wrong with it."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from dse.names import did_you_mean
from scenarios.language.errors import MOST_MISTAKES, Findings, Problem, meant, shown
from scenarios.language.parts import EXTRA, SCENARIO, Mistakes, Part, Place
from scenarios.language.schema import (
    Bounds,
    Decide,
    Drawing,
    Front,
    Goal,
    Judging,
    KernelEntry,
    Searching,
    Shape,
    Spread,
    Sweep,
    flattened,
)

_PARTS: dict[str, type[Part]] = {
    "kernels": KernelEntry,
    "decide": Decide,
    "limits": Bounds,
    "sweep": Sweep,
    "search": Searching,
    "uncertain": Spread,
}
_TABLES = {
    "kernels": 'write [[kernels]] and below it name = "forces" and model = "nbody", once for each kernel',
    "given": "write a table: [given] and below it bodies = 1e6",
    "define": 'write a table: [define] and below it price = "9000 USD * processors"',
    "models": 'write a table: [models] and below it gemm = "./gemm.toml"',
    "decide": "write a table such as { min = 1, max = 64 }; a fixed value belongs under [given]",
    "limits": 'write a table such as { max = "10 s" }',
    "sweep": 'write a table such as { path = "limits.time.max", values = [1, 2] }',
    "search": 'write a table such as { sampler = "TPE", trials = 500 }',
    "objective": 'write a table such as { minimize = "energy" }',
    "uncertain": 'write a table such as { normal = ["10 W", "0.5 W"] }',
}


def check(data: Mapping[str, Any], findings: Findings) -> Shape | None:
    """Check the shape of ``data``, noting every mistake in ``findings``.

    Returns what can be read once the broken entries are left out, so that its meaning can be checked as well;
    None where nothing can be.
    """
    rest = copy.deepcopy(flattened(data))
    while True:
        try:
            return Shape.model_validate(rest)
        except Mistakes as error:
            broken = list(problems_of(error, rest, findings.file, full=not findings.many))
        for _, problem in broken:
            if problem.key not in findings.broken and not _path_is_wrong(problem.key, findings):
                findings.add(problem.key, problem.wrong, problem.right)
        findings.broken.update(dotted(place) for place, _ in broken)
        # places in a list would not be the same without one of its entries
        if any(not place or place[0] == "kernels" for place, _ in broken):
            return None
        for place, _ in broken:
            _remove_entry(rest, place)


def _path_is_wrong(key: str, findings: Findings) -> bool:
    """Whether an axis lacks a path only because what stands in place of it was noted as wrong."""
    axis = key.removesuffix(".path")
    return axis != key and any(f"{axis}.{n}" in findings.broken for n in ("paths", "table", "columns"))


def problems_of(
    error: Mistakes, data: Mapping[str, Any], file: str, *, full: bool = True
) -> Iterator[tuple[Place, Problem]]:
    """Yield each mistake with the place that must go for the rest to be readable.

    Unless ``full``, and after MOST of them, what was probably meant is not looked for.
    """
    for number, found in enumerate(error.found):
        place, kind = found.place, found.kind
        if kind == SCENARIO:
            wrong, right = found.wrong, found.right
            wrong = wrong.replace("this is", f"{shown(_entry_at(data, place))} is", 1)
        elif kind == EXTRA and _twice(place, data):
            wrong, right = f"{shown(dotted(place[1:]))} is given twice", "keep one of the two"
        elif kind == EXTRA and _means_sampling(place):
            place = place[:2]
            wrong, right = f"unknown key {shown(place[1])}", "did you mean 'sampling'?"
        elif kind == EXTRA:
            near = full and number < MOST_MISTAKES
            wrong, right = _unknown(place) if near else (f"unknown key {shown(str(place[-1]))}", "")
        elif kind == "no_model":
            place = ("model",)
            wrong, right = _missing(place, file)
        elif kind == "no_kernels":
            place = ("kernels",)
            wrong, right = (
                "the list of kernels is empty",
                f'{_TABLES["kernels"]}; or model = "nbody" in its place',
            )
        elif kind == "no_path":
            place = (*place, "path")
            wrong, right = _missing(place, file)
        else:
            wrong, right = _not_a_table(place, found.value)
        cut = place[:-1] if kind in {"no_model", "no_kernels", "no_path"} or _twice(place, data) else place
        yield cut, Problem(file, dotted(place), wrong, right)


def _not_a_table(place: Place, value: Any) -> tuple[str, str]:
    if place == ("decide", "machine") and isinstance(value, str):
        one = shown(value)
        right = f"write machine = {one} at the top of the file, or a list: {{ values = [{one}, …] }}"
        return f"{one} is one machine, which leaves nothing to decide", right
    right = _TABLES.get(str(place[0]) if place else "", "write a table")
    if place == ("objective", "weights"):
        right = 'write { energy = "1 1/J", time = "20 W/J" }'
    elif place[:1] == ("limits",) and isinstance(value, int | float | str):
        right = f"write a table such as {{ max = {shown(value)} }}"
    return f"{shown(value)} is {'not a list of tables' if place == ('kernels',) else 'not a table'}", right


def dotted(place: Place) -> str:
    """Write a place as a dotted key: ("objective", "minimize", 1) is objective.minimize[1]."""
    text = ""
    for step in place:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _fields(place: Place) -> type[Part]:
    if not place:
        return Shape
    if place[0] == "objective":
        inner: dict[str, type[Part]] = {"front": Front, "measures": Judging if place[2:] else Goal}
        return inner.get(str(place[1]), Goal) if place[1:] else Goal
    if place == ("uncertain", "sampling"):
        return Drawing
    return _PARTS[str(place[0])]


def _means_sampling(place: Place) -> bool:
    """Whether a key of [uncertain.sampling] stands below a name that is like it."""
    if len(place) != 3 or place[0] != "uncertain" or place[2] not in Drawing.model_fields:
        return False
    return bool(did_you_mean(str(place[1]), ["sampling"]))


def _unknown(place: Place) -> tuple[str, str]:
    name = str(place[-1])
    fields = [n for n in _fields(place[:-1]).model_fields if n != "spreads"]
    if name in Shape.model_fields and name not in fields:
        return f"{name} does not belong here", f"move {name} to the top of the file, above the first [table]"
    if len(place) == 1 and not did_you_mean(name, fields):
        return f"unknown key {shown(name)}", f"inputs belong under [given]; {meant(name, fields)}"
    return f"unknown key {shown(name)}", meant(name, fields)


def _twice(place: Place, data: Mapping[str, Any]) -> bool:
    """Whether a nested table could not be written with a dotted name, because there is one already."""
    return (
        len(place) == 3
        and place[0] in ("decide", "limits", "uncertain")
        and dotted(place[1:]) in data[str(place[0])]
    )


def _missing(place: Place, file: str) -> tuple[str, str]:
    if place == ("model",):
        return (
            "no model is named",
            f'write model = "nbody" at the top of {file}; `dse models` lists the models',
        )
    other = 'path = "limits.time.max", or another input, limit or bound; or paths, or table and columns'
    return (
        "the axis has no path",
        f"write path = {shown(str(place[1]))} if that is what changes; else {other}",
    )


def _entry_at(data: Any, place: Place) -> Any:
    for step in place:
        data = data[step]
    return data


def _remove_entry(data: dict[str, Any], place: Place) -> None:
    """Remove the entry at ``place``, unless what holds it is gone already."""
    *outer, last = place
    try:
        _entry_at(data, tuple(outer)).pop(last, None)
    except KeyError:
        return
