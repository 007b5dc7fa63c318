"""One design for many worlds: mean, worst case, CVaR; its validation on fresh samples."""
