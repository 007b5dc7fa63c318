"""The parts of which differences are told, as whoever leaves some out names them."""

from __future__ import annotations

SECTIONS = ("question", "grid", "statuses", "answer", "values", "provenance")
