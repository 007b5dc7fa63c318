"""[uncertain]: distributions, worlds drawn from them, and what is promised."""
