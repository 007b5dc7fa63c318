"""Many points of one question."""
