"""The kernel configuration and its clock, and the record by which a round is undone."""
