"""Units of features, residuals and losses, and forgetting."""
