"""Answers beside one another, with ratios to a baseline, and crossings."""
