"""Commands of the program: what each reads, calls and prints."""
