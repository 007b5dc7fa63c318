"""What a scenario file may say: keys, values, errors, templates; the file read."""
