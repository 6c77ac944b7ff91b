"""A file change at the gate: its diff, its hunks, and how it is carried over to a changed file."""
