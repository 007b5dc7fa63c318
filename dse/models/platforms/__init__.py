"""Models of processors, systems and networks."""
