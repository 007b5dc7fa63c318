"""Names of limits, as rows of every formulation bear them."""

from __future__ import annotations

from typing import NamedTuple


class RowKey(NamedTuple):
    """Names one limit: the user's name for it and its side ("max", "min" or "model")."""

    name: str
    side: str
