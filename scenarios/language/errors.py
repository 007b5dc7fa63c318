"""What is wrong with a scenario: all mistakes together, each with its place and its repair."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Self

from dse.names import did_you_mean
from dse.system.files import shortened
from dse.system.streams import visible

MOST_MISTAKES = 100
"""So many mistakes are told in full; of the others how many there are."""


class Problem(NamedTuple):
    """One mistake: the file, the dotted key in it, what is wrong there and what would be right."""

    file: str
    key: str
    wrong: str
    right: str

    def __str__(self) -> str:
        place = f"{shortened(self.key)}: " if self.key else ""
        return visible(f"{place}{self.wrong}" + (f"\n    {self.right}" if self.right else ""))


class ScenarioError(Exception):
    """A scenario cannot be asked; ``problems`` lists every mistake found in it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.problems)

    @classmethod
    def of(cls, file: str, key: str, wrong: str, right: str) -> Self:
        """Return the error of a single mistake."""
        return cls([Problem(file, key, wrong, right)])

    def __str__(self) -> str:
        count = len(self.problems)
        files = ", ".join(dict.fromkeys(shortened(p.file) for p in self.problems))
        head = f"{count} mistake{'' if count == 1 else 's'} in {files}"
        more = [f"  … and {count - MOST_MISTAKES} more"] if count > MOST_MISTAKES else []
        return "\n".join([head, *(f"  {p}" for p in self.problems[:MOST_MISTAKES]), *more])


class Findings:
    """Collects the mistakes of one file.

    ``broken`` holds the keys whose entries could not be read, so that nobody calls them missing as well;
    ``places`` says where a key stands in the file, if that is elsewhere: "given.regions.a.flops" may be
    "given.regions[0].flops".
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self._problems: dict[Problem, None] = {}
        self.broken = Broken()
        self.places: dict[str, str] = {}

    def add(self, key: str, wrong: str, right: str) -> None:
        """Note one mistake; the same mistake at the same key is noted once."""
        self._problems[Problem(self.file, self.places.get(key, key), wrong, right)] = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All mistakes in the order in which they were found."""
        return tuple(self._problems)

    @property
    def count(self) -> int:
        """How many mistakes were found."""
        return len(self._problems)

    @property
    def many(self) -> bool:
        """Whether there are so many that no further one is told in full: nobody reads what would be right."""
        return len(self._problems) >= MOST_MISTAKES

    def missing(self, key: str, wrong: str, right: str) -> None:
        """Note that something is missing, unless it was there and could not be read."""
        if not self.unreadable(key):
            self.add(key, wrong, right)

    def unreadable(self, key: str) -> bool:
        """Whether the entry at ``key``, or something in it, could not be read (which has been noted)."""
        return key in self.broken.outer or any(head in self.broken for head in _heads(key))

    def unknown(self, key: str, kind: str, name: str, known: Iterable[str]) -> None:
        """Note a name that does not exist, with what was probably meant and what there is."""
        self.add(key, f"there is no {kind} {shown(name)}", "" if self.many else meant(name, known))


class Broken(set[str]):
    """Keys of entries that could not be read; ``outer`` holds these and all that they are inside of."""

    def __init__(self) -> None:
        super().__init__()
        self.outer: set[str] = set()

    def add(self, key: str) -> None:
        """Note a key."""
        super().add(key)
        self.outer.update(_heads(key))

    def update(self, *keys: Iterable[str]) -> None:
        """Note several keys."""
        for key in (k for some in keys for k in some):
            self.add(key)


def _heads(key: str) -> Iterator[str]:
    """Go through a key and all that it is inside of: a.b[0], a.b, a."""
    yield key
    for i in range(len(key) - 1, 0, -1):
        if key[i] in ".[":
            yield key[:i]


def meant(name: str, known: Iterable[str]) -> str:
    """Say which of the ``known`` names was probably meant, and list them."""
    known = list(known)
    hint = did_you_mean(name, known).removeprefix("; ")
    listed = ", ".join(known[:40]) + (", …" if len(known) > 40 else "")
    return f"{hint} " * bool(hint) + (f"there are: {listed}" if known else "there are none")


def shown(value: Any) -> str:
    """Show a value as it would stand in the file, shortened to fit a message."""
    if isinstance(value, str | bool):
        text = json.dumps(value, ensure_ascii=False)
    elif isinstance(value, dict):
        text = "{ " + ", ".join(f"{k} = {shown(v)}" for k, v in value.items()) + " }"
    elif isinstance(value, list | tuple):
        text = "[" + ", ".join(shown(v) for v in value[:20]) + "]"
    elif isinstance(value, float):
        text = f"{value:.12g}"
    else:
        text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."
