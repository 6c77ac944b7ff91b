"""Edits of real source files, sent with the mistakes that models make; each has a known intended result."""
