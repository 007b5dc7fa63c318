"""Geometric programs at many points: the compiled kernel and what is made of its answers."""
