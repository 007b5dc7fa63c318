"""Models of algorithms on distributed machines: costs from lower bounds on communication."""
