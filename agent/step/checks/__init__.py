"""Checks and predicates after a step, and the guard around the files that decide them."""
