"""Rows in the one form that every kernel reads, and how they are read."""
