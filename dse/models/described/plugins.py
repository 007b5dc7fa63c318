"""Models of installed packages: found by their entry points, imported when first asked for.

A package offers a model by an entry point of the group ``dse.models``, whose name is the model's::

    [project.entry-points."dse.models"]
    multicore = "dse_multicore.model:MULTICORE"

Machines and scenarios that come with it are the TOML files in the folders ``machines`` and ``scenarios`` beside
that module.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path

from dse.models.model import Model
from dse.system.records import dataclass

GROUP = "dse.models"
FOLDERS = ("machines", "scenarios")


class PluginError(ValueError):
    """The model of a package cannot be used; the message says which, why, and what would help."""


@dataclass(frozen=True, slots=True)
class Offer:
    """Where a model is to be found: ``module:attribute``, and the package that offers it ("" for our own)."""

    name: str
    where: str
    package: str = ""

    @property
    def module(self) -> str:
        """The module to import."""
        return self.where.partition(":")[0]

    @property
    def attribute(self) -> str:
        """What the module calls the model."""
        return self.where.partition(":")[2]

    def __str__(self) -> str:
        return f"{self.package} ({self.where})"


@lru_cache(maxsize=1)
def offers() -> Mapping[str, tuple[Offer, ...]]:
    """Return what the installed packages offer, by the name of the model; nothing of them is imported."""
    from importlib.metadata import entry_points

    found: dict[str, tuple[Offer, ...]] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda e: (e.name, e.value)):
        package = (
            f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "an unknown package"
        )
        offer = Offer(entry.name, entry.value, package)
        # a package may be found twice, installed and in the working directory
        if offer.where not in {o.where for o in found.get(entry.name, ())}:
            found[entry.name] = (*found.get(entry.name, ()), offer)
    return found


@cache
def load(offer: Offer) -> Model:
    """Import a model from where it is offered.

    Raises PluginError, with the same message each time, where that fails in whatever way.
    """
    try:
        model = getattr(import_module(offer.module), offer.attribute)
    except Exception as problem:
        # a module of somebody else may raise anything
        raise broken(offer, f"{type(problem).__name__}: {problem}") from problem
    if not isinstance(model, Model):
        raise broken(offer, f"{offer.where} is {type(model).__name__}, not a dse.models.Model")
    if model.name != offer.name:
        raise broken(offer, f"the model there is called {model.name!r}: the entry point must have that name")
    return model


def broken(offer: Offer, why: str) -> PluginError:
    """Build the error for a model that cannot be used."""
    package = offer.package.partition(" ")[0]
    return PluginError(
        f"model {offer.name!r} of the package {offer.package} cannot be used: {why}; "
        f"fix the package, or uninstall it: pip uninstall {package}"
    )


@lru_cache(maxsize=len(FOLDERS))
def files(folder: str) -> Mapping[str, Path]:
    """Return the TOML files in a folder ("machines", "scenarios") of the packages, by name without the ending.

    A name that two packages use belongs to the first of them in the order of the models' names.
    """
    found: dict[str, Path] = {}
    for offered in offers().values():
        for offer in offered:
            for file in sorted(of(offer, folder)):
                found.setdefault(file.stem, file)
    return found


def of(offer: Offer, folder: str) -> list[Path]:
    """Return the TOML files that come with one model in a folder, none where its module cannot be found."""
    from importlib.util import find_spec

    try:
        spec = find_spec(offer.module)
    except Exception:  # finding a module imports the package it lies in, which may raise anything
        return []
    if spec is None or spec.origin is None:
        return []
    return list((Path(spec.origin).parent / folder).glob("*.toml"))
