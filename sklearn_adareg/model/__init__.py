"""A model in the making: its recipe, its state, the registry of pieces, and the rounds that change it."""
