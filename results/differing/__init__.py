"""What differs between two results."""
