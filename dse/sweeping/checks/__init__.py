"""Answers re-evaluated by the model as arrays, independently of the solver."""
