"""Answers in the formats of real providers, written by hand or recorded."""
