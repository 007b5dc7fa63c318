"""Questions with uncertain numbers: the optimum in every world, and what matters."""
