"""Meters of energy and power."""
