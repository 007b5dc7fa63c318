"""Exact fronts of two objectives of linear and mixed-integer programs."""
