"""Colours of all pictures (those of Okabe and Ito, which colour-blind readers can tell apart), and their files."""

BLUE, VERMILLION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
PURPLE, SKY, YELLOW = "#CC79A7", "#56B4E9", "#F0E442"
GREY, BLACK = "#555555", "#000000"
PICTURES = frozenset({".png", ".svg", ".pdf"})
