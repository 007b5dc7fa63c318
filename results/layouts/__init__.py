"""What a dataset holds beside the answers of one point: what explains them, what fresh samples say of them."""
