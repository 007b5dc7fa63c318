"""Pictures of answers, fronts and sweeps, drawn with Matplotlib: ``results.plot`` has what others call."""
