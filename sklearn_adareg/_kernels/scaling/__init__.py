"""Units of features, residuals and losses."""
