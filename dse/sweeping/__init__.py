"""Sweeps: from a grid over chunks and workers to a store, and what is checked of it afterwards."""
