"""The structures of H: the verbs of a round, and a folder for each structure."""
