"""How many points are asked for at most, wherever the number of them is chosen."""

MOST_POINTS_ASKED = 10_000
"""Of a front, and of values along which questions are compared: each of them is solved by itself."""
