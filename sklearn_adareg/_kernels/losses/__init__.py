"""Losses: margins and a target in, a value and slopes out."""
