"""Arithmetics that run a model's equations: each recognises a class of problems, or bounds it."""
