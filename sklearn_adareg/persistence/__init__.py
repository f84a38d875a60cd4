"""Models in files: formats, checks of what was read, and models of earlier versions."""
