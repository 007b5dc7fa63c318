"""[sweep]: axes, tables of rows, and the question at each point of the grid."""
