"""The Pyomo model of a question, plain or in logarithms, and as a file."""
