"""File changes at the gate: their diff, their hunks, and moving them to a file that changed meanwhile."""
