"""Ratios of sums and single decided numbers at many points: branch and bound."""
