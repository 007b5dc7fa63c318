"""One design for many worlds, whatever the equations: boxes of designs, bounded in every world."""
