"""Looking things up by name, with a word on what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# letters of a beginning that says which name was meant
_BEGINNING = 4


class UnknownName(KeyError):
    """No such name; the message says what was probably meant and what there is."""

    def __str__(self) -> str:
        return str(self.args[0])


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'nbody'?"`` for the closest known names, or "" where nothing is close.

    Where none is spelled alike, names that begin with what was written are close.
    """
    known = list(known)
    close = [k for k in known if k.lower() == wrong.lower()]
    close = close or difflib.get_close_matches(wrong, known, n=2, cutoff=0.6)
    if not close and len(wrong) >= _BEGINNING:
        close = [k for k in known if k.lower().startswith(wrong.lower())][:2]
    return f"; did you mean {' or '.join(repr(k) for k in close)}?" if close else ""


def unknown(kind: str, wrong: str, known: Iterable[str]) -> UnknownName:
    """Build the error for a name that does not exist among ``known``."""
    known = list(known)
    hint = did_you_mean(wrong, known) or f"; there are {', '.join(known)}"
    return UnknownName(f"no {kind} is called {wrong!r}{hint}")
