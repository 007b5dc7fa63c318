"""Korthikanti et al. 2022, reproduced."""
