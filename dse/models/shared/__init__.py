"""What models share: sums, totals, economics, periods, ranges of validity."""
