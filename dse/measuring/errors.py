"""What measuring says when it cannot."""

from __future__ import annotations


class MeasuringError(ValueError):
    """Something that was asked to be measured cannot be, or a file of measurements cannot be used."""
