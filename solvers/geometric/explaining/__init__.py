"""Why limits of geometric programs cannot hold together, and what each would have to be."""
