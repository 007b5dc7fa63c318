"""Where a sweep computes: helper processes, clusters of others, and what workers report."""
