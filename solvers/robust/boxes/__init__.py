"""Branch and bound over boxes of designs, and the worst case over a box of uncertain numbers."""
