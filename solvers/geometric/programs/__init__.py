"""One geometric program, and what is asked of its optimum: branch and bound, crossover, the optimal face, ties."""
