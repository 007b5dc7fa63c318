"""What the command line takes and prints: options, tables, small plots."""
