"""How nouns are counted."""

from __future__ import annotations

# those of which several are not called with an s at the end
_IRREGULAR = {"vertex": "vertices", "index": "indices"}


def several(noun: str) -> str:
    """Return what several are called: ``points``, ``boxes``, ``vertices``.

    >>> several("vertex")
    'vertices'
    """
    return _IRREGULAR.get(noun, f"{noun}es" if noun.endswith(("x", "ch", "sh")) else f"{noun}s")


def plural(count: int, noun: str) -> str:
    """Return ``1 point`` or ``2 points``.

    >>> plural(2, "box")
    '2 boxes'
    """
    return f"{count} {noun if count == 1 else several(noun)}"
