"""ProgressiveSearch: parameters chosen in one pass."""
