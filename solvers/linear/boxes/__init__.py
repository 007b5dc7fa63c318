"""Programs whose coefficients depend on a few more numbers, searched over boxes of these."""
