"""State of a search: items, findings, coverage, and an estimate of what was not found."""
