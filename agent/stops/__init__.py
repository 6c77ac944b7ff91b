"""Decide when a run ends: limits, checks and other predicates, guarded files, and stall detectors."""
