"""Solvers of others: SCIP, IPOPT and whatever Pyomo knows."""
