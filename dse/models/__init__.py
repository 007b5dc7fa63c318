"""What things cost: one module per model family, pure arithmetic."""

from dse.models.model import Model, ModelLimit, evaluate
from dse.models.registry import built_in, get, machine_parameters, names, register
from dse.names import UnknownName

__all__ = [
    "Model",
    "ModelLimit",
    "UnknownName",
    "built_in",
    "evaluate",
    "get",
    "machine_parameters",
    "names",
    "register",
]
