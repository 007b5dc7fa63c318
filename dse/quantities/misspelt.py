"""Which unit was probably meant by one that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from functools import lru_cache

from dse.quantities import units

# prefixes in the order in which they are offered, the usual ones first
_USUAL = ("", *"kMGTmunp", "Ki", "Mi", "Gi", "Ti")
_LONG = ("kilo", "mega", "giga", "tera", "milli", "micro", "nano", "pico")
# names shorter than this take no prefix that is written out: no "kiloB"
_LONG_NAME = 3
# so alike a name has to be, of 1: where it measures what is wanted, and elsewhere
_ALIKE = 0.6
_ALIKE_ELSEWHERE = 0.8
# units that a message offers
_MOST = 2


def meant(name: str, fits: Callable[[str], bool] = lambda _: False) -> str:
    """Return ``"; did you mean 'ms'?"`` for the unit that was probably meant by ``name``, or "" where nothing is close.

    Two are named where only the case differs. ``fits`` says whether a unit in its place measures what is wanted:
    those that do come first, of these the ones spelled most alike, of these the usual ones. Units written together
    ("Jflop", "GBps") are close to both of them.
    """
    close = _close(name, fits)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def _close(name: str, fits: Callable[[str], bool]) -> list[str]:
    apart = [text for text in _apart(name) if fits(text)]
    if apart:
        return apart[:1]
    same = [n for n in _spellings() if n.lower() == name.lower()]
    if same:
        return ([n for n in same if fits(n)] or same)[:_MOST]
    alike = {n: _alikeness(n, name) for n in _spellings()}
    near = sorted((n for n in alike if max(alike[n]) >= _ALIKE), key=lambda n: alike[n], reverse=True)
    return ([n for n in near if fits(n)] or [n for n in near if alike[n][0] >= _ALIKE_ELSEWHERE])[:1]


def _alikeness(known: str, name: str) -> tuple[float, float]:
    """Return how alike two names are, without regard to case and with it; 0 where that is less than is offered."""
    matcher = difflib.SequenceMatcher(None, known.lower(), name.lower())
    if min(matcher.real_quick_ratio(), matcher.quick_ratio()) < _ALIKE:
        return 0.0, 0.0
    return matcher.ratio(), difflib.SequenceMatcher(None, known, name).ratio()


@lru_cache(maxsize=1)
def _spellings() -> tuple[str, ...]:
    """Return every unit with every prefix, the usual ones first."""
    known = units.table().units
    rest = [p for p in units.table().prefixes if len(p) <= max(map(len, _USUAL)) and p not in _USUAL]
    short = [p + u for p in (*_USUAL, *rest) for u in known]
    return tuple(dict.fromkeys(short + [p + u for p in _LONG for u in known if len(u) >= _LONG_NAME]))


def _apart(name: str) -> Iterator[str]:
    """Go through what two units written together may be: "Jflop" J/flop, "GBps" GB/s, "Ws" W*s."""
    find = units.table().find
    for i in range(1, len(name)):
        first, second = name[:i], name[i:]
        if find(first) is None:
            continue
        per = second.removeprefix("p")
        if find(per) is not None and per != second:
            yield f"{first}/{per}"
        if find(second) is not None:
            yield f"{first}/{second}"
            yield f"{first}*{second}"
