"""Problems with terms that a method knows: geometric programs, their cases of maxima, and their linear vertices."""
