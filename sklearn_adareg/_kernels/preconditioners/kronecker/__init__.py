"""Structure kronecker: one matrix over weight vectors, one over coordinates."""
