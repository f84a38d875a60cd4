"""Sums over rows, from which models are solved."""
