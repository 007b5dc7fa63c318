"""A measured column as a sum, softmax or maximum of monomials of other columns."""
