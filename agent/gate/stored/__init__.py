"""Proposals that outlive their runner, read from the journal."""
