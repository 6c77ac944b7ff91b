"""Hand off a run: write the record, and ask the tiers that can continue the run."""
