"""What one task of a sweep computes: the points of a chunk, one by one or together."""
