"""Geometric programs: the interior-point method, and searches over trees of them."""
