"""Structure full: one matrix per weight vector."""
