"""When a limit holds, for all that reads, solves and judges (the other tolerances: ``formulations.tolerances``)."""

LIMIT_HOLDS = 1e-8
"""A limit holds where it is missed by at most this, relative to the limit."""
