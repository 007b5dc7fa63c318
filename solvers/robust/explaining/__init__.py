"""Why no design holds in many worlds: minimal sets of limits that conflict, and the values that would do."""
