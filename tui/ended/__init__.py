"""The result of an ended run, and what can be done next."""
