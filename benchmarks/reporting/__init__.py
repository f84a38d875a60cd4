"""What is made of results: figures, and files with what they were measured with."""
