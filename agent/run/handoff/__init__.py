"""Hand-off: its record, and the tiers that can continue the run."""
