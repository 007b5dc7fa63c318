"""Settings of a machine: what each entry of a ``[[settings]]`` table means, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.models.platforms.dvfs_energy import SETTING
from dse.quantities import to_si

QUANTITIES = {q.name: q for q in SETTING}
KEYS = ("name", *QUANTITIES, "source", "doubts", "notes", "role", "row")
"""What a setting may state: its name, its quantities, and what is known of them, which no model reads."""


def read(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a setting with its quantities as SI floats; name, source and other texts stay as they are.

    Raises UnitError where a quantity cannot be read.
    """
    return {k: to_si(v, QUANTITIES[k].unit) if k in QUANTITIES else v for k, v in entry.items()}
