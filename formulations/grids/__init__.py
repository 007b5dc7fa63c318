"""Many points of a grid together: their order, their tables, and ratios of sums over them."""
