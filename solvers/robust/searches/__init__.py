"""Searches for one design that holds in many worlds: of each sample, of programs, of ratios, of few designs."""
