"""Proposals that outlive their runner: kept open, rebased, and decided later."""
