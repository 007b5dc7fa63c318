"""File formats of others, and files read back."""
