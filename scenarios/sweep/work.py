"""Whether a question has any work: numbers of which one must be above 0, as given and at every point of its axes."""

from __future__ import annotations

from collections.abc import Mapping

from scenarios.language import axis_slots
from scenarios.language.axis_slots import Slot
from scenarios.language.schema import Shape
from scenarios.names import Roles
from scenarios.places import AxisValues
from scenarios.question import Question


def given(shape: Shape, roles: Roles, found: Mapping[str, float | str], asked: tuple[str, ...]) -> None:
    """Note a run that does nothing: all of ``asked`` are 0, or absent as what says them otherwise is."""
    reader = roles.reader
    elsewhere = any(
        n in shape.decide or n in roles.swept or reader.findings.unreadable(f"given.{n}") for n in asked
    )
    if elsewhere or asked[0] not in found or any(found.get(n, 0.0) for n in asked):
        return
    wrong = f"there is nothing to run: no {' and no '.join(asked)}"
    reader.findings.add(f"given.{asked[0]}", wrong, f"write {' or '.join(asked)} above 0")


def everywhere(
    shape: Shape,
    roles: Roles,
    values: Mapping[Slot, AxisValues],
    bases: Mapping[tuple[float | str, ...], Question],
) -> None:
    """Note axes with a point at which nothing is run, as ``given`` does of what the file gives."""
    swept = {t.name: s for s, t in roles.targets.items() if t.kind == "given"}
    for asked in roles.reader.model.any_of:
        mine = [swept[n] for n in asked if n in swept]
        others = [n for n in asked if n not in swept]
        if not mine or any(n in shape.decide for n in others):
            continue
        if all(any(q.given.get(n, 0.0) for n in others) for q in bases.values()):
            continue
        # along one axis numbers change together
        along = [[values[s] for s in mine if s[0] == axis] for axis in dict.fromkeys(a for a, _ in mine)]
        if all(any(not any(row) for row in zip(*columns, strict=True)) for columns in along):
            key, _ = axis_slots.listed(shape, mine[0])
            wrong = f"at a point of it there is nothing to run: no {' and no '.join(asked)}"
            roles.reader.findings.add(
                key, wrong, f"begin above 0, or write {' or '.join(asked)} above 0 there"
            )
