"""Whole runs inside the test process."""
