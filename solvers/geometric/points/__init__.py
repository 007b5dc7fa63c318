"""Geometric programs at many points: what is made of the answers of the compiled kernel."""
