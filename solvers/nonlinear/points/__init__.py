"""Questions without structure at many points: their boxes are searched together by intervals."""
