"""What things cost: one module per model family, pure arithmetic."""

from dse.models.model import Model, ModelLimit, evaluate
from dse.models.plugins import PluginError
from dse.models.registry import (
    broken,
    built_in,
    built_in_names,
    every,
    get,
    machine_parameter,
    machine_parameters,
    names,
    register,
)
from dse.names import UnknownName

__all__ = [
    "Model",
    "ModelLimit",
    "PluginError",
    "UnknownName",
    "broken",
    "built_in",
    "built_in_names",
    "evaluate",
    "every",
    "get",
    "machine_parameter",
    "machine_parameters",
    "names",
    "register",
]
