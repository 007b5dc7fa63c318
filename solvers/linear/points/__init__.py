"""Linear programs at many points: the compiled dual simplex method."""
