"""Linear and mixed-integer programs: optimum, conflicts, ties, exact fronts."""
