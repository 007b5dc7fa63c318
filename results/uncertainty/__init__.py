"""What is told of many worlds: estimates with intervals, indices, distributions."""
