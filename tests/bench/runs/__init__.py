"""Measure the cost of steps, long runs, and many runs."""
