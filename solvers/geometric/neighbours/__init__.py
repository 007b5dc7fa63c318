"""Points of a grid proved from the active set of a neighbour that was answered in full."""
