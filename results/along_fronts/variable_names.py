"""What the variables and dimensions of a dataset of fronts are called."""

FRONT = "front"
"""The dimension along a front."""
POINTS, PLACE_STATUS, CONFLICT = "front_points", "front_status", "front_conflict"
"""Of each place on swept axes: how many points its front has, whether there is one, and why not."""
DOMINATED = "dominated"
AT, LOWER, UPPER, WIDTH = "enclosure_at", "enclosure_lower", "enclosure_upper", "enclosure_width"
"""Between points: where the second objective lies between two bounds, and how far these are apart."""
TRIAL, HYPERVOLUME = "trial", "hypervolume"
"""Of a search with a sampler: its trials, and the hypervolume after each."""


def of_whole_front(name: str) -> bool:
    """Tell whether a variable is told of a front as a whole, not of each of its points."""
    return name.startswith(("front_", "enclosure_", HYPERVOLUME))
