"""How a program of a batch ended."""

FOUND, INFEASIBLE, FAILED = 0, 1, 2
