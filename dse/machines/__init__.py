"""The machine catalogue: data with provenance, one TOML file per machine."""

from dse.machines.catalogue import MachineError, broken, every, get, is_file, names
from dse.machines.machine import Machine

__all__ = ["Machine", "MachineError", "broken", "every", "get", "is_file", "names"]
