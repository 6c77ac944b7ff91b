"""Hand-off: its record, and who is asked to continue."""
