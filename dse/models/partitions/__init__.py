"""The model of a code whose regions are divided between processors."""
