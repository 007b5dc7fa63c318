"""Pareto fronts: exact, by limits on objectives, or sampled; and what is proved between their points."""
