"""Measuring the machine that this runs on: rates, latencies, energies, as a machine file with its evidence."""

from dse.measuring.errors import MeasuringError

__all__ = ["MeasuringError"]
