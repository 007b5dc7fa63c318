"""What every method uses: minimal conflicts, why a question has no design, and sensitivities."""
