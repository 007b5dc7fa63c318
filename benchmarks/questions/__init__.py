"""One question at a time."""
