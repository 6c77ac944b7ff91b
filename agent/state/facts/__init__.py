"""State of a run, folded from its events."""
