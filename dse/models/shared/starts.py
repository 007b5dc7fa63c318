"""What a file to start from asks of a model, where default numbers would make no question worth asking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from dse.system.records import dataclass


@dataclass(frozen=True, slots=True)
class Start:
    """A question by its parts: values are TOML text, by the name of what they are said of.

    ``machine``: a name or a table, empty where it is decided. ``kept``: limits that the answer keeps, as comments.
    ``axis``: name, path, first value, last value and number of points of an axis, as comments. ``uncertain``: numbers
    that are not known for sure, as comments. Inputs that are not named are as in any starter.
    """

    title: str
    minimize: str
    given: Mapping[str, str]
    decide: Mapping[str, str]
    machine: str = ""
    limits: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, str] = field(default_factory=dict)
    axis: tuple[str, str, str, str, int] | None = None
    uncertain: Mapping[str, str] = field(default_factory=dict)
