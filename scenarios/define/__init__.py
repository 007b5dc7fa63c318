"""[define]: expressions of a file's own, parsed, proved and composed with a model."""
