"""Checks and predicates after a step."""
