"""Master problems that grow by the worlds that their design breaks, and by cuts of the measure."""
