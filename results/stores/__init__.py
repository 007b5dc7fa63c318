"""A Zarr store that a sweep fills: files, seals, locks, damage and repair."""
