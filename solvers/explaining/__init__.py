"""What stands beside an answer, by class of problem: why there is no design, what an optimum depends on."""
