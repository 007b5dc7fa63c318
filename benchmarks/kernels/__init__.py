"""The solvers themselves: what they declare, and one method beside another."""
