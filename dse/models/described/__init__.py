"""How models are described, checked and found by others: text, pages, checksums, packages."""
