"""The interior point for geometric programs: of programs together in NumPy, and of one program compiled."""
