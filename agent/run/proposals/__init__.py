"""Proposals that outlive their runner: keep them open, rebase them, decide them later."""
