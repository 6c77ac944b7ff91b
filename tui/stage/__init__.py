"""The review of what a run staged, on a screen of its own."""
