"""What comes out: solutions, datasets, stores, pictures and reports."""
