"""The machine catalogue: data with provenance, one TOML file per machine."""

from dse.machines.catalogue import Machine, get, names

__all__ = ["Machine", "get", "names"]
