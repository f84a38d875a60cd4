"""Bounds, certificates and error bars: what is proved or estimated about a model. Loaded when asked for."""
