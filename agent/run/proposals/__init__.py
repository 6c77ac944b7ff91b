"""Proposals that outlive their runner: rebase them, and settle their calls in the next runner."""
