"""What things cost: one module per model family, pure arithmetic."""

from dse.models.described.library import evaluate
from dse.models.described.model_files import ModelFileError, is_file
from dse.models.described.plugins import PluginError
from dse.models.model import Model, ModelLimit
from dse.models.registry import (
    broken,
    built_in,
    built_in_names,
    every,
    fitted_names,
    get,
    machine_parameter,
    machine_parameters,
    names,
    our_own,
    register,
)
from dse.names import UnknownName

__all__ = [
    "Model",
    "ModelFileError",
    "ModelLimit",
    "PluginError",
    "UnknownName",
    "broken",
    "built_in",
    "built_in_names",
    "evaluate",
    "every",
    "fitted_names",
    "get",
    "is_file",
    "machine_parameter",
    "machine_parameters",
    "names",
    "our_own",
    "register",
]
