"""Machine parameters from measurements: rooflines, clocks, voltages, networks."""
