"""What is timed, on processors and on GPUs, and how often."""
