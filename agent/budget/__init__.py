"""Limits of a run: the ledger of its spend, admission of calls, quotas, pacing, and stall detectors."""
