"""An answer in words and tables."""
