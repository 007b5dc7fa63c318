"""Files of a store: where they are, how they are sealed and locked, and what goes wrong with them."""
