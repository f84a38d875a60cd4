"""Structure block: a small matrix for each block of features."""
