"""Times of dse beside the plain ways a user would take: ``python -m benchmarks``."""
