"""The library of ready questions: ours, and those that come with models of packages."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

from dse.models.described import plugins

_SUFFIX = ".toml"


def library() -> dict[str, Traversable]:
    """Return the ready scenarios: name -> file, ours first, then those that come with models of packages."""
    found = {e.name.removesuffix(_SUFFIX): e for e in _ours().iterdir() if e.name.endswith(_SUFFIX)}
    theirs = {n: f for n, f in plugins.files("scenarios").items() if n not in found}
    return dict(sorted(found.items())) | dict(sorted(theirs.items()))


def ready(name: str) -> Traversable | None:
    """Return the file of a ready scenario; packages are asked only where we have none of that name."""
    file = _ours().joinpath(name + _SUFFIX) if name.replace("_", "").isalnum() else None
    if file is not None and file.is_file():
        return file
    return library().get(name)


def _ours() -> Traversable:
    return files("scenarios").joinpath("library")
