"""What a sweep is: everything that determines its numbers, and how two of them differ.

Numbers of an identity were computed: an axis with logarithmic steps and a unit with a power differ in the last digits
between kinds of processors. They are the same within ``SAME_NUMBER``, and no checksum is made of them.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from results.dataset import Layout, Variable

SCENARIO = "scenario"
DEPTH, LEAST_DEPTH = "depth", "limits"
"""How much is kept beside each answer; an identity that does not say it has the least."""
OF_DEPTH = frozenset({"variables", "decided_number", "given_number", "alternative"})
"""What of a grid follows from the depth."""
VARIABLES = frozenset({"variables", "grid.variables"})
MOST_CHANGED_LINES = 22
MOST_AXIS_VALUES = 12
SHORT_DIGEST = 12
SAME_NUMBER = 1e-12
"""Relative difference of two numbers that stand for the same: a thousand times what exponentials differ by."""


def complete(given: Mapping[str, Any], plan: Layout, chunks: tuple[int, ...]) -> dict[str, Any]:
    """Return an identity as it is stored: what the caller says, the grid, and how it is cut."""
    axes = {c.name: _axis_identity(c) for c in plan.coordinates}
    found = {
        **given,
        "grid": {**axes, "variables": [v.name for v in plan.variables]},
        "chunks": list(chunks),
    }
    return dict(json.loads(json.dumps(found)))


def digest(told: Mapping[str, Any]) -> str:
    """Return one hash of JSON values, as a SHA-256, of which numbers count to twelve digits.

    Numbers that were typed have fewer, so that two kinds of processors agree on them; those of an axis with
    logarithmic steps may still fall to either side: what a store belongs to is for ``differences`` to say.
    """
    return hashlib.sha256(json.dumps(_twelve_digits(told), sort_keys=True).encode()).hexdigest()


def _twelve_digits(told: Any) -> Any:
    if isinstance(told, dict):
        return {name: _twelve_digits(value) for name, value in told.items()}
    if isinstance(told, list | tuple):
        return [_twelve_digits(value) for value in told]
    return float(f"{told:.12g}") if isinstance(told, float) else told


def same(one: Any, other: Any) -> bool:
    """Tell whether two values of identities or coordinates mean the same, numbers within ``SAME_NUMBER``."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=SAME_NUMBER)
    return bool(one == other)


def _axis_identity(coordinate: Variable) -> Any:
    """The values of an axis; of a long one of numbers its ends, since the question says the rest."""
    values = list(coordinate.values or ())
    beside = coordinate.dims != (coordinate.name,)
    if len(values) <= MOST_AXIS_VALUES or (coordinate.dtype == "text" and not beside):
        return values
    return {"values": len(values), "first": values[0], "last": values[-1]}


def stranger(
    name: str, mine: Mapping[str, Any], theirs: Mapping[str, Any], stored: str = "", asked: str = ""
) -> str:
    """Say that a store belongs to another sweep, and what differs.

    ``stored`` and ``asked``: the texts of both scenarios, of which lines are shown instead of checksums.
    """
    short = digest(theirs)[:SHORT_DIGEST], digest(mine)[:SHORT_DIGEST]
    head = f"{name} belongs to another sweep ({short[0]}…, asked {short[1]}…)"
    changed = _changed_lines(stored, asked)
    found = _of_one_depth(differences(mine, theirs))
    more = any(x[0].startswith("grid.") and x[0] not in VARIABLES for x in found)
    extend = "; if its axes only have more values, --extend keeps its points" if more else ""
    lines = [f"{head}; choose another path or delete it{extend}. What differs:"]
    lines += [differs(*x) for x in found if not (changed and x[0] == SCENARIO)]
    return "\n".join(lines + changed)


def _changed_lines(stored: str, asked: str) -> list[str]:
    """Compare two scenarios line by line; nothing where one is not known or they read the same."""
    if not stored or not asked:
        return []
    headed = difflib.unified_diff(stored.splitlines(), asked.splitlines(), "stored", "asked", "", "", 0, "")
    changed = [f"  {line}" for line in headed if not line.startswith("@@")]
    more = len(changed) - MOST_CHANGED_LINES
    return changed[:MOST_CHANGED_LINES] + ([f"  and {more} more lines"] if more > 0 else [])


def differences(asked: Any, stored: Any, prefix: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Go through what differs between two identities: its name, what is asked, what is stored."""
    if isinstance(asked, dict) and isinstance(stored, dict):
        for name in sorted(asked.keys() | stored.keys()):
            yield from differences(asked.get(name), stored.get(name), f"{prefix}.{name}".lstrip("."))
    elif not same(asked, stored):
        yield prefix, asked, stored


def _of_one_depth(found: Iterable[tuple[str, Any, Any]]) -> list[tuple[str, Any, Any]]:
    """What differs; of two depths only that they do, not which variables they have."""
    every = list(found)
    if all(name != DEPTH for name, *_ in every):
        return every
    return [x for x in every if x[0].removeprefix("grid.") not in OF_DEPTH]


def differs(name: str, asked: Any, stored: Any) -> str:
    """Say in a line what differs."""
    if name == DEPTH:
        return f"  depth: asked {asked or LEAST_DEPTH}, stored {stored or LEAST_DEPTH}; --depth says which"
    if name in VARIABLES and isinstance(asked, list) and isinstance(stored, list):
        here, there = (
            [x for x in one if x not in other] for one, other in ((asked, stored), (stored, asked))
        )
        apart = [
            f"{who} has also {', '.join(own)}" for who, own in (("asked", here), ("stored", there)) if own
        ]
        return f"  variables: {'; '.join(apart) or 'another order'}; --metrics says which"
    if name.startswith("equations."):
        where = name.removeprefix("equations.")
        return f"  the equations in {where} are not those of the stored sweep ({_brief(asked)}, {_brief(stored)})"
    return f"  {name}: asked {_brief(asked)}, stored {_brief(stored)}"


def _brief(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else text[:117] + "..."
