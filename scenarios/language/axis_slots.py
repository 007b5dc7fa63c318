"""What changes along an axis, by where it stands in a file, and names that no axis can have."""

from __future__ import annotations

from scenarios.language.errors import shown
from scenarios.language.schema import Shape, Sweep

# names a dataset needs for itself
_OWN_NAMES = """objective bound gap status seconds elasticity binding limit front region setting message
certificate value slack choice variable metric"""
RESERVED = frozenset(_OWN_NAMES.split())

NO_AXIS = RESERVED | {"would_do", "chunks_done", "promise"}
"""With what stands beside them, in every sweep."""

_OF_FRESH = """kept kept_low kept_high promised fresh_mean fresh_mean_low fresh_mean_high fresh_q05 fresh_q50
fresh_q95"""
OF_FRESH = frozenset(_OF_FRESH.split())
"""Names that answers to uncertain questions need, too."""

OF_FRONTS = frozenset({"dominated", "joined", "exchange_rate", "enclosure", "hypervolume", "trial"})
"""Names that a dataset of fronts needs for itself, too."""
BEGIN_OF_FRONTS = ("front_", "enclosure_", "hypervolume_")
"""How others begin that it needs."""


def fronts_need(name: str) -> bool:
    """Tell whether a dataset of fronts needs a name for itself, which no axis can have then."""
    return name in OF_FRONTS or name.startswith(BEGIN_OF_FRONTS)


Slot = tuple[str, str]
"""An axis, and the path of one number or name that changes along it."""


def slots(shape: Shape, axis: str) -> list[Slot]:
    """Return what changes along an axis: its path, or those of its rows."""
    entry = shape.sweep[axis]
    if entry.path is not None:
        return [(axis, entry.path)]
    return [(axis, path) for path in entry.paths or entry.columns or ()]


def place(shape: Shape, slot: Slot) -> str:
    """Return the key at which a path stands."""
    (axis, path), entry = slot, shape.sweep[slot[0]]
    if not entry.together:
        return f"sweep.{axis}.path"
    return (
        f"sweep.{axis}.{'columns' if entry.paths is None else 'paths'}.{shown(path) if '.' in path else path}"
    )


def listed(shape: Shape, slot: Slot) -> tuple[str, Sweep]:
    """Return an entry with the values of a path of its own, and the key that these stand below."""
    entry = shape.sweep[slot[0]]
    if entry.together:
        return place(shape, slot), Sweep(path=slot[1], values=(entry.paths or {}).get(slot[1], ()))
    return f"sweep.{slot[0]}", entry
