"""A model for dse, with the machine it was made for and questions about it."""
