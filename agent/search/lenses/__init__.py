"""Lenses, verifiers and the critic: their prompts, and the findings that they report."""
