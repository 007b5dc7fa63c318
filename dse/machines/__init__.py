"""The machine catalogue: data with provenance, one TOML file per machine."""

from dse.machines.catalogue import Machine, MachineError, get, is_file, names

__all__ = ["Machine", "MachineError", "get", "is_file", "names"]
