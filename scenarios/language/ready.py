"""The library of ready questions: ours, and those that come with models of packages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dse.models.described import plugins

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_SUFFIX = ".toml"
_OURS = Path(__file__).parents[1] / "library"


def library() -> dict[str, Traversable]:
    """Return the ready scenarios: name -> file, ours first, then those that come with models of packages."""
    found: dict[str, Traversable] = {
        e.name.removesuffix(_SUFFIX): e for e in _OURS.iterdir() if e.name.endswith(_SUFFIX)
    }
    theirs = {n: f for n, f in plugins.files("scenarios").items() if n not in found}
    return dict(sorted(found.items())) | dict(sorted(theirs.items()))


def ready(name: str) -> Traversable | None:
    """Return the file of a ready scenario; packages are asked only where we have none of that name."""
    file = _OURS / (name + _SUFFIX) if name.replace("_", "").isalnum() else None
    if file is not None and file.is_file():
        return file
    return library().get(name)
