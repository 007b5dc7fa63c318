"""Questions, answers and datasets side by side, and where one overtakes another."""
