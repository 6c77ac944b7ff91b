"""Lenses, verifiers and the critic: what they are asked, and the findings they report."""
