"""Limits with a probability and quantiles: which worlds may fail."""
