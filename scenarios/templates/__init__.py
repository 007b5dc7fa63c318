"""Where scenarios start from: commented templates and rows for models over lists."""
