"""What goes wrong with a solver of the user's choice: one message, which says what to do."""

from __future__ import annotations


class SolverError(Exception):
    """A solver is unknown, not installed, or cannot take a model."""
