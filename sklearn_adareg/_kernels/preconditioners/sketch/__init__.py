"""Structure sketch: a few directions of G beside a multiple of the identity."""
