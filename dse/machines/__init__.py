"""The machine catalogue: data with provenance, one TOML file per machine."""

from dse.machines.catalogue import Machine, MachineError, broken, every, get, is_file, names, shown_names

__all__ = ["Machine", "MachineError", "broken", "every", "get", "is_file", "names", "shown_names"]
