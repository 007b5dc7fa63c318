"""What a sweep is: everything that determines its numbers, and how two of them differ."""

from __future__ import annotations

import difflib
import hashlib
import json
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from results.dataset import Layout, Variable

SCENARIO = "scenario"
MOST_LINES = 22
SHORT = 12


def complete(given: Mapping[str, Any], plan: Layout, chunks: tuple[int, ...]) -> dict[str, Any]:
    """Return an identity as it is stored: what the caller says, the grid, and how it is cut."""
    found = {**given, "grid": _grid(plan), "chunks": list(chunks)}
    return dict(json.loads(json.dumps(found)))


def digest(identity: Mapping[str, Any]) -> str:
    """Return the one hash that stands for an identity."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def _grid(plan: Layout) -> dict[str, Any]:
    """Axes with their values (as checksums where long) and the names of limits and variables."""
    axes = {
        c.name: list(c.values or ())
        if len(c.values or ()) <= 12
        else f"{len(c.values or ())} values, {_sum(c)}"
        for c in plan.coordinates
    }
    return axes | {"variables": [v.name for v in plan.variables]}


def _sum(coordinate: Variable) -> str:
    return f"checksum {zlib.crc32(json.dumps(coordinate.values).encode()):08x}"


def stranger(
    name: str, mine: Mapping[str, Any], theirs: Mapping[str, Any], stored: str = "", asked: str = ""
) -> str:
    """Say that a store belongs to another sweep, and what differs.

    ``stored`` and ``asked``: the texts of both scenarios, of which lines are shown instead of checksums.
    """
    short = digest(theirs)[:SHORT], digest(mine)[:SHORT]
    head = f"{name} belongs to another sweep ({short[0]}…, asked {short[1]}…)"
    lines = [f"{head}; choose another path or delete it. What differs:"]
    changed = _changed_lines(stored, asked)
    found = list(differences(mine, theirs))
    lines += [differs(*x) for x in found if not (changed and x[0] == SCENARIO)]
    return "\n".join(lines + changed)


def _changed_lines(stored: str, asked: str) -> list[str]:
    """Compare two scenarios line by line; nothing where one is not known or they read the same."""
    if not stored or not asked:
        return []
    headed = difflib.unified_diff(stored.splitlines(), asked.splitlines(), "stored", "asked", "", "", 0, "")
    changed = [f"  {line}" for line in headed if not line.startswith("@@")]
    more = len(changed) - MOST_LINES
    return changed[:MOST_LINES] + ([f"  and {more} more lines"] if more > 0 else [])


def differences(asked: Any, stored: Any, prefix: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Go through what differs between two identities: its name, what is asked, what is stored."""
    if isinstance(asked, dict) and isinstance(stored, dict):
        for name in sorted(asked.keys() | stored.keys()):
            yield from differences(asked.get(name), stored.get(name), f"{prefix}.{name}".lstrip("."))
    elif asked != stored:
        yield prefix, asked, stored


def differs(name: str, asked: Any, stored: Any) -> str:
    """Say in a line what differs."""
    if name.startswith("equations."):
        where = name.removeprefix("equations.")
        return f"  the equations in {where} are not those of the stored sweep ({_brief(asked)}, {_brief(stored)})"
    return f"  {name}: asked {_brief(asked)}, stored {_brief(stored)}"


def _brief(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else text[:117] + "..."
