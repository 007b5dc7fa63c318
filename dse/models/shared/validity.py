"""The range in which a model was derived: limits of its own that are in force only where a question asks for it.

A model names them in ``valid``: metrics that are ratios, at most 1 where its counts were derived. With
``valid = true`` each is a limit of the model like any other, called ``valid.NAME``; without it an answer that is
outside says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dse.models.model import Model
from dse.system.records import dataclass

PREFIX = "valid."


@dataclass(frozen=True, slots=True)
class Equations:
    """The equations of a model whose range of validity is in force, on any arithmetic."""

    base: Model

    def __call__(self, g: Any) -> Mapping[str, Any]:
        """Return the base model's metrics and limits, and the ratios of its range once more as limits."""
        found = dict(self.base.equations(g))
        return found | {PREFIX + x.name: found[x.name] for x in self.base.valid if x.name in found}


def within(model: Model) -> Model:
    """Return a model that stays inside the range in which it was derived."""
    limits = (replace(x, name=PREFIX + x.name) for x in model.valid)
    return replace(model, limits=(*model.limits, *limits), equations=Equations(model))


def is_within(model: Model) -> bool:
    """Whether a model's range of validity is in force."""
    return any(x.name.startswith(PREFIX) for x in model.limits)


def outside(model: Model, metrics: Mapping[str, float], tolerance: float) -> dict[str, float]:
    """Return the ratios that are above 1 at a design, by name; ``tolerance``: by which limits may be missed."""
    return {x.name: metrics[x.name] for x in model.valid if metrics.get(x.name, 0.0) > 1.0 + tolerance}
