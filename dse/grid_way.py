"""Which way a grid goes, in words: all at once, chunk by chunk, or point by point, and why."""

from __future__ import annotations

from typing import Any

from dse.chunk_work import Ready

AT_ONCE, SEARCHED, SINGLY = "all points of a chunk at once", "chunks searched", "point by point"


def told(at: Ready) -> dict[str, Any]:
    """Return the way as values that JSON has: ``goes``, ``method``, and ``why`` where points go one by one."""
    goes = SINGLY if at.path is None else SEARCHED if at.path.kind == "search" else AT_ONCE
    return {"goes": goes, "method": at.plan.attributes["method"], "why": list(at.choice.reasons)}


def words(way: dict[str, Any]) -> str:
    """Say the way in one line."""
    return f"{way['goes']}: {'; '.join(way['why']) or way['method']}"
