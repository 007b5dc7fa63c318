"""What a whole dataset says, in a few sentences: its question, its headline, where it leaves a model's range."""
