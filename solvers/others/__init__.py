"""Solvers of others: IPOPT and whatever Pyomo knows, and a second opinion on an answer."""
