"""Proposals that outlive their runner, read back from the journal."""
