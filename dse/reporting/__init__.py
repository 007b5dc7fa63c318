"""Pages and files about answers."""
