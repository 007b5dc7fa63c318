"""Questions as Pyomo models, and designs that other solvers found."""
