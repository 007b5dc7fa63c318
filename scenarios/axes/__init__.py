"""What an axis of a sweep changes, and its values."""
