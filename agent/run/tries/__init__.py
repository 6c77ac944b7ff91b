"""Tries of a pass: candidates, each in a unit of work, of which the best is applied."""
