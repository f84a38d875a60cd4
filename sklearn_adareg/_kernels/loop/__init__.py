"""Algorithm 1."""
