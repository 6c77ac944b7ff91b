"""The record of a hand-off as a page."""
