"""What is known at a point of a grid that others start from. Importing this compiles nothing."""

from __future__ import annotations

from typing import Any, NamedTuple

NOTHING, OPTIMUM, CONFLICT = 0, 1, 2
OFF, AS_BINDING, PINNED_LIMIT = 0, 1, 2
NO_FORCE = 1e-6
"""Multiplier of what binds and is not only where the tie rule ends."""
FREE, AT_LOW, AT_HIGH, PINNED_LOW, PINNED_HIGH, FIXED_VALUE = 0, 1, 2, 3, 4, 5


class Known(NamedTuple):
    """What is known at some points (first dimension) of m limits, n variables and K terms.

    ``kind``: NOTHING, OPTIMUM or CONFLICT. ``y``, ``multipliers``: the design, or where the proof of a conflict was
    made, and its weights. ``rows`` (m): OFF, AS_BINDING, or PINNED_LIMIT: only the tie rule holds the design at this
    limit. ``ends`` (n): FREE, at an end of the box (pushed there, or pinned by the tie rule), FIXED_VALUE. ``matter``
    (K): terms that may not change among the optima; ``flat`` (n): the direction in which these extend (zeros: there
    is one optimum), ``stage``: number of the goal that decides along it, -1 for none. ``members`` (names): a
    conflict; ``witness`` (names, n): a design that meets all limits but those of one name.
    """

    kind: Any
    y: Any
    multipliers: Any
    rows: Any
    ends: Any
    matter: Any
    flat: Any
    stage: Any
    members: Any
    witness: Any
