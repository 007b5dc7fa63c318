"""Whole numbers and menus at many points: tables of designs, sums, undominated designs."""
