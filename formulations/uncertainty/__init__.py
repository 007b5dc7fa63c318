"""One problem for many worlds."""
