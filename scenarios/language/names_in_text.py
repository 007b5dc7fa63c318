"""How names stand in formulas and paths of a scenario."""

import re

NAME_IN_TEXT = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
SIDE = re.compile(r"\.(min|max|within|spread)$")
"""What a side of a limit, or a kind of uncertainty, adds to a name."""
