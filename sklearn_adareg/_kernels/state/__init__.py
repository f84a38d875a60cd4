"""The kernel configuration, its clock and what it forgets, and the record by which a round is undone."""
