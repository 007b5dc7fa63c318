"""The seed of the random draws within an answer, so that the same question always gets the same answer."""

FIXED_SEED = 20260101
