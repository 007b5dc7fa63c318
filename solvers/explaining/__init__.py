"""What stands beside an optimum: conflicts, ties, sensitivities, next changes."""
